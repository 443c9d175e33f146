"""The conditions BackingUp and BackupHealthy of a cluster. Pure.

Called through the table of `managers.cluster.status.conditions`. They are derived only from the
status that the backup reconcilers and the operation lock write, so they do not depend on the time.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import BackupStatus
from contracts.conditions.condition import ConditionUpdate
from contracts.rfc3339 import rfc3339

BACKING_UP = "BackingUp"
HEALTHY = "BackupHealthy"


def backing_up(cluster: OpenBaoCluster) -> ConditionUpdate | None:
    """Report whether a snapshot is being taken; None without a running or configured backup."""
    lock = cluster.status.operation_lock
    if lock is not None and lock.operation == "Backup":
        return ConditionUpdate(BACKING_UP, "True", "InProgress", lock.message or lock.holder)
    if cluster.spec.backup is None:
        return None
    return ConditionUpdate(BACKING_UP, "False", "Idle")


def backup_healthy(cluster: OpenBaoCluster) -> ConditionUpdate | None:
    """Report the state of the last snapshot; None without spec.backup."""
    if cluster.spec.backup is None:
        return None
    status = cluster.status.backup or BackupStatus()
    if status.consecutive_failures:
        return ConditionUpdate(HEALTHY, "False", "BackupFailed", _failure_message(status))
    if status.overdue_since is not None:
        message = f"The snapshot scheduled for {rfc3339(status.overdue_since)} has not started"
        return ConditionUpdate(HEALTHY, "False", "BackupOverdue", message)
    if status.last_backup_time is None:
        next_time = status.next_scheduled_backup
        message = f"The first backup is due at {rfc3339(next_time)}" if next_time else ""
        return ConditionUpdate(HEALTHY, "Unknown", "NoBackupYet", message)
    message = f"{status.last_backup_name} was stored at {rfc3339(status.last_backup_time)}"
    return ConditionUpdate(HEALTHY, "True", "LastBackupSucceeded", message)


def _failure_message(status: BackupStatus) -> str:
    count = status.consecutive_failures or 0
    subject = "The last snapshot was" if count == 1 else f"The last {count} snapshots were"
    last = status.last_backup_time
    stored = f"the last one was stored at {rfc3339(last)}" if last else "none was ever stored"
    cause = f"{status.last_failure_reason}: {status.last_failure_message}"
    return f"{subject} not stored ({stored}). {cause}"
