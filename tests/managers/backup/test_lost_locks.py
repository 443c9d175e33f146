"""managers.backup.lost_locks: only a lock whose holder no longer exists is released."""

from typing import Any

import pytest

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from runtime.builtin_kinds import JOB
from runtime.errors import TransportError
from runtime.outcome import Done
from runtime.types import Object
from tests import gen
from tests.managers.backup.bench import KEY, Bench, by_hand, cluster, restore

BACKUP = {"operation": "Backup", "holder": "openbaobackup/gone", "epoch": 3}
RESTORE = {"operation": "Restore", "holder": "openbaorestore/gone", "epoch": 3}
UPGRADE = {"operation": "Upgrade", "holder": "openbaocluster/upgrade", "epoch": 3}
LOST = {"backup": BACKUP, "restore": RESTORE}


def locked(lock: Object, *backups: Object, **spec: Any) -> Bench:
    """Return a cluster with this operation lock."""
    return Bench(cluster().with_spec(**spec).with_status(operationLock=lock), *backups)


def ended(name: str) -> Object:
    """Return a backup that has ended and did not release the lock."""
    return {**by_hand(name), "status": {"phase": "Failed", "counted": True}}


def job(name: str) -> Object:
    """Return a running Job."""
    metadata = {"name": name, "namespace": gen.NAMESPACE, "uid": "j"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}


@pytest.mark.parametrize("run", LOST)
async def test_the_lock_of_a_deleted_holder_is_released(run: str) -> None:
    bench = locked(LOST[run])
    await bench.tick()
    assert bench.holder == ""


@pytest.mark.parametrize("run", LOST)
async def test_the_lock_is_released_only_after_the_job_ended(run: str) -> None:
    bench = locked(LOST[run])
    bench.api.with_objects((JOB, job(f"{run}-gone")))
    assert gen.expect(Done, await bench.tick()).recheck_after == 5.0
    assert bench.holder == LOST[run]["holder"]
    bench.end_job(f"{run}-gone", "Failed")
    await bench.tick()
    assert bench.holder == ""


async def test_the_lock_of_a_finished_backup_is_released() -> None:
    bench = locked(BACKUP, ended("gone"))
    await bench.tick()
    assert bench.holder == ""


async def test_the_lock_of_a_running_backup_stays() -> None:
    bench = Bench(None, by_hand())
    await bench.run()
    await bench.tick()
    assert bench.holder == "openbaobackup/by-hand"


@pytest.mark.parametrize("phase", ["Validating", "Running", "Unknown", "Completed", "Failed"])
async def test_the_lock_of_an_existing_restore_stays_without_requests(phase: str) -> None:
    """The restore reconciler releases the lock in every phase."""
    bench = locked(RESTORE)
    bench.api.with_objects((RESTORES, restore("gone", phase)))
    await bench.tick()
    bench.api.calls.clear()
    await bench.tick()
    assert bench.api.take_requests() == []
    assert bench.holder == RESTORE["holder"]


@pytest.mark.parametrize("run", LOST)
async def test_the_lock_of_a_holder_that_is_not_in_the_cache_yet_stays(run: str) -> None:
    bench = locked(LOST[run])
    bench.sync()
    bench.api.with_objects((BACKUPS, by_hand("gone")), (RESTORES, restore("gone")))
    await bench.plan(KEY)
    assert bench.holder == LOST[run]["holder"]


@pytest.mark.parametrize("run", LOST)
async def test_an_object_of_another_cluster_is_not_the_holder(
    run: str,
) -> None:
    bench = locked(LOST[run])
    backup = {**by_hand("gone"), "spec": {"cluster": "y"}}
    bench.api.with_objects((BACKUPS, backup), (RESTORES, restore("gone", cluster="y")))
    await bench.tick()
    assert bench.holder == ""


async def test_the_lock_of_an_upgrade_stays() -> None:
    bench = locked(UPGRADE)
    await bench.tick()
    assert bench.holder == UPGRADE["holder"]


async def test_the_lock_stays_while_the_holder_is_unknown() -> None:
    bench = locked(RESTORE)
    bench.api.refuse("get OpenBaoRestore gone", TransportError("cut"))
    with pytest.raises(TransportError):
        await bench.tick()
    assert bench.holder == RESTORE["holder"]
    await bench.tick()
    assert bench.holder == ""


async def test_the_lock_stays_during_a_pause() -> None:
    bench = locked(RESTORE, paused=True)
    await bench.tick()
    assert bench.holder == RESTORE["holder"]
    spec = {**bench.object(CLUSTERS, "x")["spec"], "paused": False}
    bench.change(CLUSTERS, "x", spec=spec)
    await bench.tick()
    assert bench.holder == ""


async def test_an_event_says_what_the_restore_did_not_do() -> None:
    bench = locked(RESTORE)
    await bench.settle()
    ((kind, reason, note),) = await bench.outside.flush_events()
    assert (kind, reason) == ("Warning", "OperationLockFreed")
    assert "OpenBaoRestore gone" in note
    assert "delete all its pods at once" in note


async def test_a_lock_that_its_holder_released_causes_no_event() -> None:
    bench = locked(RESTORE)
    bench.sync()
    status = {**bench.object(CLUSTERS, "x")["status"]}
    del status["operationLock"]
    bench.change(CLUSTERS, "x", status=status)
    await bench.plan(KEY)
    assert await bench.outside.flush_events() == []


async def test_the_lock_of_a_new_restore_of_the_same_name_stays() -> None:
    """The lock in the cache was released, and another restore of that name took it."""
    bench = locked(RESTORE)
    bench.sync()
    status = {**bench.object(CLUSTERS, "x")["status"], "operationLock": {**RESTORE, "epoch": 4}}
    bench.change(CLUSTERS, "x", status=status)
    await bench.plan(KEY)
    assert bench.holder == RESTORE["holder"]
