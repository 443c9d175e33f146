"""baoctl.commands.bench.readiness: when a cluster is not measured."""

from __future__ import annotations

from typing import Any

import pytest

from baoctl.commands.bench.readiness import obstacles, token_obstacle

AVAILABLE = {"type": "Available", "status": "True", "reason": "AllReplicasReady"}
LOCK = {"operation": "Backup", "holder": "openbaobackup/nightly"}
ROWS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a cluster that is well": ({}, []),
    "one without a status": (
        {"conditions": []},
        ["it is not Available (it has no such condition)"],
    ),
    "one that is not Available": (
        {"conditions": [{**AVAILABLE, "status": "False", "reason": "NotReady"}]},
        ["it is not Available (NotReady)"],
    ),
    "a backup": ({"operationLock": LOCK}, ["Backup of openbaobackup/nightly is in progress"]),
    "a rolling upgrade": (
        {"upgrade": {"phase": "Preparing"}},
        ["a rolling upgrade is in progress or has failed"],
    ),
    "the lock of an upgrade": (
        {"upgrade": {"phase": "Preparing"}, "operationLock": LOCK},
        ["Backup of openbaobackup/nightly is in progress"],
    ),
    "a blue/green upgrade": (
        {"blueGreen": {"phase": "Syncing"}},
        ["a blue/green upgrade is in progress"],
    ),
    "a blue/green upgrade that is over": ({"blueGreen": {"phase": "Idle"}}, []),
}


@pytest.mark.parametrize(("status", "expected"), ROWS.values(), ids=ROWS.keys())
def test_row(status: dict[str, Any], expected: list[str]) -> None:
    assert list(obstacles({"status": {"conditions": [AVAILABLE], **status}})) == expected


def test_a_cluster_that_is_being_deleted() -> None:
    live = {
        "metadata": {"deletionTimestamp": "2026-11-26T12:00:00Z"},
        "status": {"conditions": [AVAILABLE]},
    }
    assert list(obstacles(live)) == ["it is being deleted"]


TOKENS: dict[str, tuple[dict[str, Any], str]] = {
    "one that lives for ever": ({"ttl": 0, "num_uses": 0}, ""),
    "one that lives long enough": ({"ttl": 210, "num_uses": 0}, ""),
    "one that ends before the keys are removed": ({"ttl": 209}, "expires in 209 s"),
    "one that may be used a few times": ({"ttl": 0, "num_uses": 5}, "only 5 times"),
    "one that says nothing": ({}, ""),
}


@pytest.mark.parametrize(("data", "expected"), TOKENS.values(), ids=TOKENS.keys())
def test_token(data: dict[str, Any], expected: str) -> None:
    obstacle = token_obstacle(data, 210.0)
    assert (expected in obstacle, bool(obstacle)) == (True, bool(expected))
