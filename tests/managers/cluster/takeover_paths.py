"""Upgrades in progress."""

from collections.abc import Awaitable, Callable

import pytest

from contracts.jobs import upgrade_actions
from contracts.pools.voter_pool import ServerPool
from tests.managers.cluster.takeover import NEW, Takeover

Begin = Callable[..., Awaitable[Takeover]]
OPERATORS = pytest.mark.parametrize(
    "begin", [False, True], ids=["one operator", "a new one every pass"], indirect=True
)
"""For tests with the fixture `begin`."""
WAY_THERE = [
    upgrade_actions.JOIN,
    upgrade_actions.WAIT,
    upgrade_actions.PROMOTE,
    upgrade_actions.DEMOTE,
    upgrade_actions.REMOVE_BLUE,
]
_BOOTED: dict[str, Takeover] = {}


async def begin_takeover(
    monkeypatch: pytest.MonkeyPatch, *, restarts: bool = False, until: str = "", **spec: object
) -> Takeover:
    """A running cluster for which another version was just requested, or in a phase after that.

    Each spec boots once per process; its copies have a new operator.
    """
    key = repr(spec)
    if key not in _BOOTED:
        _BOOTED[key] = Takeover(monkeypatch, **spec)
        await _BOOTED[key].boot()
    world = await _BOOTED[key].copied(monkeypatch)
    world.restarts = restarts
    world.ask_for(version=NEW)
    if until:
        await world.until(until)
    return world


def of(revision: str, count: int = 3) -> set[str]:
    """Names of the pods of a pool."""
    return {ServerPool("x", revision).pod(number) for number in range(count)}
