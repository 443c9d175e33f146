"""An operator that crashes after each write completes, aborts or reverts a rolling upgrade."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from runtime.builtin_kinds import JOB, POD
from runtime.errors import TransportError
from tests import gen
from tests.managers.cluster.dying_operator import OneWritePerLife
from tests.managers.upgrade.clusters import WITH_BACKUP
from tests.managers.upgrade.life import NEW, OLD, UpgradeLife, serving

LIVES = 120
"""More than any upgrade of three servers needs; each has at most one write."""
NEWER = "2.4.2"
PERIOD = timedelta(seconds=90)
"""Time between two lives: Kubernetes delays the restarts of a container that crashes, and the lock
is due for a renewal each time."""


class CrashingLife:
    """A cluster whose operator crashes after each write."""

    def __init__(self, life: UpgradeLife) -> None:
        self.life = life
        self._operator = OneWritePerLife(life.api)
        self.job_end = "Complete"
        self.backup_end = "Completed"

    @property
    def writes(self) -> list[str]:
        """The writes of all processes."""
        return self._operator.writes

    async def until(self, done: Callable[[UpgradeLife], bool]) -> None:
        """Run until `done`, and then until a process has no write."""
        for _ in range(LIVES):
            with suppress(TransportError):
                await self.life.turn()
            if not self._operator.crashed and done(self.life):
                return
            await self._next_life()
        raise AssertionError(f"{self.life.status.upgrade} after {self.writes[-12:]}")

    async def _next_life(self) -> None:
        self._operator.restarted()
        self.life.revive()
        if any("status" not in job for job in self.life.api.of(JOB)):
            self.life.end_job(self.job_end)
            if self.job_end == "Complete":
                self.life.hand_over()
        if self.life.backups() and not self.life.backups()[-1].status.phase:
            self.life.end_backup(self.backup_end)
        await self.life.later(PERIOD)
        self.life = await self.life.restart()

    def expect_release(self, version: str) -> None:
        """Nothing is left of the upgrade, and the servers run this version."""
        assert self.life.status.operation_lock is None
        assert gen.present(self.life.status.release).version == version
        versions = {pod["metadata"]["labels"]["openbao-version"] for pod in self.life.api.of(POD)}
        assert versions == {version}


def is_idle(life: UpgradeLife) -> bool:
    return life.status.upgrade is None


def has_failed(life: UpgradeLife) -> bool:
    upgrade = life.status.upgrade
    return upgrade is not None and upgrade.failure is not None


async def begin(monkeypatch: pytest.MonkeyPatch, *, snapshot: bool = False) -> CrashingLife:
    spec: dict[str, Any] = {"upgrade": {"jwtAuthRole": "upgrader"}}
    life = await serving(monkeypatch, **(WITH_BACKUP if snapshot else spec))
    life.ask_for(version=NEW)
    return CrashingLife(life)


async def test_an_upgrade_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await begin(monkeypatch)
    await world.until(is_idle)
    assert world.life.gone == ["x-2", "x-1", "x-0"]
    assert len(world.life.jobs()) == 1
    world.expect_release(NEW)


async def test_a_snapshot_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await begin(monkeypatch, snapshot=True)
    await world.until(is_idle)
    assert len(world.life.backups()) == 1
    world.expect_release(NEW)


async def test_an_upgrade_whose_spec_is_reverted_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await begin(monkeypatch, snapshot=True)
    world.backup_end = ""
    await world.until(lambda life: life.upgrade.phase == "Snapshot")
    world.life.ask_for(version=OLD)
    await world.until(is_idle)
    assert world.life.gone == []
    world.expect_release(OLD)


async def test_an_upgrade_whose_snapshots_fail_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await begin(monkeypatch, snapshot=True)
    world.backup_end = "Failed"
    await world.until(has_failed)
    assert gen.present(world.life.upgrade.failure).reason == "PreUpgradeBackupFailed"
    assert len(world.life.backups()) == 3
    world.expect_release(OLD)


async def test_an_upgrade_whose_job_fails_stops_and_a_retry_completes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await begin(monkeypatch)
    world.job_end = "Failed"
    await world.until(has_failed)
    assert gen.present(world.life.upgrade.failure).reason == "StepDownFailed"
    assert world.life.status.operation_lock is None
    assert world.life.gone == ["x-2", "x-1"]
    world.job_end = "Complete"
    upgrade = {"jwtAuthRole": "upgrader", "requests": {"retry": "one"}}
    world.life.ask_for(upgrade=upgrade)
    await world.until(is_idle)
    assert world.life.gone == ["x-2", "x-1", "x-0"]
    world.expect_release(NEW)


async def test_an_upgrade_that_fails_stops_and_another_release_replaces_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await begin(monkeypatch)
    world.life.broken = frozenset({NEW})
    await world.until(lambda life: life.gone == ["x-2"])
    await world.life.later(timedelta(minutes=11))
    await world.until(has_failed)
    assert gen.present(world.life.upgrade.failure).reason == "PodNotReady"
    assert world.life.status.operation_lock is None
    world.life.ask_for(version=NEWER)
    await world.until(is_idle)
    world.expect_release(NEWER)
