"""contracts.records.upgrade: whether an upgrade is under way, by statuses as they are stored."""

from typing import Any

import pytest

from contracts.api.cluster.status import ClusterStatus
from contracts.records.upgrade import Release, upgrade_under_way, upgrade_unfinished
from tests import gen
from tests.managers.upgrade.statuses import BEGUN, FAILED, ROLLS

REFUSED = {
    "type": "Upgrading", "status": "False", "reason": "DowngradeBlocked", "message": "older",
    "lastTransitionTime": "2030-01-01T00:00:00Z",
}  # fmt: skip
GREEN = {"greenRevision": "00", "greenVersion": "2.5.0", "operationID": "u1"}
GLASS = {"active": True, "nonce": "n", "reason": "RollbackConsensusRepairFailed"}

# situation: (status, under way, unfinished)
CASES: dict[str, tuple[dict[str, Any], bool, bool]] = {
    "never upgraded": ({}, False, False),
    "a target that is refused": ({"conditions": [REFUSED]}, False, False),
    "a roll for another reason": (
        {"currentVersion": "2.4.0", "operation": {"kind": "Rolling"}}, False, False
    ),
    "rolling: the lock is taken": ({"upgrade": BEGUN}, True, True),
    "rolling: pods are replaced": ({"upgrade": ROLLS}, True, True),
    "rolling: failed": ({"upgrade": FAILED}, False, True),
    "blue/green: recorded": ({"blueGreen": {"phase": "Idle", **GREEN}}, True, True),
    "blue/green: held for approval": ({"blueGreen": {"phase": "Syncing", **GREEN}}, True, True),
    "blue/green: blue is removed": ({"blueGreen": {"phase": "Cleanup", **GREEN}}, True, True),
    "blue/green: rolls back": ({"blueGreen": {"phase": "RollingBack", **GREEN}}, True, True),
    "blue/green: break glass": (
        {"blueGreen": {"phase": "RollingBack", **GREEN}, "breakGlass": GLASS}, True, True
    ),
    "blue/green: rolled back": (
        {"blueGreen": {"phase": "Idle", "blueRevision": "", "failedRevision": "00"}}, False, False
    ),
    "blue/green: complete": (
        {"blueGreen": {"phase": "Idle", "blueRevision": "00"}}, False, False
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_status_says_if_an_upgrade_is_under_way(case: str) -> None:
    body, under_way, unfinished = CASES[case]
    stored = ClusterStatus.model_validate(body)
    assert upgrade_under_way(stored) is under_way
    assert upgrade_unfinished(stored) is unfinished


def test_a_leading_v_does_not_change_the_version() -> None:
    cluster = gen.cluster().with_spec(version="v2.4.0").with_status(currentVersion="v2.4.0").read()
    assert Release.running(cluster) == Release.requested(cluster) == Release("2.4.0")
