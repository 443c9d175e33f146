"""managers.workload.scale.hibernate: how many servers stop, and how many resume."""

from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

import pytest

from contracts.api.cluster.spec import VOTERS_MAX
from contracts.records.desired import Operation
from managers.workload.scale.hibernate import (
    WAKE_PATIENCE_SECONDS,
    hibernate,
    replicas_to_resume,
    waking_since,
)
from runtime.outcome import Done, Wait
from tests import gen
from tests.gen.secrets import NOW

AWAKE = gen.cluster().initialized()
ASLEEP = AWAKE.with_spec(hibernate=True)
RUNNING = gen.running(AWAKE)
EMPTIED = RUNNING.with_pods().with_set(gen.stateful_set().with_replicas(0))
A_MINUTE = timedelta(minutes=1)


def members(cluster: gen.Cluster, voters: int, others: int = 0) -> gen.Cluster:
    return cluster.with_status(adminOps={"raft": {"voters": voters, "nonVoters": others}})


class Row(NamedTuple):
    """`expected` is the replicas and the reason of the wait; "" for no decision."""

    cluster: gen.Cluster
    world: gen.World
    expected: str


ROWS = {
    "no hibernation requested": Row(AWAKE, RUNNING, ""),
    "before the first boot": Row(gen.cluster().with_spec(hibernate=True), gen.world(), ""),
    "all servers run": Row(ASLEEP, RUNNING, "0 Hibernating"),
    "one pod terminates": Row(
        ASLEEP, EMPTIED.with_pods(gen.pod(2).ready().terminating()), "0 Hibernating"
    ),
    "an unready pod remains": Row(ASLEEP, EMPTIED.with_pods(gen.pod(1).unready()), "0 Hibernating"),
    "a read replica remains": Row(
        ASLEEP, EMPTIED.with_readers(gen.read_set(), gen.read_pod(0).ready()), "0 Hibernating"
    ),
    "all have stopped": Row(ASLEEP, EMPTIED, "0"),
    "the StatefulSet was deleted during hibernation": Row(ASLEEP, EMPTIED.with_set(None), "0"),
    "resumed": Row(AWAKE, EMPTIED.waking_for(A_MINUTE), "3 Waking"),
    "resumed with fewer replicas": Row(
        AWAKE.with_spec(replicas=1), EMPTIED.waking_for(A_MINUTE), "3 Waking"
    ),
    "resumed with more replicas starts the former number first": Row(
        AWAKE.with_spec(replicas=5), EMPTIED.waking_for(A_MINUTE), "3 Waking"
    ),
    "the servers start": Row(
        AWAKE.with_spec(replicas=1),
        RUNNING.with_pods(gen.pod(0).ready(), gen.pod(1), gen.pod(2)).waking_for(A_MINUTE),
        "3 Waking",
    ),
    "resumed while one terminates": Row(
        AWAKE, EMPTIED.with_pods(gen.pod(0).ready().terminating()).waking_for(A_MINUTE), "3 Waking"
    ),
    "all servers have resumed": Row(AWAKE, RUNNING.waking_for(A_MINUTE), ""),
    "all servers but a fenced one have resumed": Row(
        AWAKE.with_spec(fencedPods=["x-2"]),
        RUNNING.with_pods(
            gen.pod(0).ready(), gen.pod(1).ready(), gen.pod(2).with_gates()
        ).waking_for(A_MINUTE),
        "",
    ),
    "the resume takes too long": Row(
        AWAKE,
        RUNNING.with_pods(gen.pod(0)).waking_for(timedelta(seconds=WAKE_PATIENCE_SECONDS)),
        "",
    ),
    "all servers were removed by a user": Row(AWAKE, EMPTIED, "3"),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_row(row: Row) -> None:
    size = hibernate(gen.resolved(row.cluster, row.world), row.world.facts())
    if not row.expected:
        assert size is None
        return
    assert size is not None
    reason = size.outcome.reason if isinstance(size.outcome, Wait) else ""
    assert f"{size.replicas} {reason}".strip() == row.expected
    assert (size.operation is None) == (reason == "")
    assert isinstance(size.outcome, Wait | Done)
    assert size.effects == ()


# sentence: (cluster, world, the replicas to resume)
SLEPT: dict[str, tuple[gen.Cluster, gen.World, int]] = {
    "the number of volumes": (AWAKE.with_spec(replicas=1), EMPTIED, 3),
    "the number of members if volumes were lost": (
        members(AWAKE.with_spec(replicas=1), 3),
        gen.world().with_claims(0),
        3,
    ),
    "read replicas are not counted": (members(AWAKE.with_spec(replicas=1), 1, 2), gen.world(), 1),
    "the replicas of the spec without other evidence": (
        AWAKE.with_spec(replicas=5),
        gen.world(),
        5,
    ),
    "a volume of an earlier cluster is ignored": (
        members(AWAKE, 1),
        gen.world().with_claims(0).with_claims(1, 2, owner="another"),
        1,
    ),
    "a terminating volume is ignored": (
        members(AWAKE, 1),
        gen.world().with_claims(0).with_claims(1, gone=True),
        1,
    ),
    "never more than the API allows": (AWAKE, gen.world().with_claims(*range(40)), VOTERS_MAX),
}


@pytest.mark.parametrize("row", SLEPT.values(), ids=SLEPT)
def test_how_many_replicas_resume(row: tuple[gen.Cluster, gen.World, int]) -> None:
    cluster, world, expected = row
    assert replicas_to_resume(gen.resolved(cluster, world), world.facts()) == expected


def test_a_removed_server_does_not_resume() -> None:
    observed = EMPTIED.facts()
    claims = (*observed.claims[:2], replace(observed.claims[2], removed_peer="x-2"))
    meant = gen.resolved(AWAKE.with_spec(replicas=1), EMPTIED)
    assert replicas_to_resume(meant, replace(observed, claims=claims)) == 2


def test_the_operation_counts_stopped_servers() -> None:
    world = RUNNING.with_pods(gen.pod(0).ready())
    size = gen.present(hibernate(gen.resolved(ASLEEP, world), world.facts()))
    assert size.operation == Operation("Hibernating", 2, 3)


def since(status: str, reason: str, time: str = "2029-12-01T00:00:00Z") -> gen.Cluster:
    """A cluster with this condition Hibernated since that time."""
    condition = {"type": "Hibernated", "status": status, "reason": reason, "message": ""}
    return AWAKE.with_status(conditions=[{**condition, "lastTransitionTime": time}])


# sentence: (cluster, the start of the resume)
SINCE = {
    "never hibernated": (AWAKE, None),
    "hibernated": (since("True", "Hibernated").with_spec(hibernate=True), None),
    "resumed now": (since("True", "Hibernated"), NOW),
    "resumed while servers stop": (since("False", "Hibernating"), NOW),
    "resumed earlier": (since("False", "Waking", "2029-12-31T23:59:00Z"), NOW - A_MINUTE),
}


@pytest.mark.parametrize("what", SINCE)
def test_the_start_of_a_resume(what: str) -> None:
    cluster, expected = SINCE[what]
    assert waking_since(cluster.read(), NOW) == expected


@pytest.mark.parametrize("known", ["first=key", "first=key,second=key-2"])
def test_a_key_rotation_waits_during_hibernation(known: str) -> None:
    """Stopped servers have read no key, so the rotation must not continue."""
    asleep = ASLEEP.with_spec(unseal={"type": "static", "static": {"currentKeyID": "second"}})
    world = EMPTIED.with_set(gen.stateful_set().with_replicas(0).with_keys(known))
    rotation = gen.present(gen.resolved(asleep, world).unseal.rotation)
    assert str(rotation.ring) == known
    assert rotation.draw == ""
