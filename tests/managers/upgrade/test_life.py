"""A rolling upgrade from the edit of the spec to its end, with interruptions."""

from datetime import timedelta
from typing import Any

import pytest

from contracts.api.cluster.status_backup import OperationLock
from tests import gen
from tests.managers.upgrade.clusters import WITH_BACKUP
from tests.managers.upgrade.life import NEW, OLD, UpgradeLife, serving

NEWER = "2.4.2"


def take_lock(life: UpgradeLife, holder: str) -> None:
    """Give the operation lock to another holder."""
    live = life.cluster
    lock = OperationLock(operation="Restore", holder=holder, epoch=7)
    live["status"] |= {"operationLock": lock.to_object(), "operationLockEpoch": 7}


async def test_every_pod_is_replaced_once_and_the_leader_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch)
    life.ask_for(version=NEW)
    await life.until_idle()
    assert life.gone == ["x-2", "x-1", "x-0"]
    assert (life.status.current_version, life.status.release) == (NEW, life.status.release)
    assert gen.present(life.status.release).version == NEW
    await life.until_quiet()
    assert life.condition("Upgrading") == ("False", "Idle")
    assert life.condition("Ready") == ("True", "AllReplicasReady")


async def test_no_pod_is_replaced_while_another_holder_has_the_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch)
    take_lock(life, "openbaorestore/r")
    life.ask_for(version=NEW)
    await life.on(10)
    assert (life.gone, life.version) == ([], OLD)
    assert life.status.upgrade is None
    assert life.condition("Upgrading")[0] == "False"


async def test_a_restore_that_takes_the_lock_by_force_stops_the_upgrade(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch)
    life.ask_for(version=NEW)
    await life.until("Rolling")
    take_lock(life, "openbaorestore/r")
    await life.until("Failed")
    gone = list(life.gone)
    assert gen.present(life.upgrade.failure).reason == "UpgradeFailed"
    await life.on(5)
    assert life.gone == gone
    # The lock of another holder is not released.
    assert gen.present(life.status.operation_lock).holder == "openbaorestore/r"


@pytest.mark.parametrize("wanted", ["2.3.9", "2.4.0-rc1"])
async def test_an_older_version_is_refused_and_nothing_changes(
    wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = await serving(monkeypatch)
    life.ask_for(version=wanted)
    await life.on(5)
    assert (life.version, life.gone) == (OLD, [])
    assert life.condition("Upgrading") == ("False", "DowngradeBlocked")
    assert life.condition("Available") == ("True", "AllReplicasReady")
    await life.until_quiet()


async def test_an_image_that_does_not_start_stops_the_upgrade(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch)
    life.broken = frozenset({NEW})
    life.ask_for(version=NEW)
    await life.until("Rolling")
    await life.on(5)
    await life.later(timedelta(minutes=11))
    await life.until("Failed")
    assert gen.present(life.upgrade.failure).reason == "PodNotReady"
    await life.on(3)
    assert life.gone == ["x-2"]
    assert life.status.operation_lock is None
    assert life.condition("Degraded") == ("True", "PodNotReady")
    assert life.condition("Upgrading") == ("False", "PodNotReady")
    life.ask_for(version=NEWER)
    await life.until_idle()
    assert life.gone == ["x-2", "x-2", "x-1", "x-0"]
    assert life.status.current_version == NEWER


async def test_a_retry_request_is_handled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch, upgrade={})
    life.broken = frozenset({NEW})
    life.ask_for(version=NEW)
    await life.until("Rolling")
    await life.on(3)
    await life.later(timedelta(minutes=11))
    await life.until("Failed")
    first = life.upgrade.id
    life.ask_for(upgrade={"requests": {"retry": "one"}})
    await life.until("Rolling")
    second = life.upgrade.id
    assert second != first
    await life.later(timedelta(minutes=11))
    await life.until("Failed")
    await life.on(5)
    assert (life.upgrade.id, life.upgrade.failure is None) == (second, False)


