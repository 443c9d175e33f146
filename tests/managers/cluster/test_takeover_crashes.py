"""The operator crashes before or after each write of a blue/green upgrade: the same result."""

from __future__ import annotations

import pytest

from contracts.naming import labels
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.errors import TransportError
from tests.managers.cluster.dying_operator import Dying
from tests.managers.cluster.takeover import NEW, PHASES, Takeover
from tests.managers.cluster.takeover_ways import WAY_THERE, begin_takeover, of

TURNS = 90
WRITES = 43
"""Writes of a whole upgrade of three servers."""

_before: list[tuple[Takeover, int]] = []
"""For each write of an upgrade, the world before its reconcile, and its number in the reconcile."""


async def _before_writes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Takeover, int]]:
    """Run the upgrade once per process: each crash test starts at the reconcile of its crash."""
    if not _before:
        world = await begin_takeover(monkeypatch)
        while not _is_complete(world):
            start, world = world, await world.copied(monkeypatch)
            await world.turn()
            _before.extend((start, number) for number in range(1, len(world.writes) + 1))
    return _before


def _is_complete(world: Takeover) -> bool:
    return len(world.phases) > 2 and world.phase == "Idle" and not world.writes


async def _complete_upgrade(world: Takeover) -> None:
    """Run until the upgrade is complete; a new operator replaces a crashed one."""
    for _ in range(TURNS):
        try:
            await world.turn()
        except TransportError:
            world.kubernetes()
            await world.restart()
            continue
        if _is_complete(world):
            return


async def test_a_crash_is_tested_at_each_write_of_an_upgrade(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(await _before_writes(monkeypatch)) == WRITES


@pytest.mark.parametrize("at", range(WRITES))
@pytest.mark.parametrize("after", [False, True], ids=["before a write", "after a write"])
async def test_the_operator_may_crash_at_every_write(
    monkeypatch: pytest.MonkeyPatch, at: int, *, after: bool
) -> None:
    start, number = (await _before_writes(monkeypatch))[at]
    world = await start.copied(monkeypatch)
    dying = Dying(world.api, number, after=after)
    await _complete_upgrade(world)
    assert dying.count >= number
    revision = world.status["blueGreen"].get("blueRevision", "")
    # A phase may have been written and left between two reads.
    assert set(world.phases) == set(PHASES), world.explain()
    assert world.actions == WAY_THERE
    assert world.status["release"] == {"version": NEW}
    assert "operationLock" not in world.status
    assert world.names_of(STATEFUL_SET) == {f"x-{revision}"}
    assert world.names_of(POD) == set(world.raft) == of(revision)
    assert len(world.names_of(PVC)) == 3
    assert world.selected() == labels.servers("x")
    assert "PodReplaced" not in world.event_reasons
