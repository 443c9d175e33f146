"""baoctl.commands.bench.readiness: when a cluster is not measured."""

from __future__ import annotations

from typing import Any

import pytest

from baoctl.commands.bench.readiness import obstacles, token_obstacle

AVAILABLE = {"type": "Available", "status": "True", "reason": "AllReplicasReady"}
LOCK = {"operation": "Backup", "holder": "openbaobackup/nightly"}
ROWS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a healthy cluster": ({}, []),
    "a cluster without a status": (
        {"conditions": []},
        ["it is not Available (it has no such condition)"],
    ),
    "a cluster that is not Available": (
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
    "a completed blue/green upgrade": ({"blueGreen": {"phase": "Idle"}}, []),
}


@pytest.mark.parametrize(("status", "expected"), ROWS.values(), ids=ROWS.keys())
def test_obstacles(status: dict[str, Any], expected: list[str]) -> None:
    assert list(obstacles({"status": {"conditions": [AVAILABLE], **status}})) == expected


def test_a_terminating_cluster_is_not_measured() -> None:
    live = {
        "metadata": {"deletionTimestamp": "2026-11-26T12:00:00Z"},
        "status": {"conditions": [AVAILABLE]},
    }
    assert list(obstacles(live)) == ["it is being deleted"]


TOKENS: dict[str, tuple[dict[str, Any], str]] = {
    "a token without expiry": ({"ttl": 0, "num_uses": 0}, ""),
    "a token with a sufficient TTL": ({"ttl": 210, "num_uses": 0}, ""),
    "a token that expires before the cleanup": ({"ttl": 209}, "expires in 209 s"),
    "a token with few uses": ({"ttl": 0, "num_uses": 5}, "only 5 times"),
    "a token without data": ({}, ""),
}


@pytest.mark.parametrize(("data", "expected"), TOKENS.values(), ids=TOKENS.keys())
def test_usable_tokens(data: dict[str, Any], expected: str) -> None:
    obstacle = token_obstacle(data, 210.0)
    assert (expected in obstacle, bool(obstacle)) == (True, bool(expected))