async def test_a_snapshot_comes_before_the_first_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    life = await serving(monkeypatch, **WITH_BACKUP)
    life.ask_for(version=NEW)
    await life.until("Snapshot")
    await life.on(10)
    assert len(life.backups()) == 1
    assert (life.gone, life.version) == ([], OLD)
    life.end_backup("Completed")
    await life.until_idle()
    assert life.gone == ["x-2", "x-1", "x-0"]
    assert len(life.backups()) == 1


async def test_three_failed_snapshots_stop_the_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    life = await serving(monkeypatch, **WITH_BACKUP)
    life.ask_for(version=NEW)
    await life.until("Snapshot")
    for _ in range(40):
        await life.on()
        if life.backups() and life.backups()[-1].status.phase != "Failed":
            life.end_backup("Failed")
        if life.upgrade.failure:
            break
    assert len(life.backups()) == 3
    assert gen.present(life.upgrade.failure).reason == "PreUpgradeBackupFailed"
    assert (life.gone, life.version) == ([], OLD)


async def test_a_change_that_is_reverted_in_time_has_no_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch, **WITH_BACKUP)
    life.ask_for(version=NEW)
    await life.until("Snapshot")
    life.ask_for(version=OLD)
    await life.until_idle()
    assert life.gone == []
    assert gen.present(life.status.release).version == OLD


async def test_a_pause_does_not_count_for_the_step_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    life = await serving(monkeypatch)
    life.broken = frozenset({NEW})
    life.ask_for(version=NEW)
    await life.until("Rolling")
    await life.on(3)
    life.ask_for(paused=True)
    await life.turn()
    await life.later(timedelta(hours=2))
    assert (await life.turn(), life.writes) == (await life.turn(), [])
    life.ask_for(paused=False)
    await life.on(5)
    assert life.upgrade.failure is None
    assert life.gone == ["x-2"]


async def test_a_second_target_replaces_the_first_immediately(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch)
    life.ask_for(version=NEW)
    while not life.gone:
        await life.on()
    life.ask_for(version=NEWER)
    await life.until_idle()
    assert (life.status.current_version, life.gone.count("x-0")) == (NEWER, 1)


WITH_JOBS: dict[str, Any] = {"upgrade": {"jwtAuthRole": "upgrader"}}


async def run_until_jobs(life: UpgradeLife, jobs: int) -> None:
    """Continue until that number of step-down Jobs was created."""
    for _ in range(40):
        await life.on()
        if len(life.jobs()) >= jobs:
            return
    raise AssertionError(f"{life.jobs()} after 40 passes")


async def test_a_job_steps_the_leader_down_before_its_pod_is_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch, **WITH_JOBS)
    life.ask_for(version=NEW)
    await run_until_jobs(life, 1)
    assert life.gone == ["x-2", "x-1"]
    await life.on(3)
    assert life.gone == ["x-2", "x-1"]
    life.end_job("Complete")
    life.hand_over()
    await life.on()
    assert life.upgrade.step_down_job is None
    await life.until_idle()
    assert life.gone == ["x-2", "x-1", "x-0"]
    assert len(life.jobs()) == 1


async def test_a_leader_that_is_elected_again_is_stepped_down_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch, **WITH_JOBS)
    life.ask_for(version=NEW)
    await run_until_jobs(life, 1)
    # It stepped down, and was elected again before the next observation.
    life.end_job("Complete")
    await run_until_jobs(life, 2)
    await life.on(5)
    assert len(life.jobs()) == 2
    assert life.upgrade.failure is None
    life.end_job("Complete")
    life.hand_over()
    await life.until_idle()
    assert life.gone == ["x-2", "x-1", "x-0"]
    assert len(life.jobs()) == 2


async def test_a_leader_that_does_not_step_down_is_a_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = await serving(monkeypatch, **WITH_JOBS)
    life.ask_for(version=NEW)
    await run_until_jobs(life, 1)
    await life.later(timedelta(seconds=60))
    await life.until("Failed")
    assert gen.present(life.upgrade.failure).reason == "StepDownTimeout"
    assert life.gone == ["x-2", "x-1"]
