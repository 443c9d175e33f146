"""The names of the holders of the operation lock, and the restore that holds it. Pure."""

from __future__ import annotations

from typing import Final

from contracts.api.cluster.status import ClusterStatus

UPGRADE_HOLDER: Final = "openbaocluster/upgrade"


def backup_holder(name: str) -> str:
    """Return the holder name of an OpenBaoBackup; it does not depend on the operator process."""
    return f"openbaobackup/{name}"


def restore_holder(name: str) -> str:
    """Return the holder name of an OpenBaoRestore."""
    return f"openbaorestore/{name}"


def restore_in_progress(status: ClusterStatus) -> str:
    """Return the holder of a restore that needs all servers; "" once it requested a restart."""
    lock, restore = status.operation_lock, status.restore
    if lock is None or lock.operation != "Restore":
        return ""
    restarts = restore is not None and restore.restart_completed_at is None
    # status.restore may be that of another restore, which has completed.
    if restarts and restore is not None and lock.holder == restore_holder(restore.name or ""):
        return ""
    return lock.holder
