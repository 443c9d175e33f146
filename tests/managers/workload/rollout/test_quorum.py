"""managers.workload.rollout.quorum: when one server more may be away."""

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
    quorum: Quorum | None
    victim: PodFacts
    size: int
    word: str


# sentence: (what the leader says, the pod that would go, servers wanted, word of the objection)
ROWS = {
    "nobody could ask": Row(None, STANDBY, 3, ""),
    "all are well": Row(WELL, STANDBY, 3, ""),
    "five, one of them ill": Row(
        Quorum(servers(True, True, True, True, False), failure_tolerance=1), STANDBY, 5, "x-4"
    ),
    "one that the leader has not reached again": Row(
        Quorum(
            (*WELL.servers[:1], RaftServer("x-1", True, True, follows=False), *WELL.servers[2:]), 1
        ),
        STANDBY,
        3,
        "has not reached these since they started: x-1",
    ),
    "the one that goes has not been reached itself": Row(
        Quorum((*WELL.servers[:2], RaftServer("x-2", True, True, False)), 1), STANDBY, 3, ""
    ),
    "the one that goes is not well itself": Row(
        Quorum(servers(True, True, False), failure_tolerance=0), STANDBY, 3, ""
    ),
    "the one that goes is not well, and another is not either": Row(
        Quorum(servers(True, False, False), failure_tolerance=0), STANDBY, 3, "x-1"
    ),
    "one is a member without a vote": Row(
        Quorum(servers(True, True, True, voters=2), failure_tolerance=0), STANDBY, 3, "2 of 3"
    ),
    "a fourth voter was left behind": Row(
        Quorum(servers(True, True, True, False), failure_tolerance=1), STANDBY, 3, "4 of 3"
    ),
    "no failure can be tolerated": Row(
        Quorum(servers(True, True, True), failure_tolerance=0), STANDBY, 3, "tolerance 0"
    ),
    "the leader did not answer": Row(Quorum(trouble="no answer"), STANDBY, 3, "no answer"),
    "the leader did not answer and the pod is down anyway": Row(
        Quorum(trouble="no answer"), BROKEN, 3, ""
    ),
    "a single server": Row(Quorum(servers(True), failure_tolerance=0), STANDBY, 1, ""),
    "two servers go without a majority, one way or the other": Row(
        Quorum(servers(True, True), failure_tolerance=0), STANDBY, 2, ""
    ),
    "an unready pod that has no part in it": Row(
        Quorum(servers(True, True, False), failure_tolerance=0), SILENT, 3, ""
    ),
    "an unready pod whose vote is needed": Row(
        Quorum(servers(True, False, True), failure_tolerance=0), SILENT, 3, "x-2"
    ),
    "an unready pod whose vote is not needed": Row(WELL, SILENT, 3, ""),
}


@pytest.mark.parametrize(("quorum", "victim", "size", "word"), ROWS.values(), ids=ROWS.keys())
def test_row(quorum: Quorum | None, victim: PodFacts, size: int, word: str) -> None:
    message = objection(quorum, victim, size)
    assert bool(message) is bool(word), message
    assert word in message


@pytest.mark.parametrize(("voters", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (7, 4)])
def test_a_majority_is_more_than_half(voters: int, needed: int) -> None:
    assert majority(voters) == needed
