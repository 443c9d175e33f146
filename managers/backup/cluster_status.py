"""Writes `status.backup` of a cluster, by compare-and-swap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pydantic import ValidationError

from contracts.api.cluster.status_backup import BackupStatus
from contracts.api.group import CLUSTERS
from managers.backup.status import STATUS_MANAGER
from runtime.apply.status_client import StatusClient
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.errors import Conflict, Transient
from runtime.types import Object, ObjectKey, resource_version_of, uid_of

TRIES: Final = 5
PROOF: Final = "restoreTest"
"""The field of `status.backup` that managers.restore_test writes."""

Change = Callable[[BackupStatus], BackupStatus]


def backup_status_of(live: Object) -> BackupStatus:
    """Return `status.backup` of a cluster; empty if it is invalid."""
    status = live.get("status")
    part: Any = status.get("backup") if isinstance(status, dict) else None
    try:
        return BackupStatus.model_validate(part or {})
    except ValidationError:
        return BackupStatus()


class BackupRecord:
    """Changes `status.backup` of clusters."""

    def __init__(self, client: Client, clusters: Cache) -> None:
        self._client = client
        self._clusters = clusters
        self._statuses = StatusClient(client, CLUSTERS, STATUS_MANAGER, clusters)

    async def change(self, live: Object, change: Change) -> Object:
        """Apply a change to the stored status and return the updated cluster.

        `change` may be called several times, each time with a fresh status. If the cached status
        would not change, no request is made. Raises NotFound if the cluster does not exist, and
        Transient if another writer keeps changing it.
        """
        if change(backup_status_of(live)) == backup_status_of(live):
            return live
        key, uid = ObjectKey(live["metadata"]["namespace"], live["metadata"]["name"]), uid_of(live)
        for _ in range(TRIES):
            fresh = await self._client.get(CLUSTERS, key)
            if uid_of(fresh) != uid:
                raise Transient(f"{CLUSTERS.kind} {key} no longer has the UID {uid}")
            before = backup_status_of(fresh)
            after = change(before)
            if after == before:
                self._clusters.observe(fresh)
                return fresh
            try:
                return await self._write(key, fresh, after)
            except Conflict:
                continue
        raise Transient(f"{key}: {TRIES} conflicts while writing status.backup")

    async def _write(self, key: ObjectKey, fresh: Object, after: BackupStatus) -> Object:
        fields = {name: value for name, value in after.to_object().items() if name != PROOF}
        version = resource_version_of(fresh)
        return await self._statuses.apply(
            key, uid_of(fresh), {"backup": fields}, resource_version=version
        )
