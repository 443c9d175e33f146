"""Computes when a snapshot is due, and which OpenBaoBackups are deleted. Pure.

There is at most one OpenBaoBackup per scheduled time, because its name is derived from that time,
and at most one for all missed times. The next time is stored with the schedule from which it was
computed, so that an edit takes effect immediately.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from contracts.api.backup import TERMINAL, OpenBaoBackup
from contracts.api.cluster.backup import Backup
from contracts.api.cluster.status_backup import BackupStatus
from contracts.api.values import cron
from contracts.naming import labels
from contracts.pause import counted_from
from managers.backup.job import backup_time, protected_keys

COMPLETED_KEPT: Final = 30
FAILED_KEPT: Final = 10
"""Number of OpenBaoBackups of the operator to keep, in addition to those in use. Of completed ones
at least `retention.maxCount` are kept."""
COMPLETED_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Tick:
    """The state of the schedule. `due`: the scheduled time for which a backup is due."""

    due: datetime | None
    next: datetime | None
    """None without a schedule."""


def tick(spec: Backup | None, status: BackupStatus, now: datetime, *, unfinished: bool) -> Tick:
    """Evaluate the schedule. `unfinished`: a scheduled backup has not ended yet.

    One backup covers all missed times. The next time is never later than the first scheduled time
    after now: otherwise a clock that was once wrong could stop backups. Raises ValueError for an
    invalid schedule.
    """
    if spec is None:
        return Tick(None, None)
    following = cron.next_after(spec.schedule, now)
    stored = status.next_scheduled_backup
    if stored is None or status.schedule != spec.schedule or stored > following:
        return Tick(None, following)
    if stored > now:
        return Tick(None, stored)
    return Tick(None if unfinished else stored, following)


def with_schedule(spec: Backup | None, status: BackupStatus, current: Tick) -> BackupStatus:
    """Return the status with the next scheduled time and its schedule."""
    schedule = spec.schedule if spec else None
    return status.model_copy(update={"schedule": schedule, "next_scheduled_backup": current.next})


def with_attempt(status: BackupStatus, scheduled: datetime | None, now: datetime) -> BackupStatus:
    """Return the status after an OpenBaoBackup was created, by the schedule or by a trigger."""
    changes = {"last_attempt_time": now.replace(microsecond=0)}
    if scheduled is not None:
        changes["last_attempt_scheduled_time"] = scheduled
    return status.model_copy(update=changes)


def last_scheduled(backups: Iterable[OpenBaoBackup], due: datetime | None) -> datetime | None:
    """Return the latest scheduled time that has an OpenBaoBackup, including `due`."""
    times = (backup.spec.scheduled_time for backup in backups)
    return max((time for time in (*times, due) if time is not None), default=None)


@dataclass(frozen=True, slots=True)
class Late:
    """The scheduled time since which a snapshot is overdue, or when it will be overdue."""

    since: datetime | None = None
    overdue_at: datetime | None = None


def overdue(
    spec: Backup | None,
    backups: Iterable[OpenBaoBackup],
    now: datetime,
    resumed: datetime | None = None,
) -> Late:
    """Report whether two consecutive scheduled times have passed without a Job.

    `resumed`: when the last pause ended; times before that do not count. Raises ValueError for an
    invalid schedule.
    """
    waiting = [
        backup.spec.scheduled_time
        for backup in backups
        if backup.spec.scheduled_time and backup.status.phase in (None, "Pending")
    ]
    if spec is None or not waiting:
        return Late()
    first = min(waiting)
    deadline = cron.next_after(spec.schedule, counted_from(first, resumed))
    return Late(since=first) if now >= deadline else Late(overdue_at=deadline)


def unfinished_backup(backups: Iterable[OpenBaoBackup]) -> OpenBaoBackup | None:
    """Return an unfinished backup of a user or of the schedule, the first by name."""
    unfinished = [
        backup
        for backup in backups
        if backup.status.phase not in TERMINAL and backup.spec.origin != "PreUpgrade"
    ]
    return min(unfinished, key=lambda backup: backup.metadata.name, default=None)


def history(
    backups: Collection[OpenBaoBackup], spec: Backup | None, restored: Collection[str]
) -> tuple[OpenBaoBackup, ...]:
    """Return the OpenBaoBackups to delete, oldest first.

    The operator never deletes an OpenBaoBackup that a user created, whose result is not counted, or
    whose snapshot is in use: the newest, the newest tested, one under test, one that a restore
    reads (`restored`: their keys).
    """
    protected = {*protected_keys(backups), *restored}
    deletable = sorted(
        (
            backup
            for backup in backups
            if _is_deletable(backup) and backup.status.key not in protected
        ),
        key=_completion,
        reverse=True,
    )
    max_count = spec.retention.max_count if spec and spec.retention else 0
    completed_kept = min(max(COMPLETED_KEPT, max_count), COMPLETED_MAX)
    completed = [backup for backup in deletable if backup.status.phase == "Completed"]
    failed = [backup for backup in deletable if backup.status.phase != "Completed"]
    return tuple(sorted((*completed[completed_kept:], *failed[FAILED_KEPT:]), key=_completion))


def _is_deletable(backup: OpenBaoBackup) -> bool:
    if backup.metadata.labels.get(labels.MANAGED_BY) != labels.OPERATOR:
        return False
    counted = bool(backup.status.counted) or backup.spec.origin == "PreUpgrade"
    return backup.status.phase in TERMINAL and counted


def _completion(backup: OpenBaoBackup) -> tuple[float, str]:
    completed_at = backup.status.completed_at
    time = completed_at.timestamp() if completed_at else backup_time(backup)
    return time, backup.metadata.name
