"""managers.membership.green_members: the maximum number of members of a green pool."""

from __future__ import annotations

from typing import Any

import pytest

from managers.membership.green_members import green_member_count
from tests import gen

GREEN = {"greenRevision": "0123456789abcdef", "greenReplicas": 5, "blueReplicas": 3}
ROWS: dict[str, tuple[dict[str, Any] | None, int]] = {
    "never upgraded blue/green": (None, 0),
    "before the start": ({"phase": "Idle", **GREEN}, 0),
    "green is deployed": ({"phase": "DeployingGreen", **GREEN}, 5),
    "blue is demoted": ({"phase": "DemotingBlue", **GREEN}, 5),
    "blue is removed": ({"phase": "Cleanup", **GREEN}, 3),
    "a rollback": ({"phase": "RollingBack", **GREEN}, 5),
    "green is removed": ({"phase": "RollbackCleanup", **GREEN}, 5),
    "a status without numbers": (
        {"phase": "Syncing", "greenRevision": "0123456789abcdef"}, 7,
    ),
    "after the upgrade": (
        {"phase": "RestoringReadReplicas", "blueRevision": "0123456789abcdef"}, 0,
    ),
    "an invalid revision": ({"phase": "Syncing", "greenRevision": "none"}, 0),
}  # fmt: skip


@pytest.mark.parametrize(("status", "number"), ROWS.values(), ids=ROWS)
def test_row(status: dict[str, Any] | None, number: int) -> None:
    cluster = gen.cluster().with_spec(replicas=7).initialized()
    read = cluster.with_status(blueGreen=status).read() if status else cluster.read()
    assert green_member_count(read) == number


def test_without_a_cluster_there_are_no_green_members() -> None:
    assert green_member_count(None) == 0
