"""managers.workload.rollout.quorum: when one more server may be unavailable."""

from typing import NamedTuple

import pytest

from contracts.records.observed import PodFacts, Quorum, RaftServer
from managers.workload.rollout.quorum import majority, objection
from tests import gen

STANDBY = gen.pod(2).ready().facts()
BROKEN = gen.pod(2).waiting("CrashLoopBackOff").facts()
SILENT = gen.pod(2).facts()


def servers(*healthy: bool, voters: int | None = None) -> tuple[RaftServer, ...]:
    count = len(healthy) if voters is None else voters
    return tuple(
        RaftServer(f"x-{n}", voter=n < count, healthy=well) for n, well in enumerate(healthy)
    )


WELL = Quorum(servers(True, True, True), failure_tolerance=1)


class Row(NamedTuple):
    """The quorum that the leader reports, and a word of the objection; "" for none."""

    quorum: Quorum | None
    word: str
    victim: PodFacts = STANDBY
    size: int = 3


ROWS = {
    "no quorum was read": Row(None, ""),
    "all are healthy": Row(WELL, ""),
    "one of five is unhealthy": Row(
        Quorum(servers(True, True, True, True, False), failure_tolerance=1), "x-4", size=5
    ),
    "a follower that the leader has not reached": Row(
        Quorum(
            (*WELL.servers[:1], RaftServer("x-1", True, True, follows=False), *WELL.servers[2:]), 1
        ),
        "has not reached these since they started: x-1",
    ),
    "the replaced pod has not been reached": Row(
        Quorum((*WELL.servers[:2], RaftServer("x-2", True, True, False)), 1), ""
    ),
    "the replaced pod is unhealthy": Row(
        Quorum(servers(True, True, False), failure_tolerance=0), ""
    ),
    "the replaced pod and another one are unhealthy": Row(
        Quorum(servers(True, False, False), failure_tolerance=0), "x-1"
    ),
    "a member without a vote": Row(
        Quorum(servers(True, True, True, voters=2), failure_tolerance=0), "2 of 3"
    ),
    "a fourth voter": Row(Quorum(servers(True, True, True, False), failure_tolerance=1), "4 of 3"),
    "no fault tolerance": Row(
        Quorum(servers(True, True, True), failure_tolerance=0), "tolerance 0"
    ),
    "the leader did not answer": Row(Quorum(error="no answer"), "no answer"),
    "the leader did not answer and the pod is down anyway": Row(
        Quorum(error="no answer"), "", victim=BROKEN
    ),
    "a single server": Row(Quorum(servers(True), failure_tolerance=0), "", size=1),
    "two servers": Row(Quorum(servers(True, True), failure_tolerance=0), "", size=2),
    "an unready pod outside of the majority": Row(
        Quorum(servers(True, True, False), failure_tolerance=0), "", victim=SILENT
    ),
    "an unready pod whose vote is needed": Row(
        Quorum(servers(True, False, True), failure_tolerance=0), "x-2", victim=SILENT
    ),
    "an unready pod whose vote is not needed": Row(WELL, "", victim=SILENT),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_row(row: Row) -> None:
    message = objection(row.quorum, row.victim, row.size)
    assert bool(message) is bool(row.word), message
    assert row.word in message


@pytest.mark.parametrize(("voters", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (7, 4)])
def test_a_majority_is_more_than_half(voters: int, needed: int) -> None:
    assert majority(voters) == needed
