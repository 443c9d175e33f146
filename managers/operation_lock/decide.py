"""Decisions about the operation lock. Pure; called by managers.operation_lock.client.

| current lock | result |
|---|---|
| none | acquired, with the next epoch |
| same operation and holder | acquired: acquiredAt, renewedAt and epoch do not change |
| another holder | refused, unless it is overridden; a Restore is never overridden |

A lock does not expire. It ends when its holder releases it, or when a caller has evidence that the
holder no longer exists. A timeout is no evidence: the job of an inactive holder may still write.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from contracts.api.cluster.status_backup import Operation, OperationLock

RENEWAL: Final = timedelta(minutes=1)
"""Age of `renewedAt` after which it is updated; the field is only informational."""
PRECEDENCE: Final[tuple[Operation, ...]] = ("Restore", "Upgrade", "Backup")
"""Order of waiting operations. A running operation is never interrupted."""


def held_by_another(lock: OperationLock | None, holder: str) -> str:
    """Return a message with the other holder of the lock; "" if there is none."""
    if lock is None or lock.holder == holder:
        return ""
    return f"{lock.operation} of {lock.holder} holds the operation lock"


@dataclass(frozen=True, slots=True)
class LockRequest:
    """The requester of the lock, and its operation. `message` is for users.

    `after`: epoch of an earlier lock of the requester. A new lock gets a higher epoch, even if the
    status of the cluster was lost.

    Raises ValueError without a holder: no caller could release such a lock.
    """

    operation: Operation
    holder: str
    message: str = ""
    after: int = 0

    def __post_init__(self) -> None:
        if not self.holder or "/" not in self.holder:
            raise ValueError(f"{self.holder!r} is not a holder: it must be <kind>/<name>")


@dataclass(frozen=True, slots=True)
class Acquired:
    """The requester holds the lock. `overridden`: the lock that it replaced by force."""

    lock: OperationLock
    overridden: OperationLock | None = None


@dataclass(frozen=True, slots=True)
class LockConflict:
    """Another holder has the lock."""

    lock: OperationLock

    @property
    def message(self) -> str:
        """The holder, as a message for users."""
        detail = f" ({self.lock.message})" if self.lock.message else ""
        return f"{self.lock.operation} of {self.lock.holder} holds the operation lock{detail}"


@dataclass(frozen=True, slots=True)
class Free:
    """The lock is free. `released`: the lock that ends with this decision, if any."""

    released: OperationLock | None = field(default=None, compare=False)


def acquire(
    lock: OperationLock | None,
    epoch: int,
    request: LockRequest,
    now: datetime,
    *,
    force: bool = False,
) -> Acquired | LockConflict:
    """Decide who holds the lock after a request. `epoch`: the highest epoch so far."""
    timestamp = now.replace(microsecond=0)
    if lock is not None and is_held_by(lock, request):
        # No renewal because of the age: an operator that crashes after each write, and restarts
        # late, would renew the lock forever.
        message = request.message or None
        return Acquired(lock if lock.message == message else _renewed(lock, request, timestamp))
    if lock is not None and not (force and lock.operation != "Restore"):
        return LockConflict(lock)
    new = OperationLock(
        operation=request.operation,
        holder=request.holder,
        epoch=max(epoch, request.after, lock.epoch if lock else 0) + 1,
        message=request.message or None,
        acquired_at=timestamp,
        renewed_at=timestamp,
    )
    return Acquired(new, overridden=lock)


def check(lock: OperationLock | None, request: LockRequest) -> Acquired | LockConflict | Free:
    """Decide whether the requester still holds the lock that it acquired."""
    if lock is None:
        return Free()
    return Acquired(lock) if is_held_by(lock, request) else LockConflict(lock)


def renew(
    lock: OperationLock | None, request: LockRequest, now: datetime
) -> Acquired | LockConflict | Free:
    """Renew the lock if the requester still holds it; a lost lock is not acquired again."""
    current = check(lock, request)
    if not isinstance(current, Acquired):
        return current
    return Acquired(_renewed(current.lock, request, now.replace(microsecond=0)))


def release(
    lock: OperationLock | None, holder: str, epoch: int | None = None
) -> Free | LockConflict:
    """Release the lock of a holder; the lock of another holder is kept.

    With `epoch`, the lock of a later holder with the same name is kept, too.
    """
    if lock is None:
        return Free()
    is_holder = lock.holder == holder and epoch in (None, lock.epoch)
    return Free(lock) if is_holder else LockConflict(lock)


def first_in_line(operation: Operation, waiting: Collection[Operation]) -> Operation | None:
    """Return the waiting operation that precedes `operation`; None if `operation` may start."""
    ahead = PRECEDENCE[: PRECEDENCE.index(operation)]
    return next((candidate for candidate in ahead if candidate in waiting), None)


def is_held_by(lock: OperationLock, request: LockRequest) -> bool:
    """Return whether the requester holds the lock, even if another process acquired it."""
    return (lock.operation, lock.holder) == (request.operation, request.holder)


def _renewed(lock: OperationLock, request: LockRequest, timestamp: datetime) -> OperationLock:
    message = request.message or None
    is_recent = lock.renewed_at is not None and timestamp - lock.renewed_at < RENEWAL
    # If the clock was set back, renewals must continue before it reaches the old time.
    is_plausible = lock.renewed_at is not None and lock.renewed_at <= timestamp
    if message == lock.message and is_recent and is_plausible:
        return lock
    return lock.model_copy(update={"message": message, "renewed_at": timestamp})
