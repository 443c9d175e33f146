"""Upgrades in progress."""

from __future__ import annotations

import pytest

from contracts.jobs import upgrade_actions
from contracts.pools.voter_pool import ServerPool
from tests.managers.cluster.takeover import NEW, Takeover

OPERATORS = pytest.mark.parametrize(
    "restarts", [False, True], ids=["one operator", "a new one every pass"]
)
WAY_THERE = [
    upgrade_actions.JOIN,
    upgrade_actions.WAIT,
    upgrade_actions.PROMOTE,
    upgrade_actions.DEMOTE,
    upgrade_actions.REMOVE_BLUE,
]


async def begin_takeover(
    monkeypatch: pytest.MonkeyPatch, *, restarts: bool = False, **spec: object
) -> Takeover:
    """A running cluster for which another version was just requested."""
    world = Takeover(monkeypatch, **spec)
    await world.boot()
    world.restarts = restarts
    world.ask_for(version=NEW)
    return world


def of(revision: str, count: int = 3) -> set[str]:
    """Names of the pods of a pool."""
    return {ServerPool("x", revision).pod(number) for number in range(count)}
