"""A rolling upgrade that does not get on in time: which server it names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contracts.observed import Quorum, RaftServer
from managers.oplock.plan import UPGRADE_HOLDER
from managers.upgrade.course import direct
from tests import gen

DEADLINE = timedelta(seconds=20)
NEW = "2.4.1"
BEGAN = (gen.NOW - DEADLINE).strftime("%Y-%m-%dT%H:%M:%SZ")
ROLLS = {
    "phase": "Rolling",
    "id": "op",
    "fromVersion": "2.4.0",
    "targetVersion": NEW,
    "completedPods": [2],
    "pod": "x-1",
    "stepStartedAt": BEGAN,
}
LOCK = {"operation": "Upgrade", "holder": UPGRADE_HOLDER}
CLUSTER = (
    gen.cluster(version=NEW)
    .initialized()
    .having(upgrade=ROLLS, release={"version": NEW}, operationLock=LOCK)
)
WELL = tuple(RaftServer(f"x-{n}", voter=True, healthy=True) for n in range(2))
# name: (what the leader says, the server that is to be named)
ANSWERS: dict[str, tuple[Quorum | None, str]] = {
    "one is not healthy": (Quorum((*WELL, RaftServer("x-2", voter=True, healthy=False))), "x-2"),
    "one does not catch up": (
        Quorum((*WELL, RaftServer("x-2", voter=True, healthy=True, follows=False))),
        "x-2",
    ),
    "all are well": (Quorum((*WELL, RaftServer("x-2", voter=True, healthy=True))), "x-1"),
    "the leader cannot be asked": (Quorum(trouble="it does not answer"), "x-1"),
    "nobody may ask": (None, "x-1"),
}


@pytest.mark.parametrize(("quorum", "named"), ANSWERS.values(), ids=ANSWERS)
def test_the_server_that_is_not_well_is_named(quorum: Quorum | None, named: str) -> None:
    facts = gen.running(CLUSTER).with_quorum(quorum).facts()
    course = direct(CLUSTER.read(), facts, DEADLINE)
    assert course.upgrade is not None
    assert course.upgrade.failure is not None
    assert course.upgrade.failure.reason == "HealthCheckFailed"
    assert named in course.upgrade.failure.message
