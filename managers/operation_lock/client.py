"""Acquires, renews and releases the operation lock, by compare-and-swap.

Every decision uses a fresh read, and is written only if the cluster has not changed since the read.
If two writers read the same free lock, the API server accepts one write, and the other writer then
reads the lock of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import structlog
from pydantic import ValidationError

from contracts.api.cluster.status_backup import OperationLock
from contracts.api.group import CLUSTERS
from managers.operation_lock.decide import (
    Acquired,
    Free,
    LockConflict,
    LockRequest,
    acquire,
    check,
    release,
    renew,
)
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import Conflict, NotFound, PatchFailed, TerminalError, Transient
from runtime.types import Object, ObjectKey, resource_version_of, uid_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

LOCK_MANAGER: Final = "openbao-operator-lock"
TRIES: Final = 5
"""Write attempts with a conflict before the reconcile fails."""


class OtherClusterError(Transient):
    """The cluster of that name has another UID than requested."""


Answer = TypeVar("Answer", bound=Acquired | LockConflict | Free)

Force = Callable[[OperationLock], bool]
"""Returns whether a lock may be overridden; called for each lock that is read."""


@dataclass(frozen=True, slots=True)
class _LockSnapshot:
    """The result of one fresh read."""

    live: Object
    lock: OperationLock | None
    epoch: int


class OperationLocks:
    """The locks of all clusters.

    Methods raise NotFound if there is no cluster of that name, OtherClusterError if it has another
    UID, Transient after too many conflicts, and other errors of the client. After a TransportError
    it is unknown whether the write succeeded. A repeated call is safe, because the name identifies
    the holder.
    """

    def __init__(self, client: Client, clusters: Cache, clock: Clock) -> None:
        self._client = client
        self._clusters = clusters
        self._clock = clock

    async def acquire(
        self, key: ObjectKey, request: LockRequest, *, uid: str, force: Force | None = None
    ) -> Acquired | LockConflict:
        """Acquire the lock of a cluster; sends no write if the requester already holds it."""

        def decide(current: _LockSnapshot) -> Acquired | LockConflict:
            forced = current.lock is not None and force is not None and force(current.lock)
            now = self._clock.now()
            return acquire(current.lock, current.epoch, request, now, force=forced)

        return await self._compare_and_swap(key, uid, decide, request.holder)

    async def check(
        self, key: ObjectKey, request: LockRequest, *, uid: str
    ) -> Acquired | LockConflict | Free:
        """Read whether the requester still holds the lock, without a write."""
        return check((await self._read(key, uid)).lock, request)

    async def renew(
        self, key: ObjectKey, request: LockRequest, *, uid: str
    ) -> Acquired | LockConflict | Free:
        """Renew the lock that the requester holds; a lost one is not acquired again."""
        return await self._compare_and_swap(
            key,
            uid,
            lambda current: renew(current.lock, request, self._clock.now()),
            request.holder,
        )

    async def release(
        self, key: ObjectKey, holder: str, *, uid: str, epoch: int | None = None
    ) -> Free | LockConflict:
        """Release the lock. Keeps the lock of another holder; ignores a deleted cluster.

        `epoch`: release only the lock of this epoch, for callers that are not the holder.
        """
        try:
            return await self._compare_and_swap(
                key, uid, lambda current: release(current.lock, holder, epoch), holder
            )
        except (NotFound, OtherClusterError):
            return Free()

    async def _compare_and_swap(
        self, key: ObjectKey, uid: str, decide: Callable[[_LockSnapshot], Answer], holder: str
    ) -> Answer:
        for _ in range(TRIES):
            current = await self._read(key, uid)
            answer = decide(current)
            if isinstance(answer, LockConflict):
                _log(key, "operation lock is held by another", holder, answer.lock)
                return answer
            lock = answer.lock if isinstance(answer, Acquired) else None
            if lock == current.lock:
                return answer
            try:
                await self._write(key, current, lock)
            except (Conflict, PatchFailed):
                continue
            _log_change(key, current.lock, lock, holder)
            return answer
        raise Transient(f"{key} kept changing while its operation lock was written")

    async def _read(self, key: ObjectKey, uid: str) -> _LockSnapshot:
        live = await self._client.get(CLUSTERS, key)
        if uid_of(live) != uid:
            raise OtherClusterError(f"{CLUSTERS.kind} {key} no longer has uid {uid}")
        status = live.get("status") or {}
        return _LockSnapshot(
            live, _lock_in(key, status), int(status.get("operationLockEpoch") or 0)
        )

    async def _write(
        self, key: ObjectKey, current: _LockSnapshot, lock: OperationLock | None
    ) -> None:
        """Write or remove the whole lock.

        Raises Conflict or PatchFailed if the cluster changed since the read. A patch and not an
        apply: an apply would keep fields of the lock that another field manager owns, too.
        """
        ops: list[dict[str, Any]] = [
            {"op": "test", "path": "/metadata/uid", "value": uid_of(current.live)},
            {
                "op": "replace",
                "path": "/metadata/resourceVersion",
                "value": resource_version_of(current.live),
            },
        ]
        if "status" not in current.live:
            ops.append({"op": "add", "path": "/status", "value": {}})
        if lock is None:
            ops.append({"op": "remove", "path": "/status/operationLock"})
        else:
            ops += [
                {"op": "add", "path": "/status/operationLock", "value": lock.to_object()},
                {"op": "add", "path": "/status/operationLockEpoch", "value": lock.epoch},
            ]
        cluster = await self._client.json_patch(
            CLUSTERS, key, ops, field_manager=LOCK_MANAGER, subresource="status"
        )
        self._clusters.observe(cluster)


def _lock_in(key: ObjectKey, status: Object) -> OperationLock | None:
    """Read the lock of a stored status. Raises TerminalError: an unreadable lock is not free."""
    stored = status.get("operationLock")
    if stored is None:
        return None
    try:
        return OperationLock.model_validate(stored)
    except ValidationError as error:
        raise TerminalError(
            f"this version cannot read status.operationLock of {CLUSTERS.kind} {key} "
            f"({error.error_count()} errors): remove it if no job is running on the cluster"
        ) from None


def _log_change(
    key: ObjectKey, before: OperationLock | None, after: OperationLock | None, holder: str
) -> None:
    """Log a change of the holder; a renewal is not logged."""
    if after is None:
        if before is not None:
            _log(key, "operation lock released", holder, before)
    elif before is None:
        _log(key, "operation lock acquired", holder, after)
    elif before.epoch != after.epoch:
        _log(key, "operation lock taken by force", holder, before)


def _log(key: ObjectKey, event: str, holder: str, lock: OperationLock) -> None:
    """Write an audit record; at level debug if every check of a waiting requester repeats it."""
    emit = log.debug if lock.holder != holder and "held" in event else log.info
    emit(
        event,
        audit=True,
        event_type=event.replace(" ", "_"),
        cluster=str(key),
        holder=holder,
        operation=lock.operation,
        lock_holder=lock.holder,
        epoch=lock.epoch,
    )
