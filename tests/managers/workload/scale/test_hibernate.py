"""managers.workload.scale.hibernate: how many servers sleep, and how many come back."""

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
    """`expected` is the replicas and the reason of the wait; "" for no say."""

    cluster: gen.Cluster
    world: gen.World
    expected: str


ROWS = {
    "nobody asked for sleep": Row(AWAKE, RUNNING, ""),
    "not before there is data": Row(gen.cluster().with_spec(hibernate=True), gen.world(), ""),
    "all run": Row(ASLEEP, RUNNING, "0 Hibernating"),
    "one stops": Row(ASLEEP, EMPTIED.with_pods(gen.pod(2).ready().terminating()), "0 Hibernating"),
    "a pod out of reach": Row(ASLEEP, EMPTIED.with_pods(gen.pod(1).unready()), "0 Hibernating"),
    "a read replica is left": Row(
        ASLEEP, EMPTIED.with_readers(gen.read_set(), gen.read_pod(0).ready()), "0 Hibernating"
    ),
    "all have stopped": Row(ASLEEP, EMPTIED, "0"),
    "the StatefulSet was deleted in its sleep": Row(ASLEEP, EMPTIED.with_set(None), "0"),
    "woken": Row(AWAKE, EMPTIED.waking_for(A_MINUTE), "3 Waking"),
    "woken with fewer": Row(AWAKE.with_spec(replicas=1), EMPTIED.waking_for(A_MINUTE), "3 Waking"),
    "woken with more asked for: first those that slept": Row(
        AWAKE.with_spec(replicas=5), EMPTIED.waking_for(A_MINUTE), "3 Waking"
    ),
    "on their way": Row(
        AWAKE.with_spec(replicas=1),
        RUNNING.with_pods(gen.pod(0).ready(), gen.pod(1), gen.pod(2)).waking_for(A_MINUTE),
        "3 Waking",
    ),
    "woken while one is still stopping": Row(
        AWAKE, EMPTIED.with_pods(gen.pod(0).ready().terminating()).waking_for(A_MINUTE), "3 Waking"
    ),
    "all are back": Row(AWAKE, RUNNING.waking_for(A_MINUTE), ""),
    "all are back but one that is fenced": Row(
        AWAKE.with_spec(fencedPods=["x-2"]),
        RUNNING.with_pods(
            gen.pod(0).ready(), gen.pod(1).ready(), gen.pod(2).with_gates()
        ).waking_for(A_MINUTE),
        "",
    ),
    "too long on their way: trouble like any other": Row(
        AWAKE,
        RUNNING.with_pods(gen.pod(0)).waking_for(timedelta(seconds=WAKE_PATIENCE_SECONDS)),
        "",
    ),
    "somebody took all servers away": Row(AWAKE, EMPTIED, "3"),
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


# sentence: (cluster, world, how many slept)
SLEPT: dict[str, tuple[gen.Cluster, gen.World, int]] = {
    "the volumes tell": (AWAKE.with_spec(replicas=1), EMPTIED, 3),
    "the members tell, when volumes were lost": (
        members(AWAKE.with_spec(replicas=1), 3),
        gen.world().with_claims(0),
        3,
    ),
    "read replicas are not counted": (members(AWAKE.with_spec(replicas=1), 1, 2), gen.world(), 1),
    "nobody tells: as many as are asked for": (AWAKE.with_spec(replicas=5), gen.world(), 5),
    "a volume of an earlier cluster tells nothing": (
        members(AWAKE, 1),
        gen.world().with_claims(0).with_claims(1, 2, owner="another"),
        1,
    ),
    "a volume that goes tells nothing": (
        members(AWAKE, 1),
        gen.world().with_claims(0).with_claims(1, gone=True),
        1,
    ),
    "never more than the API allows": (AWAKE, gen.world().with_claims(*range(40)), VOTERS_MAX),
}


@pytest.mark.parametrize("row", SLEPT.values(), ids=SLEPT)
def test_who_slept(row: tuple[gen.Cluster, gen.World, int]) -> None:
    cluster, world, expected = row
    assert replicas_to_resume(gen.resolved(cluster, world), world.facts()) == expected


def test_a_volume_whose_server_was_removed_does_not_come_back() -> None:
    observed = EMPTIED.facts()
    claims = (*observed.claims[:2], replace(observed.claims[2], removed_peer="x-2"))
    meant = gen.resolved(AWAKE.with_spec(replicas=1), EMPTIED)
    assert replicas_to_resume(meant, replace(observed, claims=claims)) == 2


def test_the_operation_counts_those_that_stopped() -> None:
    world = RUNNING.with_pods(gen.pod(0).ready())
    size = gen.present(hibernate(gen.resolved(ASLEEP, world), world.facts()))
    assert size.operation == Operation("Hibernating", 2, 3)


def since(status: str, reason: str, time: str = "2029-12-01T00:00:00Z") -> gen.Cluster:
    """A cluster with this condition Hibernated since that time."""
    condition = {"type": "Hibernated", "status": status, "reason": reason, "message": ""}
    return AWAKE.with_status(conditions=[{**condition, "lastTransitionTime": time}])


# sentence: (cluster, since when it wakes)
SINCE = {
    "it never slept": (AWAKE, None),
    "it sleeps": (since("True", "Hibernated").with_spec(hibernate=True), None),
    "it was woken this moment": (since("True", "Hibernated"), NOW),
    "it was woken while it fell asleep": (since("False", "Hibernating"), NOW),
    "it was woken before": (since("False", "Waking", "2029-12-31T23:59:00Z"), NOW - A_MINUTE),
}


@pytest.mark.parametrize("what", SINCE)
def test_since_when_it_wakes(what: str) -> None:
    cluster, expected = SINCE[what]
    assert waking_since(cluster.read(), NOW) == expected


@pytest.mark.parametrize("known", ["first=key", "first=key,second=key-2"])
def test_a_rotation_of_the_unseal_key_rests_in_its_sleep(known: str) -> None:
    """Servers that do not run have read nothing: all of none of them is no proof."""
    asleep = ASLEEP.with_spec(unseal={"type": "static", "static": {"currentKeyID": "second"}})
    world = EMPTIED.with_set(gen.stateful_set().with_replicas(0).with_keys(known))
    rotation = gen.present(gen.resolved(asleep, world).unseal.rotation)
    assert str(rotation.ring) == known
    assert rotation.draw == ""
