"""What is told of clusters that sleep, wake, have fenced pods or are in maintenance."""

from __future__ import annotations

from datetime import timedelta

from runtime.outcome import Blocked, Done, Outcome, Wait
from tests import gen

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
LEADER, SECOND, THIRD = FINE.pods
ASLEEP = OLD.wanting(hibernate=True)
EMPTIED = FINE.with_pods().with_set(gen.stateful_set().sized(0))
WAKING = EMPTIED.waking_for(timedelta(seconds=2))
FENCED = OLD.wanting(fencedPods=["x-2"])
AT_THE_GATE = FINE.with_pods(LEADER, SECOND, gen.pod(2).gated())
MAINTAINED = OLD.wanting(maintenance={"enabled": True})
STOPPING = Wait("Hibernating", "they stop")
COMING = Wait("Waking", "they come")
HELD = Wait("PodsFenced", "a roll waits")
LATER = Wait("Maintenance", "a roll waits")
ON_ITS_WAY = Wait("Fencing", "it stops")
REFUSED = Blocked("FencingRefused", "the others need it")
KEY_GONE = Blocked("UnsealKeyMissing", "the key is gone")

Row = tuple[gen.Cluster, gen.World, Outcome, str, str]

# sentence: (cluster, world, outcome of the pass, condition, "status reason")
LIFE_ROWS: dict[str, Row] = {
    "asleep": (ASLEEP, EMPTIED, Done(), "Hibernated", "True Hibernated"),
    "asleep is not ready": (ASLEEP, EMPTIED, Done(), "Ready", "False Hibernated"),
    "asleep is not available": (ASLEEP, EMPTIED, Done(), "Available", "False Hibernated"),
    "asleep is nothing wrong": (ASLEEP, EMPTIED, Done(), "Degraded", "False Ready"),
    "asleep, nothing is done": (ASLEEP, EMPTIED, Done(), "Reconciling", "False Ready"),
    "asleep, nobody has to act": (ASLEEP, EMPTIED, Done(), "Stalled", "False Ready"),
    "asleep, nobody is sealed": (ASLEEP, EMPTIED, Done(), "OpenBaoSealed", "Unknown Hibernated"),
    "asleep, nobody leads": (ASLEEP, EMPTIED, Done(), "OpenBaoLeader", "Unknown Hibernated"),
    "asleep, the members are members still": (
        ASLEEP.having(adminOps={"raft": {"voters": 3, "nonVoters": 0}}),
        EMPTIED,
        Done(),
        "RaftMembershipReady",
        "Unknown Hibernated",
    ),
    "asleep, and the key that opens it is gone": (
        ASLEEP,
        EMPTIED,
        KEY_GONE,
        "Stalled",
        "True UnsealKeyMissing",
    ),
    "falling asleep": (ASLEEP, FINE, STOPPING, "Hibernated", "False Hibernating"),
    "falling asleep is something that is done": (
        ASLEEP,
        FINE,
        STOPPING,
        "Reconciling",
        "True Hibernating",
    ),
    "falling asleep is nothing wrong": (
        ASLEEP,
        FINE.with_pods(LEADER, SECOND),
        STOPPING,
        "Degraded",
        "False Ready",
    ),
    "no sleep before there is data": (
        gen.cluster().wanting(hibernate=True),
        gen.world(),
        Wait("FirstBoot", "the first server starts"),
        "Hibernated",
        "False NotInitialized",
    ),
    "waking": (OLD, WAKING, COMING, "Hibernated", "False Waking"),
    "waking is something that is done": (OLD, WAKING, COMING, "Reconciling", "True Waking"),
    "waking is nothing wrong": (OLD, WAKING, COMING, "Degraded", "False Ready"),
    "fenced": (FENCED, AT_THE_GATE, Done(), "PodsFenced", "True PodsFenced"),
    "with a fence it is not ready": (FENCED, AT_THE_GATE, Done(), "Ready", "False PodsFenced"),
    "with a fence not every server is available": (
        FENCED,
        AT_THE_GATE,
        Done(),
        "Available",
        "False PodsFenced",
    ),
    "a fence is nothing wrong": (FENCED, AT_THE_GATE, Done(), "Degraded", "False Ready"),
    "who waits at the gate is not sealed": (
        FENCED,
        AT_THE_GATE,
        Done(),
        "OpenBaoSealed",
        "False Unsealed",
    ),
    "one more than the fenced one is away": (
        FENCED,
        AT_THE_GATE.with_pods(LEADER, SECOND.unready(), gen.pod(2).gated()),
        Done(),
        "Degraded",
        "True NotReady",
    ),
    "one more than the fenced one is away, and it is not the fence": (
        FENCED,
        AT_THE_GATE.with_pods(LEADER, SECOND.unready(), gen.pod(2).gated()),
        Done(),
        "Available",
        "False NotReady",
    ),
    "a fence that is not in place": (FENCED, FINE, ON_ITS_WAY, "PodsFenced", "False Fencing"),
    "a fence is something that is done": (FENCED, FINE, ON_ITS_WAY, "Reconciling", "True Fencing"),
    "a pod that goes is not fenced yet": (
        FENCED,
        AT_THE_GATE.with_pods(LEADER, SECOND, gen.pod(2).gated().terminating()),
        ON_ITS_WAY,
        "PodsFenced",
        "False Fencing",
    ),
    "a fence that is refused": (FENCED, FINE, REFUSED, "PodsFenced", "False FencingRefused"),
    "a fence that is refused waits for a person": (
        FENCED,
        FINE,
        REFUSED,
        "Stalled",
        "True FencingRefused",
    ),
    "a roll waits for the fence": (FENCED, AT_THE_GATE, HELD, "Ready", "False PodsFenced"),
    "in maintenance": (MAINTAINED, FINE, Done(), "Maintenance", "True Maintenance"),
    "in maintenance it may be ready": (MAINTAINED, FINE, Done(), "Ready", "True AllReplicasReady"),
    "a roll waits for the end of maintenance": (
        MAINTAINED,
        FINE,
        LATER,
        "Reconciling",
        "True Maintenance",
    ),
}

# sentence: (cluster, world, condition that is not stated)
UNSTATED: dict[str, tuple[gen.Cluster, gen.World, str]] = {
    "nobody asked for sleep": (OLD, FINE, "Hibernated"),
    "all are awake": (OLD, FINE.waking_for(timedelta(seconds=20)), "Hibernated"),
    "nobody asked for a fence": (OLD, FINE, "PodsFenced"),
    "nobody works on it": (OLD.wanting(maintenance={"enabled": False}), FINE, "Maintenance"),
}
