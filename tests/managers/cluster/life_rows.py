"""Rows of test_conditions about hibernation, waking, fenced pods and maintenance."""

from __future__ import annotations

from datetime import timedelta

from runtime.outcome import Blocked, Wait
from tests import gen
from tests.managers.cluster.passes import Row

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
LEADER, SECOND, THIRD = FINE.pods
ASLEEP = OLD.with_spec(hibernate=True)
EMPTIED = FINE.with_pods().with_set(gen.stateful_set().with_replicas(0))
WAKING = EMPTIED.waking_for(timedelta(seconds=2))
FENCED = OLD.with_spec(fencedPods=["x-2"])
AT_THE_GATE = FINE.with_pods(LEADER, SECOND, gen.pod(2).with_gates())
MAINTAINED = OLD.with_spec(maintenance={"enabled": True})
STOPPING = Wait("Hibernating", "they stop")
COMING = Wait("Waking", "they come")
HELD = Wait("PodsFenced", "a roll waits")
LATER = Wait("Maintenance", "a roll waits")
ON_ITS_WAY = Wait("Fencing", "it stops")
REFUSED = Blocked("FencingRefused", "the others need it")
KEY_GONE = Blocked("UnsealKeyMissing", "the key is gone")

LIFE_ROWS = {
    "asleep": Row(ASLEEP, EMPTIED, "Hibernated=True Hibernated"),
    "asleep is not ready": Row(ASLEEP, EMPTIED, "Ready=False Hibernated"),
    "asleep is not available": Row(ASLEEP, EMPTIED, "Available=False Hibernated"),
    "asleep is nothing wrong": Row(ASLEEP, EMPTIED, "Degraded=False Ready"),
    "asleep, nothing is done": Row(ASLEEP, EMPTIED, "Reconciling=False Ready"),
    "asleep, nobody has to act": Row(ASLEEP, EMPTIED, "Stalled=False Ready"),
    "asleep, nobody is sealed": Row(ASLEEP, EMPTIED, "OpenBaoSealed=Unknown Hibernated"),
    "asleep, nobody leads": Row(ASLEEP, EMPTIED, "OpenBaoLeader=Unknown Hibernated"),
    "asleep, the members are members still": Row(
        ASLEEP.with_status(adminOps={"raft": {"voters": 3, "nonVoters": 0}}),
        EMPTIED,
        "RaftMembershipReady=Unknown Hibernated",
    ),
    "asleep, and the key that opens it is gone": Row(
        ASLEEP, EMPTIED, "Stalled=True UnsealKeyMissing", KEY_GONE
    ),
    "falling asleep": Row(ASLEEP, FINE, "Hibernated=False Hibernating", STOPPING),
    "falling asleep is something that is done": Row(
        ASLEEP, FINE, "Reconciling=True Hibernating", STOPPING
    ),
    "falling asleep is nothing wrong": Row(
        ASLEEP, FINE.with_pods(LEADER, SECOND), "Degraded=False Ready", STOPPING
    ),
    "no sleep before there is data": Row(
        gen.cluster().with_spec(hibernate=True),
        gen.world(),
        "Hibernated=False NotInitialized",
        Wait("FirstBoot", "the first server starts"),
    ),
    "waking": Row(OLD, WAKING, "Hibernated=False Waking", COMING),
    "waking is something that is done": Row(OLD, WAKING, "Reconciling=True Waking", COMING),
    "waking is nothing wrong": Row(OLD, WAKING, "Degraded=False Ready", COMING),
    "fenced": Row(FENCED, AT_THE_GATE, "PodsFenced=True PodsFenced"),
    "with a fence it is not ready": Row(FENCED, AT_THE_GATE, "Ready=False PodsFenced"),
    "with a fence not every server is available": Row(
        FENCED, AT_THE_GATE, "Available=False PodsFenced"
    ),
    "a fence is nothing wrong": Row(FENCED, AT_THE_GATE, "Degraded=False Ready"),
    "who waits at the gate is not sealed": Row(FENCED, AT_THE_GATE, "OpenBaoSealed=False Unsealed"),
    "one more than the fenced one is away": Row(
        FENCED,
        AT_THE_GATE.with_pods(LEADER, SECOND.unready(), gen.pod(2).with_gates()),
        "Degraded=True NotReady",
    ),
    "one more than the fenced one is away, and it is not the fence": Row(
        FENCED,
        AT_THE_GATE.with_pods(LEADER, SECOND.unready(), gen.pod(2).with_gates()),
        "Available=False NotReady",
    ),
    "a fence that is not in place": Row(FENCED, FINE, "PodsFenced=False Fencing", ON_ITS_WAY),
    "a fence is something that is done": Row(FENCED, FINE, "Reconciling=True Fencing", ON_ITS_WAY),
    "a pod that goes is not fenced yet": Row(
        FENCED,
        AT_THE_GATE.with_pods(LEADER, SECOND, gen.pod(2).with_gates().terminating()),
        "PodsFenced=False Fencing",
        ON_ITS_WAY,
    ),
    "a fence that is refused": Row(FENCED, FINE, "PodsFenced=False FencingRefused", REFUSED),
    "a fence that is refused waits for a person": Row(
        FENCED, FINE, "Stalled=True FencingRefused", REFUSED
    ),
    "a roll waits for the fence": Row(FENCED, AT_THE_GATE, "Ready=False PodsFenced", HELD),
    "in maintenance": Row(MAINTAINED, FINE, "Maintenance=True Maintenance"),
    "in maintenance it may be ready": Row(MAINTAINED, FINE, "Ready=True AllReplicasReady"),
    "a roll waits for the end of maintenance": Row(
        MAINTAINED, FINE, "Reconciling=True Maintenance", LATER
    ),
}

# sentence: (cluster, world, condition that is not reported)
UNSTATED: dict[str, tuple[gen.Cluster, gen.World, str]] = {
    "nobody asked for sleep": (OLD, FINE, "Hibernated"),
    "all are awake": (OLD, FINE.waking_for(timedelta(seconds=20)), "Hibernated"),
    "nobody asked for a fence": (OLD, FINE, "PodsFenced"),
    "nobody works on it": (OLD.with_spec(maintenance={"enabled": False}), FINE, "Maintenance"),
}
