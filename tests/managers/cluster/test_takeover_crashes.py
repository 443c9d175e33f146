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
MOST = 50
"""Writes of a whole upgrade of three servers."""


async def _complete_upgrade(world: Takeover) -> None:
    """Run until the upgrade is complete; a new operator replaces a crashed one."""
    for _ in range(TURNS):
        try:
            await world.turn()
        except TransportError:
            world.kubernetes()
            await world.restart()
            continue
        if len(world.phases) > 2 and world.phase == "Idle" and not world.writes:
            return


async def test_an_upgrade_has_no_more_writes_than_the_crash_test_covers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await begin_takeover(monkeypatch)
    dying = Dying(world.api, 0, after=False)
    await _complete_upgrade(world)
    assert 30 < dying.count <= MOST


@pytest.mark.parametrize("at", range(1, MOST + 1))
@pytest.mark.parametrize("after", [False, True], ids=["before a write", "after a write"])
async def test_the_operator_may_crash_at_every_write(
    monkeypatch: pytest.MonkeyPatch, at: int, *, after: bool
) -> None:
    world = await begin_takeover(monkeypatch)
    Dying(world.api, at, after=after)
    await _complete_upgrade(world)
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
