"""The operator crashes before or after each write of a blue/green upgrade: the same result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contracts.naming import labels
from runtime.builtin_kinds import EVENT, POD, PVC, STATEFUL_SET
from runtime.errors import TransportError
from tests.managers.cluster.takeover import NEW, PHASES, Takeover
from tests.managers.cluster.takeover_ways import WAY_THERE, begun, of

WRITES = ("create", "apply", "json_patch", "delete")
TURNS = 90
MOST = 50
"""Writes of a whole upgrade of three servers."""


class Dying:
    """Makes the operator crash at one write, and counts all writes."""

    def __init__(self, world: Takeover, at: int, *, after: bool) -> None:
        self.count, self._at, self._after = 0, at, after
        for verb in WRITES:
            setattr(world.api, verb, self._spoilt(getattr(world.api, verb)))

    def _spoilt(self, real: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **more: Any) -> Any:
            if args[0] == EVENT:
                return await real(*args, **more)
            self.count += 1
            if self.count == self._at and not self._after:
                raise TransportError("the operator dies")
            answer = await real(*args, **more)
            if self.count == self._at:
                raise TransportError("the operator dies")
            return answer

        return call


async def _upgraded(world: Takeover) -> None:
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
    world = await begun(monkeypatch)
    dying = Dying(world, 0, after=False)
    await _upgraded(world)
    assert 30 < dying.count <= MOST


@pytest.mark.parametrize("at", range(1, MOST + 1))
@pytest.mark.parametrize("after", [False, True], ids=["before a write", "after a write"])
async def test_the_operator_may_crash_at_every_write(
    monkeypatch: pytest.MonkeyPatch, at: int, *, after: bool
) -> None:
    world = await begun(monkeypatch)
    Dying(world, at, after=after)
    await _upgraded(world)
    revision = world.status["blueGreen"].get("blueRevision", "")
    # A phase may have been written and left between two reads.
    assert set(world.phases) == set(PHASES), world.explain()
    assert world.actions == WAY_THERE
    assert world.status["release"] == {"version": NEW}
    assert "operationLock" not in world.status
    assert world.named(STATEFUL_SET) == {f"x-{revision}"}
    assert world.named(POD) == set(world.raft) == of(revision)
    assert len(world.named(PVC)) == 3
    assert world.selected() == labels.servers("x")
    assert "PodReplaced" not in world.told
