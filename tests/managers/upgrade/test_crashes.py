"""The operator crashes after each write of a rolling upgrade: the same result."""

from __future__ import annotations

import pytest

from runtime.builtin_kinds import JOB, POD
from runtime.errors import TransportError
from tests import gen
from tests.managers.cluster.dying_operator import Dying
from tests.managers.upgrade.life import NEW, UpgradeLife, serving

TURNS = 60
MOST = 20
"""Writes of a whole upgrade of three servers."""


async def _complete_upgrade(life: UpgradeLife) -> UpgradeLife:
    """Run until the upgrade is complete; a new operator replaces a crashed one."""
    for _ in range(TURNS):
        try:
            await life.on()
        except TransportError:
            life.revive()
            life = await life.restart()
            continue
        if any("status" not in job for job in life.api.of(JOB)):
            life.end_job("Complete")
            life.hand_over()
        if life.status.upgrade is None and life.status.current_version == NEW and not life.writes:
            return life
    raise AssertionError(f"{life.status.upgrade} after {TURNS} passes")


async def _begin(monkeypatch: pytest.MonkeyPatch) -> UpgradeLife:
    life = await serving(monkeypatch, upgrade={"jwtAuthRole": "upgrader"})
    life.ask_for(version=NEW)
    return life


async def test_an_upgrade_has_no_more_writes_than_the_crash_test_covers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await _begin(monkeypatch)
    dying = Dying(life.api, 0, after=False)
    await _complete_upgrade(life)
    assert 15 < dying.count <= MOST


@pytest.mark.parametrize("at", range(1, MOST + 1))
async def test_the_operator_may_crash_after_every_write(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    life = await _begin(monkeypatch)
    Dying(life.api, at, after=True)
    life = await _complete_upgrade(life)
    assert life.gone == ["x-2", "x-1", "x-0"]
    assert len(life.jobs()) == 1
    assert gen.present(life.status.release).version == NEW
    assert life.status.operation_lock is None
    assert {pod["metadata"]["labels"]["openbao-version"] for pod in life.api.of(POD)} == {NEW}
