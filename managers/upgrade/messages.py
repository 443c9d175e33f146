"""User messages of a blue/green upgrade: one for each phase. Pure.

Used by the condition Upgrading, by the events and by `baoctl upgrade plan`, so that all three name
a phase alike. No message changes merely because time passes.

Blue is the former pool of servers, green the one that takes over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import BlueGreenPhase, BlueGreenStatus
from contracts.records.bluegreen import ROLLBACK_CLEANUP, ROLLING_BACK
from contracts.records.upgrade import Release, blue_green_under_way

RUNS: Final = "UpgradeInProgress"
BACK: Final = "UpgradeRollback"
HELD: Final = "BlueGreenHold"
LOCKED: Final = "OperationLockBlocked"
PAUSED: Final = "Paused"
REFUSED: Final = "UpgradeRefused"
OBSTRUCTED: Final = "ClusterNotReady"
SAFE_MODE: Final = "BreakGlassRequired"
FROZEN: Final = (PAUSED, SAFE_MODE, LOCKED)

WORDS: Final[Mapping[BlueGreenPhase, str]] = {
    "Idle": "nothing of green is made yet",
    "DeployingGreen": "green starts",
    "JoiningMesh": "green joins without a vote",
    "Syncing": "green follows, and is judged",
    "Promoting": "green gets its votes",
    "DemotingBlue": "clients are sent to green, which comes to lead",
    "Cleanup": "blue is taken away",
    "RestoringReadReplicas": "read replicas get the new release",
    "RollingBack": "blue gets its votes back, and comes to lead",
    "RollbackCleanup": "green is taken away",
}
ROLLBACK_PHASES: Final = (ROLLING_BACK, ROLLBACK_CLEANUP)


def where(before: Release, status: BlueGreenStatus) -> str:
    """Return the releases and the phase of an upgrade in progress.

    `before`: the accepted release, which is that of green as soon as blue is deleted.
    """
    target = Release(status.green_version or before.version, status.green_image or "")
    if not status.green_version or target == before:
        route = f"to {before}"
    elif status.phase in ROLLBACK_PHASES:
        route = f"{target} back to {before}"
    else:
        route = f"{before} to {target}"
    return f"{route}, {status.phase} ({WORDS[status.phase]})"


def where_stored(cluster: OpenBaoCluster) -> str:
    """Return the same by the status alone; "" when no upgrade is in progress."""
    status = cluster.status.blue_green
    if status is None or not blue_green_under_way(status):
        return ""
    before = Release.accepted(cluster) or Release.running(cluster)
    return where(before, status)
