"""managers.backup.lost_locks: a lock whose holder is gone is freed, and no other one."""

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
    """A cluster whose operation lock is held."""
    return Bench(cluster().wanting(**spec).having(operationLock=lock), *backups)


def ended(name: str) -> Object:
    """A backup that has ended and did not give the lock back."""
    return {**by_hand(name), "status": {"phase": "Failed", "counted": True}}


def job(name: str) -> Object:
    """A Job that runs."""
    metadata = {"name": name, "namespace": gen.NAMESPACE, "uid": "j"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}


@pytest.mark.parametrize("run", LOST)
async def test_the_lock_of_a_holder_that_is_gone_is_freed(run: str) -> None:
    bench = locked(LOST[run])
    await bench.tick()
    assert bench.holder == ""


@pytest.mark.parametrize("run", LOST)
async def test_only_once_its_job_has_ended(run: str) -> None:
    bench = locked(LOST[run])
    bench.api.holding((JOB, job(f"{run}-gone")))
    assert gen.expect(Done, await bench.tick()).recheck_after == 5.0
    assert bench.holder == LOST[run]["holder"]
    bench.end_job(f"{run}-gone", "Failed")
    await bench.tick()
    assert bench.holder == ""


async def test_of_a_backup_that_has_ended_too() -> None:
    bench = locked(BACKUP, ended("gone"))
    await bench.tick()
    assert bench.holder == ""


async def test_of_a_backup_that_is_at_work_it_stays() -> None:
    bench = Bench(None, by_hand())
    await bench.run()
    await bench.tick()
    assert bench.holder == "openbaobackup/by-hand"


@pytest.mark.parametrize("phase", ["Validating", "Running", "Unknown", "Completed", "Failed"])
async def test_of_a_restore_that_is_there_it_stays_and_costs_no_request(phase: str) -> None:
    """Its own reconciler gives it back, whatever phase it is in."""
    bench = locked(RESTORE)
    bench.api.holding((RESTORES, restore("gone", phase)))
    await bench.tick()
    bench.api.calls.clear()
    await bench.tick()
    assert bench.api.asked == []
    assert bench.holder == RESTORE["holder"]


@pytest.mark.parametrize("run", LOST)
async def test_a_holder_that_the_cache_has_not_seen_yet_keeps_it(run: str) -> None:
    bench = locked(LOST[run])
    bench.sync()
    bench.api.holding((BACKUPS, by_hand("gone")), (RESTORES, restore("gone")))
    await bench.plan(KEY)
    assert bench.holder == LOST[run]["holder"]


@pytest.mark.parametrize("run", LOST)
async def test_an_object_of_that_name_that_is_of_another_cluster_is_not_the_holder(
    run: str,
) -> None:
    bench = locked(LOST[run])
    backup = {**by_hand("gone"), "spec": {"cluster": "y"}}
    bench.api.holding((BACKUPS, backup), (RESTORES, restore("gone", cluster="y")))
    await bench.tick()
    assert bench.holder == ""


async def test_that_of_an_upgrade_stays() -> None:
    bench = locked(UPGRADE)
    await bench.tick()
    assert bench.holder == UPGRADE["holder"]


async def test_when_nobody_knows_whether_the_holder_is_there_it_stays() -> None:
    bench = locked(RESTORE)
    bench.api.refuse("get OpenBaoRestore gone", TransportError("cut"))
    with pytest.raises(TransportError):
        await bench.tick()
    assert bench.holder == RESTORE["holder"]
    await bench.tick()
    assert bench.holder == ""


async def test_under_a_pause_it_stays() -> None:
    bench = locked(RESTORE, paused=True)
    await bench.tick()
    assert bench.holder == RESTORE["holder"]
    spec = {**bench.object(CLUSTERS, "x")["spec"], "paused": False}
    bench.change(CLUSTERS, "x", spec=spec)
    await bench.tick()
    assert bench.holder == ""


async def test_a_person_is_told_what_a_restore_did_not_do_any_more() -> None:
    bench = locked(RESTORE)
    await bench.settle()
    ((kind, reason, note),) = await bench.outside.told()
    assert (kind, reason) == ("Warning", "OperationLockFreed")
    assert "OpenBaoRestore gone" in note
    assert "delete all its pods at once" in note


async def test_nothing_is_told_of_a_lock_that_its_holder_gave_back_meanwhile() -> None:
    bench = locked(RESTORE)
    bench.sync()
    status = {**bench.object(CLUSTERS, "x")["status"]}
    del status["operationLock"]
    bench.change(CLUSTERS, "x", status=status)
    await bench.plan(KEY)
    assert await bench.outside.told() == []


async def test_the_lock_of_a_successor_of_the_same_name_is_not_taken_away() -> None:
    """The lock that was seen has gone, and a restore of that name took it anew."""
    bench = locked(RESTORE)
    bench.sync()
    status = {**bench.object(CLUSTERS, "x")["status"], "operationLock": {**RESTORE, "epoch": 4}}
    bench.change(CLUSTERS, "x", status=status)
    await bench.plan(KEY)
    assert bench.holder == RESTORE["holder"]
