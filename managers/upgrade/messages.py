"""User messages of a blue/green upgrade: one for each phase. Pure.

The condition Upgrading, the events and `baoctl upgrade plan` use them, so all three describe a
phase alike. No message changes merely because time passes.

Blue is the former pool of servers, green the one that takes over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import BlueGreenPhase, BlueGreenStatus
from contracts.records.bluegreen_phases import ROLLBACK_CLEANUP, ROLLING_BACK
from contracts.records.upgrade import Release, blue_green_under_way

IN_PROGRESS: Final = "UpgradeInProgress"
ROLLBACK: Final = "UpgradeRollback"
HOLD: Final = "BlueGreenHold"
LOCK_BLOCKED: Final = "OperationLockBlocked"
PAUSED: Final = "Paused"
UPGRADE_REFUSED: Final = "UpgradeRefused"
NOT_READY: Final = "ClusterNotReady"
BREAK_GLASS: Final = "BreakGlassRequired"
SUSPENSION_REASONS: Final = (PAUSED, BREAK_GLASS, LOCK_BLOCKED)

PHASE_TEXTS: Final[Mapping[BlueGreenPhase, str]] = {
    "Idle": "green is not created yet",
    "DeployingGreen": "green starts",
    "JoiningMesh": "green joins as non-voters",
    "Syncing": "green catches up and is validated",
    "Promoting": "green servers become voters",
    "DemotingBlue": "clients are switched to green, which takes leadership",
    "Cleanup": "blue is removed",
    "RestoringReadReplicas": "read replicas are upgraded",
    "RollingBack": "blue servers become voters again and take leadership",
    "RollbackCleanup": "green is removed",
}
ROLLBACK_PHASES: Final = (ROLLING_BACK, ROLLBACK_CLEANUP)


def progress_text(before: Release, status: BlueGreenStatus) -> str:
    """Return the releases and the phase of an upgrade in progress.

    `before`: the accepted release; after blue is deleted that is the release of green.
    """
    target = Release(status.green_version or before.version, status.green_image or "")
    if not status.green_version or target == before:
        route = f"to {before}"
    elif status.phase in ROLLBACK_PHASES:
        route = f"{target} back to {before}"
    else:
        route = f"{before} to {target}"
    return f"{route}, {status.phase} ({PHASE_TEXTS[status.phase]})"


def stored_progress_text(cluster: OpenBaoCluster) -> str:
    """Return `progress_text` from the status alone; "" when no upgrade is in progress."""
    status = cluster.status.blue_green
    if status is None or not blue_green_under_way(status):
        return ""
    before = Release.accepted(cluster) or Release.running(cluster)
    return progress_text(before, status)
