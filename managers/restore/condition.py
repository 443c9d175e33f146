"""The condition Restoring of a cluster. Pure; called by managers.cluster.status.conditions."""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.conditions.condition import ConditionUpdate

KIND = "Restoring"


def restoring(cluster: OpenBaoCluster) -> ConditionUpdate | None:
    """Report whether a restore is running; None for a cluster that was never restored."""
    lock, last = cluster.status.operation_lock, cluster.status.restore
    if lock is not None and lock.operation == "Restore":
        message = f"{lock.holder}: {lock.message or 'a snapshot is being restored'}"
        return ConditionUpdate(KIND, "True", "RestoreInProgress", message)
    if last is None:
        return None
    since = last.restart_completed_at
    message = f"the last restore was OpenBaoRestore {last.name}"
    if since is not None:
        message += f"; all servers were restarted by {since:%Y-%m-%d %H:%M:%S} UTC"
    return ConditionUpdate(KIND, "False", "NoRestore", message)
