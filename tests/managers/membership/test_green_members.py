"""managers.membership.green_members: how many servers of a green pool may be members."""

from __future__ import annotations

from typing import Any

import pytest

from managers.membership.green_members import green_member_count
from tests import gen

GREEN = {"greenRevision": "0123456789abcdef", "greenReplicas": 5, "blueReplicas": 3}
ROWS: dict[str, tuple[dict[str, Any] | None, int]] = {
    "never upgraded blue/green": (None, 0),
    "it is about to begin": ({"phase": "Idle", **GREEN}, 0),
    "green comes": ({"phase": "DeployingGreen", **GREEN}, 5),
    "green takes over": ({"phase": "DemotingBlue", **GREEN}, 5),
    "green serves and blue goes": ({"phase": "Cleanup", **GREEN}, 3),
    "it goes back": ({"phase": "RollingBack", **GREEN}, 5),
    "green goes": ({"phase": "RollbackCleanup", **GREEN}, 5),
    "a status without numbers": (
        {"phase": "Syncing", "greenRevision": "0123456789abcdef"}, 7,
    ),
    "it is over": (
        {"phase": "RestoringReadReplicas", "blueRevision": "0123456789abcdef"}, 0,
    ),
    "a revision that is none": ({"phase": "Syncing", "greenRevision": "none"}, 0),
}  # fmt: skip


@pytest.mark.parametrize(("status", "number"), ROWS.values(), ids=ROWS)
def test_row(status: dict[str, Any] | None, number: int) -> None:
    cluster = gen.cluster().with_spec(replicas=7).initialized()
    read = cluster.with_status(blueGreen=status).read() if status else cluster.read()
    assert green_member_count(read) == number


def test_without_a_cluster_there_is_none() -> None:
    assert green_member_count(None) == 0
