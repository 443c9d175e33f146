"""Finds operation locks whose holder is gone, and releases them.

A backup has no finalizer, and a user can remove that of a restore; both leave a lock that is never
released. Called by managers.backup.schedule in every pass of a cluster; managers.operation_lock
writes the lock. An upgrade releases its own lock: its holder is the cluster.
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
from managers.operation_lock.decide import Free, backup_holder, restore_holder
from runtime.cache.cache import Cache
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, Resource, is_terminating, key_of, uid_of

JOB_RECHECK: Final = 5.0
"""Seconds until the Job of a deleted holder is read again."""
FREED: Final = "OperationLockFreed"


def _backup_answers(backup: Object) -> bool:
    status = backup.get("status") or {}
    return not is_terminating(backup) and status.get("phase") not in TERMINAL


def _restore_answers(_: Object) -> bool:
    # Its own reconciler releases the lock, when it ends and when it is deleted.
    return True


@dataclass(frozen=True, slots=True)
class _Holders:
    """A kind of object that takes the lock under its own name."""

    resource: Resource
    prefix: str
    run: names.Run
    cache: Callable[[BackupCaches], Cache]
    answers: Callable[[Object], bool]
    """Whether an object of the kind releases the lock itself."""
    warning: str = ""
    """A warning for the user about an object that does not; "" for none."""


_HOLDERS: Final = (
    _Holders(BACKUPS, backup_holder(""), "backup", lambda at: at.backups, _backup_answers),
    _Holders(
        RESTORES,
        restore_holder(""),
        "restore",
        lambda at: at.restores,
        _restore_answers,
        "status.operationLock was freed: OpenBaoRestore {name} was removed before it had ended, "
        "and its Job is over. Look at the data of the cluster: if they are those of the snapshot, "
        "delete all its pods at once, which the restore would have done",
    ),
)


@dataclass(frozen=True, slots=True)
class _HeldLock:
    """A lock and the object that holds it."""

    holders: _Holders
    key: ObjectKey
    holder: str
    epoch: int


class LostLocks:
    """Releases the lock of a cluster once its holder is gone and no Job of it runs any more."""

    def __init__(self, caches: BackupCaches, dependencies: BackupDependencies) -> None:
        self._caches = caches
        self._client = dependencies.client
        self._jobs = dependencies.jobs
        self._locks = dependencies.locks
        self._events = dependencies.events

    async def free(self, live: Object) -> float | None:
        """Release the lock of a cluster whose holder no longer exists.

        Returns the seconds until the Job has to be read again. Raises what the client raises:
        as long as it is unknown whether the holder exists, the lock stays.
        """
        held = _held(live)
        if held is None or await self._is_answered_for(held, live):
            return None
        job = ObjectKey(held.key.namespace, names.run_job(held.holders.run, held.key.name))
        status = await self._jobs.look(job, "", "")
        if status is not None and status.state == "Active":
            return JOB_RECHECK
        left = await self._locks.release(
            key_of(live), held.holder, uid=uid_of(live), epoch=held.epoch
        )
        if isinstance(left, Free) and left.released is not None and held.holders.warning:
            note = held.holders.warning.format(name=held.key.name)
            self._events.event(live, "Warning", FREED, note)
        return None

    async def _is_answered_for(self, held: _HeldLock, live: Object) -> bool:
        """Return whether the holder releases the lock itself; a fresh read confirms a no."""
        holders, cluster = held.holders, str(key_of(live))
        cached = holders.cache(self._caches).get(held.key)
        if cached is not None and _is_live_holder(holders, cached, cluster):
            return True
        try:
            fresh = await self._client.get(holders.resource, held.key)
        except NotFound:
            return False
        return _is_live_holder(holders, fresh, cluster)


def _is_live_holder(holders: _Holders, obj: Object, cluster: str) -> bool:
    """Return whether an object is the holder: a reused name may belong to another cluster."""
    return cluster in cluster_named(obj) and holders.answers(obj)


def _held(live: Object) -> _HeldLock | None:
    """Return the lock of a cluster, if an object of a kind in the table holds it."""
    lock = (live.get("status") or {}).get("operationLock") or {}
    holder, epoch = str(lock.get("holder") or ""), int(lock.get("epoch") or 0)
    for holders in _HOLDERS:
        if holder.startswith(holders.prefix):
            key = ObjectKey(key_of(live).namespace, holder.removeprefix(holders.prefix))
            return _HeldLock(holders, key, holder, epoch)
    return None
