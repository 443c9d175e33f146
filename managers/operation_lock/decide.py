"""Who gets the operation lock: decisions about the lock that is there. Pure.

| the lock now | becomes |
|---|---|
| nobody's | ours, with the next epoch |
| ours (same operation and holder) | renewed: acquiredAt and epoch stay |
| of another | refused, unless it is overridden; a Restore is never overridden |

There is no expiry: a lock ends when its holder releases it, or when somebody proves that the holder
is gone. Time alone proves nothing, for the job of a silent holder may still be writing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from contracts.api.cluster.status_backup import Operation, OperationLock

RENEWAL: Final = timedelta(minutes=1)
"""How old `renewedAt` may grow before it is written again; it is there for people to read."""
PRECEDENCE: Final[tuple[Operation, ...]] = ("Restore", "Upgrade", "Backup")
"""Who goes first when several wait. What runs already is waited for and never interrupted."""
UPGRADE_HOLDER: Final = "openbaocluster/upgrade"


def backup_holder(name: str) -> str:
    """How the OpenBaoBackup of that name calls itself: the same after a restart of the operator."""
    return f"openbaobackup/{name}"


def restore_holder(name: str) -> str:
    """How the OpenBaoRestore of that name calls itself."""
    return f"openbaorestore/{name}"


def held_by_another(lock: OperationLock | None, holder: str) -> str:
    """Say who else has the lock; "" when nobody has."""
    if lock is None or lock.holder == holder:
        return ""
    return f"{lock.operation} of {lock.holder} holds the operation lock"


@dataclass(frozen=True, slots=True)
class LockRequest:
    """Who wants the lock, and what for. `message` is for people and holds no secret.

    Raises ValueError without a holder: that would be a lock which nobody can release.
    """

    operation: Operation
    holder: str
    message: str = ""

    def __post_init__(self) -> None:
        if not self.holder or "/" not in self.holder:
            raise ValueError(f"{self.holder!r} holds no lock: it must be <kind>/<name>")


@dataclass(frozen=True, slots=True)
class Acquired:
    """The lock is the claimant's. `overridden`: whom it was taken from, by force."""

    lock: OperationLock
    overridden: OperationLock | None = None


@dataclass(frozen=True, slots=True)
class HeldBy:
    """Somebody else holds the lock."""

    lock: OperationLock

    @property
    def message(self) -> str:
        """Who holds it, for a message to a person."""
        detail = f" ({self.lock.message})" if self.lock.message else ""
        return f"{self.lock.operation} of {self.lock.holder} holds the operation lock{detail}"


@dataclass(frozen=True, slots=True)
class Free:
    """Nobody holds the lock. `released`: the one that ends with this decision, if any."""

    released: OperationLock | None = field(default=None, compare=False)


def acquire(
    lock: OperationLock | None,
    epoch: int,
    request: LockRequest,
    now: datetime,
    *,
    force: bool = False,
) -> Acquired | HeldBy:
    """Decide who has the lock after `claim`. `epoch` is the highest ever given, `now` is UTC."""
    timestamp = now.replace(microsecond=0)
    if lock is not None and is_held_by(lock, request):
        return Acquired(_renewed(lock, request, timestamp))
    if lock is not None and not (force and lock.operation != "Restore"):
        return HeldBy(lock)
    new = OperationLock(
        operation=request.operation,
        holder=request.holder,
        epoch=max(epoch, lock.epoch if lock else 0) + 1,
        message=request.message or None,
        acquired_at=timestamp,
        renewed_at=timestamp,
    )
    return Acquired(new, overridden=lock)


def renew(
    lock: OperationLock | None, request: LockRequest, now: datetime
) -> Acquired | HeldBy | Free:
    """Decide what becomes of a lock that the claimant had: a lost one is never taken again."""
    if lock is None:
        return Free()
    if not is_held_by(lock, request):
        return HeldBy(lock)
    return Acquired(_renewed(lock, request, now.replace(microsecond=0)))


def release(lock: OperationLock | None, holder: str, epoch: int | None = None) -> Free | HeldBy:
    """Decide what is left when that holder lets go; what another holds stays.

    With `epoch` also what a successor of the same name holds.
    """
    if lock is None:
        return Free()
    is_holder = lock.holder == holder and epoch in (None, lock.epoch)
    return Free(lock) if is_holder else HeldBy(lock)


def first_in_line(operation: Operation, waiting: Collection[Operation]) -> Operation | None:
    """Name the operation that a new one lets go first, None when it may ask for the lock now."""
    ahead = PRECEDENCE[: PRECEDENCE.index(operation)]
    return next((other for other in ahead if other in waiting), None)


def is_held_by(lock: OperationLock, request: LockRequest) -> bool:
    """Tell whether the lock is the claimant's own, perhaps from an earlier life."""
    return (lock.operation, lock.holder) == (request.operation, request.holder)


def _renewed(lock: OperationLock, request: LockRequest, timestamp: datetime) -> OperationLock:
    message = request.message or None
    is_recent = lock.renewed_at is not None and timestamp - lock.renewed_at < RENEWAL
    # A clock that was set back must not stop renewals until it has caught up.
    is_plausible = lock.renewed_at is not None and lock.renewed_at <= timestamp
    if message == lock.message and is_recent and is_plausible:
        return lock
    return lock.model_copy(update={"message": message, "renewed_at": timestamp})
