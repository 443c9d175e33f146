"""Taking, renewing and releasing the operation lock, by compare-and-swap.

Every decision is made on a fresh read and written only if the cluster is still the one that was
read: of two that see the same free lock the API server lets one write. What the loser reads next is
the lock of the winner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import structlog
from pydantic import ValidationError

from contracts.api.cluster.status_backup import OperationLock
from contracts.api.group import CLUSTERS
from managers.operation_lock import decide as plan
from managers.operation_lock.decide import Acquired, Free, HeldBy, LockRequest
from runtime.cache.cache import Cache
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import Conflict, NotFound, PatchFailed, TerminalError, Transient
from runtime.types import Object, ObjectKey, resource_version_of, uid_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

LOCK_MANAGER: Final = "openbao-operator-lock"
TRIES: Final = 5
"""Writes that lose against another write of the same cluster, before the pass is given up."""


class OtherClusterError(Transient):
    """The cluster of that name is another one than was asked about."""


Answer = TypeVar("Answer", bound=Acquired | HeldBy | Free)

Force = Callable[[OperationLock], bool]
"""Whether that lock may be overridden; asked anew about each lock that is found."""


@dataclass(frozen=True, slots=True)
class _LockSnapshot:
    """One fresh read."""

    live: Object
    lock: OperationLock | None
    epoch: int


class OperationLocks:
    """The locks of all clusters.

    Methods raise NotFound when there is no cluster of that name, OtherClusterError when it has
    another uid, Transient when it changes faster than it can be written, and what else the client
    raises. After a TransportError the lock may be held or not: ask again, a holder is recognised
    by its name.
    """

    def __init__(self, client: Client, clusters: Cache, clock: Clock) -> None:
        self._client = client
        self._clusters = clusters
        self._clock = clock

    async def acquire(
        self, key: ObjectKey, request: LockRequest, *, uid: str, force: Force | None = None
    ) -> Acquired | HeldBy:
        """Take the lock of a cluster, or renew it if the claimant holds it already."""

        def decide(current: _LockSnapshot) -> Acquired | HeldBy:
            forced = current.lock is not None and force is not None and force(current.lock)
            now = self._clock.now()
            return plan.acquire(current.lock, current.epoch, request, now, force=forced)

        return await self._compare_and_swap(key, uid, decide, request.holder)

    async def renew(
        self, key: ObjectKey, request: LockRequest, *, uid: str
    ) -> Acquired | HeldBy | Free:
        """Say that the claimant still holds the lock; one that was lost is not taken again."""
        return await self._compare_and_swap(
            key,
            uid,
            lambda current: plan.renew(current.lock, request, self._clock.now()),
            request.holder,
        )

    async def release(
        self, key: ObjectKey, holder: str, *, uid: str, epoch: int | None = None
    ) -> Free | HeldBy:
        """Let go of the lock. Nothing happens to what another holds, nor if the cluster is gone.

        `epoch`: only the lock that was given under it; for whoever is not the holder.
        """
        try:
            return await self._compare_and_swap(
                key, uid, lambda current: plan.release(current.lock, holder, epoch), holder
            )
        except (NotFound, OtherClusterError):
            return Free()

    async def _compare_and_swap(
        self, key: ObjectKey, uid: str, decide: Callable[[_LockSnapshot], Answer], holder: str
    ) -> Answer:
        for _ in range(TRIES):
            current = await self._read(key, uid)
            answer = decide(current)
            if isinstance(answer, HeldBy):
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
        raise Transient(f"{key} changed again and again while its operation lock was written")

    async def _read(self, key: ObjectKey, uid: str) -> _LockSnapshot:
        live = await self._client.get(CLUSTERS, key)
        if uid_of(live) != uid:
            raise OtherClusterError(f"{CLUSTERS.kind} {key} is not the one of uid {uid} any more")
        status = live.get("status") or {}
        return _LockSnapshot(
            live, _lock_in(key, status), int(status.get("operationLockEpoch") or 0)
        )

    async def _write(
        self, key: ObjectKey, current: _LockSnapshot, lock: OperationLock | None
    ) -> None:
        """Write all of the lock, or take all of it away, whoever wrote parts of it.

        Raises Conflict or PatchFailed when the cluster is not as it was read. A patch and no apply:
        an apply leaves fields behind that somebody else owns too, and with them the lock.
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
        written = await self._client.json_patch(
            CLUSTERS, key, ops, field_manager=LOCK_MANAGER, subresource="status"
        )
        self._clusters.observe(written)


def _lock_in(key: ObjectKey, status: Object) -> OperationLock | None:
    """Read the lock of a stored status; one that nobody can read is not the same as none."""
    stored = status.get("operationLock")
    if stored is None:
        return None
    try:
        return OperationLock.model_validate(stored)
    except ValidationError as error:
        raise TerminalError(
            f"status.operationLock of {CLUSTERS.kind} {key} is no lock that this version can read "
            f"({error.error_count()} errors): remove it if no job works on the cluster"
        ) from None


def _log_change(
    key: ObjectKey, before: OperationLock | None, after: OperationLock | None, holder: str
) -> None:
    """Say who got or gave the lock; a renewal is no news."""
    if after is None:
        if before is not None:
            _log(key, "operation lock released", holder, before)
    elif before is None:
        _log(key, "operation lock acquired", holder, after)
    elif before.epoch != after.epoch:
        _log(key, "operation lock taken by force", holder, before)


def _log(key: ObjectKey, event: str, holder: str, lock: OperationLock) -> None:
    """One audit record. What repeats with every look of somebody who waits is for debugging."""
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
