"""The operation lock and status.backup on a real API server: one writer wins, no field is lost."""

import asyncio
from typing import Any

import pytest

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_backup import BackupStatus
from contracts.api.group import CLUSTERS
from managers.backup.cluster_status import BackupRecord
from managers.cluster.apply.status_writer import STATUS_MANAGER
from managers.operation_lock.client import TRIES, OperationLocks
from managers.operation_lock.decide import Acquired, Free, LockConflict, LockRequest
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.types import Object, ObjectKey, uid_of
from tests.contracts.api.clusters import cluster_object
from tests.gen.api import StillInformer

MANY = 8
# The successive writes of a status pass. With one write of another client they are fewer than the
# retries of a writer; otherwise the result would depend on timing.
READY = (2, 3, 4)
RESTORE = LockRequest("Restore", "openbaorestore/monday", "ns/monday")
pytestmark = pytest.mark.usefixtures("control_plane_with_crds")


@pytest.fixture
async def live_cluster(client: Client, namespace: str) -> Object:
    body = cluster_object("x")
    body["metadata"]["namespace"] = namespace
    return await client.create(CLUSTERS, body, field_manager="itest")


def locks(client: Client) -> OperationLocks:
    return OperationLocks(client, StillInformer(CLUSTERS), SystemClock())


def claim(number: int) -> LockRequest:
    return LockRequest("Backup", f"openbaobackup/{number}", f"Job backup-{number}")


async def status_of(client: Client, cluster: Object) -> dict[str, Any]:
    live = await client.get(CLUSTERS, key(cluster))
    status: dict[str, Any] = live.get("status") or {}
    return status


def key(cluster: Object) -> ObjectKey:
    return ObjectKey(cluster["metadata"]["namespace"], "x")


async def test_one_of_many_concurrent_requests_gets_the_lock(
    client: Client, live_cluster: Object
) -> None:
    answers = await asyncio.gather(
        *(
            locks(client).acquire(key(live_cluster), claim(n), uid=uid_of(live_cluster))
            for n in range(MANY)
        )
    )
    winners = [answer.lock.holder for answer in answers if isinstance(answer, Acquired)]
    assert len(winners) == 1
    assert {answer.lock.holder for answer in answers if isinstance(answer, LockConflict)} == set(
        winners
    )
    status = await status_of(client, live_cluster)
    assert status["operationLock"]["holder"] == winners[0]
    assert status["operationLockEpoch"] == 1


async def test_manual_edits_of_the_lock_are_removed_with_it(
    client: Client, live_cluster: Object
) -> None:
    operation_locks, place, uid = locks(client), key(live_cluster), uid_of(live_cluster)
    await operation_locks.acquire(place, claim(1), uid=uid)
    edit = [{"op": "replace", "path": "/status/operationLock/message", "value": "by hand"}]
    await client.json_patch(CLUSTERS, place, edit, field_manager="kubectl", subresource="status")
    assert await operation_locks.release(place, claim(1).holder, uid=uid) == Free()
    assert "operationLock" not in await status_of(client, live_cluster)


async def test_no_writer_removes_fields_of_another(client: Client, live_cluster: Object) -> None:
    """The status pass, the lock and the backup record write to one status concurrently."""
    assert len(READY) + 1 < TRIES
    operation_locks, place, uid = locks(client), key(live_cluster), uid_of(live_cluster)
    record = BackupRecord(client, StillInformer(CLUSTERS))

    async def passes() -> None:
        for ready in READY:
            status = ClusterStatus(ready_replicas=ready).to_object()
            body = {
                "apiVersion": CLUSTERS.api_version,
                "kind": CLUSTERS.kind,
                "metadata": {"name": "x", "namespace": place.namespace, "uid": uid},
                "status": status,
            }
            await client.apply(
                CLUSTERS, body, field_manager=STATUS_MANAGER, force=True, subresource="status"
            )

    def failed(status: BackupStatus) -> BackupStatus:
        count = (status.consecutive_failures or 0) + 1
        return status.model_copy(
            update={"consecutive_failures": count, "last_failure_reason": "StorageFailed"}
        )

    def succeeded(status: BackupStatus) -> BackupStatus:
        return status.model_copy(update={"consecutive_failures": 0, "last_failure_reason": None})

    await asyncio.gather(
        passes(),
        operation_locks.acquire(place, RESTORE, uid=uid),
        record.change(live_cluster, failed),
    )
    live = await client.get(CLUSTERS, place)
    await asyncio.gather(record.change(live, failed), passes())
    status = await status_of(client, live_cluster)
    assert status["readyReplicas"] == 4
    assert status["operationLock"]["holder"] == RESTORE.holder
    assert status["backup"]["consecutiveFailures"] == 2
    await record.change(await client.get(CLUSTERS, place), succeeded)
    status = await status_of(client, live_cluster)
    assert status["backup"] == {"consecutiveFailures": 0}
    assert status["operationLock"]["holder"] == RESTORE.holder
