"""managers.workload.rollout.fencing: which server stops next, and which gate is removed."""

from datetime import timedelta
from typing import NamedTuple

import pytest

from contracts.records.desired import Operation
from contracts.records.effects import EffectByUid, StepDown
from contracts.records.observed import Quorum, RaftServer
from managers.workload.rollout.fencing import fence, needs_quorum
from runtime.outcome import Blocked, Done, Wait
from tests import gen

PLAIN = gen.cluster().initialized()
RUNNING = gen.running(PLAIN).with_client_config()
LIVE = gen.stateful_set()
GATED = RUNNING.with_set(LIVE.with_gates())


def fencing(*ordinals: int, of: int = 3) -> gen.Cluster:
    return PLAIN.with_spec(replicas=of, fencedPods=[f"x-{n}" for n in ordinals])


def pods(*gated: int, leader: int = 0, of: int = 3) -> tuple[gen.Pod, ...]:
    return tuple(
        gen.pod(n).with_gates() if n in gated else gen.pod(n).ready(leading=n == leader)
        for n in range(of)
    )


def quorum(*healthy: int, of: int = 3, error: str = "") -> Quorum:
    servers = tuple(RaftServer(f"x-{n}", voter=True, healthy=n in healthy) for n in range(of))
    return Quorum(servers=() if error else servers, error=error)


WELL = quorum(0, 1, 2)
FIVE = GATED.with_set(LIVE.with_replicas(5).with_gates())


class Row(NamedTuple):
    cluster: gen.Cluster
    world: gen.World
    expected: str


