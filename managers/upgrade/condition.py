"""The condition Upgrading of a cluster. Pure; called through the table of managers.cluster."""

from __future__ import annotations

from contracts.api.cluster import OpenBaoCluster
from contracts.api.status_parts import LastError
from contracts.api.status_upgrade import UpgradeStatus
from contracts.conditions import Finding
from contracts.upgrade import Course
from runtime.outcome import Blocked, Wait

KIND = "Upgrading"
_OUTAGE = "; nothing can be read or written while the only server restarts"


def upgrading(cluster: OpenBaoCluster, course: Course) -> Finding | None:
    """State how far an upgrade is; None as long as none was ever asked for."""
    upgrade = course.upgrade
    if upgrade is not None and upgrade.failure is not None:
        return Finding(KIND, "False", upgrade.failure.reason, upgrade.failure.message)
    if upgrade is not None:
        return Finding(KIND, "True", "InProgress", _told(cluster, upgrade))
    if isinstance(course.outcome, Wait | Blocked):
        return Finding(KIND, "False", course.outcome.reason, course.outcome.message)
    before = any(one.type == KIND for one in cluster.status.conditions)
    return Finding(KIND, "False", "Idle", f"The servers run {course.release}") if before else None


def upgrading_while_paused(cluster: OpenBaoCluster) -> Finding | None:
    """State what a pause found, and leaves as it is."""
    upgrade = cluster.status.upgrade
    if upgrade is None:
        return None
    told = f"{_told(cluster, upgrade)}; spec.paused holds it"
    return Finding(KIND, "Unknown", "Paused", told)


def failure_of(cluster: OpenBaoCluster | None, course: Course | None) -> LastError | None:
    """Say why an upgrade stopped; None when none did. Without a course the status is asked."""
    known = cluster.status.upgrade if cluster is not None else None
    upgrade = known if course is None else course.upgrade
    return None if upgrade is None else upgrade.failure


def _told(cluster: OpenBaoCluster, upgrade: UpgradeStatus) -> str:
    size, done = cluster.spec.replicas, len(upgrade.completed_pods)
    told = f"{upgrade.from_version} to {upgrade.target_version}: "
    if upgrade.phase == "Snapshot":
        return f"{told}OpenBaoBackup {upgrade.snapshot} comes first"
    outage = _OUTAGE if size == 1 else ""
    if upgrade.phase == "Preparing":
        return f"{told}no server was touched yet{outage}"
    pod = f", {upgrade.pod}" if upgrade.pod else ""
    return f"{told}{done} of {size} servers are new{pod}{outage}"
