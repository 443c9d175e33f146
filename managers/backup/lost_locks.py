"""Finds operation locks whose holder no longer exists, and releases them.

A backup has no finalizer, and a user can remove that of a restore; in both cases no other code
releases the lock. managers.backup.schedule calls this in every reconcile of a cluster;
managers.operation_lock writes the lock. An upgrade releases its own lock: its holder is the
cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from contracts.api.backup import TERMINAL
from contracts.api.group import BACKUPS, RESTORES
from contracts.naming import names
from managers.backup.caches import BackupCaches, cluster_named
from managers.backup.dependencies import BackupDependencies
from managers.operation_lock.decide import Free
from managers.operation_lock.holders import backup_holder, restore_holder
from runtime.cache.cache import Cache
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, Resource, is_terminating, key_of, uid_of

JOB_RECHECK: Final = 5.0
"""Seconds until the Job of a deleted holder is checked again."""
FREED: Final = "OperationLockFreed"


def _backup_releases(backup: Object) -> bool:
    status = backup.get("status") or {}
    return not is_terminating(backup) and status.get("phase") not in TERMINAL


def _restore_releases(_: Object) -> bool:
    # The restore reconciler releases the lock when the restore ends or is deleted.
    return True


@dataclass(frozen=True, slots=True)
class _HolderKind:
    """A kind of object that takes the lock."""

    resource: Resource
    prefix: str
    run: names.Run
    cache: Callable[[BackupCaches], Cache]
    releases: Callable[[Object], bool]
    """Whether the reconciler of this object will release the lock."""
    warning: str = ""
    """The event for a lock that is released here; "" for none."""


_HOLDER_KINDS: Final = (
    _HolderKind(
        BACKUPS, backup_holder(""), "backup", lambda caches: caches.backups, _backup_releases
    ),
    _HolderKind(
        RESTORES,
        restore_holder(""),
        "restore",
        lambda caches: caches.restores,
        _restore_releases,
        "status.operationLock was released, because OpenBaoRestore {name} was deleted before it "
        "ended and its Job has ended. Check the data of the cluster: if it is that of the "
        "snapshot, delete all its pods at once, as the restore would have done",
    ),
)


@dataclass(frozen=True, slots=True)
class _HeldLock:
    """A lock and the object that holds it."""

    kind: _HolderKind
    key: ObjectKey
    holder: str
    epoch: int


class LostLocks:
    """Releases the lock of a cluster when its holder no longer exists and its Job has ended."""

    def __init__(self, caches: BackupCaches, dependencies: BackupDependencies) -> None:
        self._caches = caches
        self._client = dependencies.client
        self._jobs = dependencies.jobs
        self._locks = dependencies.locks
        self._events = dependencies.events

    async def free(self, live: Object) -> float | None:
        """Release the lock of a cluster whose holder no longer exists.

        Returns the seconds until the Job has to be checked again. Raises what the client raises:
        the lock stays while it is unknown whether the holder exists.
        """
        lock = _held_lock(live)
        if lock is None or await self._has_live_holder(lock, live):
            return None
        job_key = ObjectKey(lock.key.namespace, names.run_job(lock.kind.run, lock.key.name))
        job = await self._jobs.get(job_key, "", "")
        if job is not None and job.state == "Active":
            return JOB_RECHECK
        result = await self._locks.release(
            key_of(live), lock.holder, uid=uid_of(live), epoch=lock.epoch
        )
        if isinstance(result, Free) and result.released is not None and lock.kind.warning:
            message = lock.kind.warning.format(name=lock.key.name)
            self._events.event(live, "Warning", FREED, message)
        return None

    async def _has_live_holder(self, lock: _HeldLock, live: Object) -> bool:
        """Return whether the holder will release the lock; False only after a fresh read."""
        kind, cluster = lock.kind, str(key_of(live))
        cached = kind.cache(self._caches).get(lock.key)
        if cached is not None and _is_live_holder(kind, cached, cluster):
            return True
        try:
            fresh = await self._client.get(kind.resource, lock.key)
        except NotFound:
            return False
        return _is_live_holder(kind, fresh, cluster)


def _is_live_holder(kind: _HolderKind, obj: Object, cluster: str) -> bool:
    """Return whether an object is the holder. Its name may be reused for another cluster."""
    return cluster in cluster_named(obj) and kind.releases(obj)


def _held_lock(live: Object) -> _HeldLock | None:
    """Return the lock of a cluster, if an object of a kind in the table holds it."""
    lock = (live.get("status") or {}).get("operationLock") or {}
    holder, epoch = str(lock.get("holder") or ""), int(lock.get("epoch") or 0)
    for kind in _HOLDER_KINDS:
        if holder.startswith(kind.prefix):
            key = ObjectKey(key_of(live).namespace, holder.removeprefix(kind.prefix))
            return _HeldLock(kind, key, holder, epoch)
    return None