# expected: the reason and the effects; "" when content
ROWS = {
    "no fence": Row(PLAIN, RUNNING, ""),
    "the template has no gate yet": Row(fencing(2), RUNNING.with_quorum(WELL), "Fencing"),
    "the controller has not observed the gate of the template": Row(
        fencing(2),
        GATED.with_set(LIVE.with_gates().with_stale_status()).with_quorum(WELL),
        "Fencing",
    ),
    "there is no StatefulSet": Row(fencing(2), RUNNING.with_set(None).with_quorum(WELL), "Fencing"),
    "a foreign gate in the template": Row(
        fencing(2),
        RUNNING.with_set(LIVE.with_gates("example.org/gate")).with_quorum(WELL),
        "Fencing",
    ),
    "a standby stops": Row(fencing(2), GATED.with_quorum(WELL), "Fencing [fence-pod x-2]"),
    "without a login a ready standby stops": Row(fencing(2), GATED, "Fencing [fence-pod x-2]"),
    "a leader steps down first": Row(
        fencing(0), GATED.with_quorum(WELL), "Fencing [step-down x-0]"
    ),
    "a step-down is not repeated immediately": Row(
        fencing(0),
        GATED.with_quorum(WELL).with_attempt(StepDown.name, "uid-x-0", timedelta(seconds=19)),
        "Fencing",
    ),
    "a step-down is repeated after 20 s": Row(
        fencing(0),
        GATED.with_quorum(WELL).with_attempt(StepDown.name, "uid-x-0", timedelta(seconds=20)),
        "Fencing [step-down x-0]",
    ),
    "after a refused step-down the leader stops": Row(
        fencing(0),
        GATED.with_quorum(WELL).with_attempt(StepDown.name, "uid-x-0", refused="403"),
        "Fencing [fence-pod x-0]",
    ),
    "without a login the leader stops": Row(fencing(0), GATED, "Fencing [fence-pod x-0]"),
    "the fenced pod terminates": Row(
        fencing(2),
        GATED.with_quorum(WELL).with_pods(*pods()[:2], gen.pod(2).ready().terminating()),
        "Fencing",
    ),
    "another pod terminates": Row(
        fencing(2),
        GATED.with_pods(pods()[0], gen.pod(1).ready().terminating(), pods()[2]),
        "Fencing",
    ),
    "the fenced pod is not recreated yet": Row(fencing(2), GATED.with_pods(*pods()[:2]), "Fencing"),
    "the fenced pod is gated": Row(fencing(2), GATED.with_pods(*pods(2)), ""),
    "a gated pod without a fence is released": Row(
        fencing(2), GATED.with_pods(*pods(1, 2)), "[ungate-pod x-1]"
    ),
    "a terminating gated pod is not released": Row(
        fencing(2),
        GATED.with_pods(pods()[0], gen.pod(1).with_gates().terminating(), pods(2)[2]),
        "",
    ),
    "a pod with a foreign gate is not released": Row(
        fencing(2),
        GATED.with_pods(pods()[0], gen.pod(1).with_gates("example.org/gate"), pods(2)[2]),
        "",
    ),
    "a moved fence releases one pod before it stops the next": Row(
        fencing(1),
        GATED.with_pods(*pods(2)).with_quorum(quorum(0, 1)),
        "FencingRefused [ungate-pod x-2]",
    ),
    "unfenced": Row(PLAIN, GATED.with_pods(*pods(2)), "[ungate-pod x-2]"),
    "a fence has no effect during hibernation": Row(
        fencing(2).with_spec(hibernate=True), GATED.with_quorum(WELL), ""
    ),
    "the others are no majority": Row(
        fencing(2), GATED.with_quorum(quorum(0, 2)), "FencingRefused"
    ),
    "without a login an unready server refuses the fence": Row(
        fencing(2), GATED.with_pods(pods()[0], gen.pod(1), pods()[2]), "FencingRefused"
    ),
    "the leader does not respond": Row(
        fencing(2), GATED.with_quorum(quorum(error="no answer")), "Fencing"
    ),
    "a pod that is down stops immediately": Row(
        fencing(2),
        GATED.with_pods(*pods()[:2], gen.pod(2).waiting("CrashLoopBackOff")).with_quorum(
            quorum(0, error="no answer")
        ),
        "Fencing [fence-pod x-2]",
    ),
    "the second of five": Row(
        fencing(1, 3, of=5),
        FIVE.with_pods(*pods(3, of=5)).with_quorum(quorum(0, 1, 2, 4, of=5)),
        "Fencing [fence-pod x-1]",
    ),
    "the second of five while a third is unhealthy": Row(
        fencing(1, 3, of=5),
        FIVE.with_pods(*pods(3, of=5)).with_quorum(quorum(0, 1, 2, of=5)),
        "FencingRefused",
    ),
    "two fences stop one pod at a time and the standby first": Row(
        fencing(0, 3, of=5),
        FIVE.with_pods(*pods(of=5)).with_quorum(quorum(0, 1, 2, 3, 4, of=5)),
        "Fencing [fence-pod x-3]",
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_row(row: Row) -> None:
    decision = fence(gen.resolved(row.cluster, row.world), row.world.facts())
    reason = "" if isinstance(decision.outcome, Done) else decision.outcome.reason
    effects = [f"[{effect.name} {effect.target}]" for effect in decision.effects]
    assert " ".join(filter(None, (reason, *effects))) == row.expected
    for effect in decision.effects:
        assert isinstance(effect, EffectByUid)
        assert effect.uid == f"uid-{effect.target}"
    assert (decision.operation is None) == (reason == "")


def test_the_operation_counts_stopped_servers() -> None:
    _, world, *_ = ROWS["the second of five"]
    fence_decision = fence(gen.resolved(fencing(1, 3, of=5), world), world.facts())
    assert fence_decision.operation == Operation("Fencing", 1, 2)


def test_a_refusal_names_the_field_the_pod_and_the_next_step() -> None:
    world = GATED.with_quorum(quorum(0, 2))
    outcome = gen.expect(Blocked, fence(gen.resolved(fencing(2), world), world.facts()).outcome)
    assert outcome.message == (
        "spec.fencedPods: x-2 keeps running, because 1 healthy voters would be left and 2 are "
        "needed: repair the other servers, or remove x-2 from the list"
    )
    assert outcome.recheck_after
    for waiting in (
        GATED.with_quorum(quorum(error="no answer")),
        GATED.with_quorum(WELL).with_attempt(StepDown.name, "uid-x-0", timedelta(seconds=1)),
    ):
        wait = fence(gen.resolved(fencing(0), waiting), waiting.facts()).outcome
        assert gen.expect(Wait, wait).after


# sentence: (cluster, world, whether the quorum is read)
ASKED = {
    "no fence": (PLAIN, GATED, False),
    "a fenced pod runs": (fencing(2), GATED, True),
    "the template has no gate yet": (fencing(2), RUNNING, False),
    "the fenced pod has stopped": (fencing(2), GATED.with_pods(*pods(2)), False),
    "the fenced pod terminates": (
        fencing(2),
        GATED.with_pods(*pods()[:2], gen.pod(2).ready().terminating()),
        False,
    ),
    "hibernation": (fencing(2).with_spec(hibernate=True), GATED, False),
    "there is no StatefulSet": (fencing(2), GATED.with_set(None), False),
}


@pytest.mark.parametrize("what", ASKED)
def test_the_quorum_is_read_only_before_a_server_stops(what: str) -> None:
    cluster, world, expected = ASKED[what]
    assert needs_quorum(cluster.read().spec, world.facts()) is expected


RESTORE = {"operation": "Restore", "holder": "openbaorestore/monday", "epoch": 1}
# sentence: (world, the reason and the effects)
WHILE_RESTORING: dict[str, tuple[gen.World, str]] = {
    "a server that may lack the restored data keeps running": (
        GATED.with_quorum(WELL), "RestoreInProgress"
    ),
    "a server that is down stops": (
        GATED.with_pods(*pods()[:2], gen.pod(2).waiting("CrashLoopBackOff")).with_quorum(WELL),
        "Fencing fence-pod x-2",
    ),
    "a gated pod is fenced": (GATED.with_pods(*pods(2)), ""),
}  # fmt: skip


@pytest.mark.parametrize(("world", "expected"), WHILE_RESTORING.values(), ids=WHILE_RESTORING)
def test_during_a_restore(world: gen.World, expected: str) -> None:
    cluster = fencing(2).with_status(operationLock=RESTORE)
    fenced = fence(gen.resolved(cluster, world), world.facts())
    reason = "" if isinstance(fenced.outcome, Done) else fenced.outcome.reason
    effects = [f"{effect.name} {effect.target}" for effect in fenced.effects]
    assert " ".join(filter(None, (reason, *effects))) == expected
