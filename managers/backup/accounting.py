"""Counts finished OpenBaoBackups in `status.backup` of their cluster, each exactly once. Pure.

The cluster stores which backup was counted last; the OpenBaoBackup stores that it was counted. The
cluster is written first, so a restart between the two writes counts no backup twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from contracts.api.backup import TERMINAL, OpenBaoBackup
from contracts.api.cluster.status_backup import BackupStatus


def to_count(
    backups: Iterable[OpenBaoBackup], cluster_uid: str, last_counted: str | None = None
) -> tuple[OpenBaoBackup, ...]:
    """Return the finished backups of this cluster that are not counted, in order of completion.

    The one that the cluster counted last is first, whenever it completed: only its mark is missing,
    and after another count it would be counted again.
    """
    uncounted = [
        backup
        for backup in backups
        if backup.status.phase in TERMINAL
        and not backup.status.counted
        and backup.spec.origin != "PreUpgrade"
        and backup.status.cluster_uid == cluster_uid
    ]
    return tuple(
        sorted(
            uncounted, key=lambda backup: (backup.metadata.uid != last_counted, _completion(backup))
        )
    )


def count_backup(status: BackupStatus, backup: OpenBaoBackup) -> BackupStatus:
    """Return the status after a finished backup; unchanged if it was already counted."""
    if status.last_counted == backup.metadata.uid:
        return status
    changes = (
        _success(status, backup) if backup.status.phase == "Completed" else _failure(status, backup)
    )
    return status.model_copy(update={**changes, "last_counted": backup.metadata.uid})


def _success(status: BackupStatus, backup: OpenBaoBackup) -> dict[str, Any]:
    end, snapshot, report = backup.status.completed_at, backup.status.snapshot, backup.status.report
    seconds = report.seconds if report else None
    if seconds is None and end is not None and backup.status.started_at is not None:
        seconds = (end - backup.status.started_at).total_seconds()
    return {
        "last_backup_time": end,
        "last_backup_name": backup.status.key,
        "last_backup_size": snapshot.size if snapshot else None,
        "last_backup_duration": None if seconds is None else f"{max(seconds, 0.0):.3f}s",
        "latest_snapshot": snapshot,
        "successful_backups": (status.successful_backups or 0) + 1,
        "consecutive_failures": 0,
        "last_failure_reason": None,
        "last_failure_message": None,
        "last_failure_time": None,
    }


def _failure(status: BackupStatus, backup: OpenBaoBackup) -> dict[str, Any]:
    return {
        "consecutive_failures": (status.consecutive_failures or 0) + 1,
        "last_failure_reason": backup.status.reason,
        "last_failure_message": backup.status.message,
        "last_failure_time": backup.status.completed_at,
    }


def _completion(backup: OpenBaoBackup) -> tuple[float, str]:
    end = backup.status.completed_at
    return (end.timestamp() if end else 0.0, backup.metadata.uid)
