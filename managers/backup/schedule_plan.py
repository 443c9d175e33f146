"""Computes when a snapshot is due, and which OpenBaoBackups are deleted. Pure.

There is at most one OpenBaoBackup per scheduled time, because its name is derived from that time;
and at most one for all times missed while none could be created. The next time is stored with the
schedule that it was computed from, so that an edit takes effect at once.
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
"""OpenBaoBackups of the operator that are kept, not counting those in use; of completed ones at
least as many as snapshots are retained."""
COMPLETED_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Tick:
    """The state of the schedule. `due`: the scheduled time for which a backup is due."""

    due: datetime | None
    next: datetime | None
    """None without a schedule."""


def tick(spec: Backup | None, status: BackupStatus, now: datetime, *, on_its_way: bool) -> Tick:
    """Evaluate the schedule. `on_its_way`: a scheduled backup has not finished yet.

    One backup makes up for all missed times. The next time is never later than the first time of
    the schedule after now: a clock that was wrong once must not stop backups. Raises ValueError for
    an invalid schedule.
    """
    if spec is None:
        return Tick(None, None)
    ahead = cron.next_after(spec.schedule, now)
    stored = status.next_scheduled_backup
    if stored is None or status.schedule != spec.schedule or stored > ahead:
        return Tick(None, ahead)
    if stored > now:
        return Tick(None, stored)
    return Tick(None if on_its_way else stored, ahead)


def planned(spec: Backup | None, status: BackupStatus, at: Tick) -> BackupStatus:
    """Return the status with the next scheduled time and its schedule."""
    schedule = spec.schedule if spec else None
    return status.model_copy(update={"schedule": schedule, "next_scheduled_backup": at.next})


def with_attempt(status: BackupStatus, scheduled: datetime | None, now: datetime) -> BackupStatus:
    """Return the status after an OpenBaoBackup was created, by the schedule or by a trigger."""
    changes = {"last_attempt_time": now.replace(microsecond=0)}
    if scheduled is not None:
        changes["last_attempt_scheduled_time"] = scheduled
    return status.model_copy(update=changes)


def last_scheduled(backups: Iterable[OpenBaoBackup], due: datetime | None) -> datetime | None:
    """Return the latest scheduled time that has an OpenBaoBackup, including `due`."""
    times = (one.spec.scheduled_time for one in backups)
    return max((moment for moment in (*times, due) if moment is not None), default=None)


@dataclass(frozen=True, slots=True)
class Late:
    """The scheduled time since which a snapshot is overdue; else when it will be overdue."""

    since: datetime | None = None
    overdue_at: datetime | None = None


def overdue(
    spec: Backup | None,
    backups: Iterable[OpenBaoBackup],
    now: datetime,
    resumed: datetime | None = None,
) -> Late:
    """Report whether two consecutive scheduled times have passed without a Job.

    `resumed`: when the last pause ended; times before that do not count. Raises ValueError as
    `tick` does.
    """
    waiting = [
        one.spec.scheduled_time
        for one in backups
        if one.spec.scheduled_time and one.status.phase in (None, "Pending")
    ]
    if spec is None or not waiting:
        return Late()
    first = min(waiting)
    deadline = cron.next_after(spec.schedule, counted_from(first, resumed))
    return Late(since=first) if now >= deadline else Late(overdue_at=deadline)


def on_its_way(backups: Iterable[OpenBaoBackup]) -> OpenBaoBackup | None:
    """Return the oldest unfinished backup of a user or of the schedule."""
    open_ones = [
        one
        for one in backups
        if one.status.phase not in TERMINAL and one.spec.origin != "PreUpgrade"
    ]
    return min(open_ones, key=lambda one: one.metadata.name, default=None)


def history(
    backups: Collection[OpenBaoBackup], spec: Backup | None, restored: Collection[str]
) -> tuple[OpenBaoBackup, ...]:
    """Return the OpenBaoBackups to delete, the oldest first.

    Never one that a user created, one whose result is not counted, or one whose snapshot is in use:
    the newest, the newest tested, one under test, one that a restore reads (`restored`: the keys).
    """
    protected = {*protected_keys(backups), *restored}
    ended = sorted(
        (one for one in backups if _may_go(one) and one.status.key not in protected),
        key=_age,
        reverse=True,
    )
    max_count = spec.retention.max_count if spec and spec.retention else 0
    room = min(max(COMPLETED_KEPT, max_count), COMPLETED_MAX)
    good = [one for one in ended if one.status.phase == "Completed"]
    bad = [one for one in ended if one.status.phase != "Completed"]
    return tuple(sorted((*good[room:], *bad[FAILED_KEPT:]), key=_age))


def _may_go(one: OpenBaoBackup) -> bool:
    if one.metadata.labels.get(labels.MANAGED_BY) != labels.OPERATOR:
        return False
    counted = bool(one.status.counted) or one.spec.origin == "PreUpgrade"
    return one.status.phase in TERMINAL and counted


def _age(one: OpenBaoBackup) -> tuple[float, str]:
    ended = one.status.completed_at
    return (ended.timestamp() if ended else backup_time(one), one.metadata.name)
