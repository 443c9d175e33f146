"""The condition Upgrading of a cluster. Pure; called through the table of managers.cluster."""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import BreakGlass
from contracts.api.cluster.status_errors import LastError
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.conditions.condition import ConditionUpdate, clean_message
from contracts.records.bluegreen import BlueGreenDecision
from contracts.records.upgrade import Release
from contracts.records.upgrade_decision import UpgradeDecision
from managers.upgrade.messages import (
    BACK,
    HELD,
    PAUSED,
    RUNS,
    SAFE_MODE,
    WAY_BACK,
    goes_on,
    where,
    where_stored,
)
from runtime.outcome import Blocked, Wait

KIND = "Upgrading"
_OUTAGE = "; nothing can be read or written while the only server restarts"
_HELD_BY_PAUSE = "spec.paused holds it"


def upgrading(cluster: OpenBaoCluster, course: UpgradeDecision) -> ConditionUpdate | None:
    """State how far an upgrade is; None as long as none was ever asked for."""
    upgrade = course.upgrade
    if upgrade is not None and upgrade.failure is not None:
        return ConditionUpdate(KIND, "False", upgrade.failure.reason, upgrade.failure.message)
    if upgrade is not None:
        return ConditionUpdate(KIND, "True", "InProgress", _told(cluster, upgrade))
    if course.second is not None and goes_on(course.second.status):
        return _by_second_set(course, course.second)
    if isinstance(course.outcome, Wait | Blocked):
        return _not_begun(cluster, course, course.outcome)
    before = any(one.type == KIND for one in cluster.status.conditions)
    return (
        ConditionUpdate(KIND, "False", "Idle", f"The servers run {course.release}")
        if before
        else None
    )


def upgrading_while_paused(cluster: OpenBaoCluster) -> ConditionUpdate | None:
    """State what a pause found, and leaves as it is."""
    upgrade = cluster.status.upgrade
    told = where_stored(cluster) if upgrade is None else _told(cluster, upgrade)
    return ConditionUpdate(KIND, "Unknown", PAUSED, f"{told}; {_HELD_BY_PAUSE}") if told else None


def failure_of(cluster: OpenBaoCluster | None, course: UpgradeDecision | None) -> LastError | None:
    """Say why an upgrade stopped; None when none did. Without a course the status is asked.

    The gravest is that going back failed, too.
    """
    glass = _glass(cluster, course)
    if glass is not None and glass.active:
        return LastError(reason=SAFE_MODE, message=_safe_mode(glass), at=glass.entered_at)
    known = cluster.status.upgrade if cluster is not None else None
    upgrade = known if course is None else course.upgrade
    return None if upgrade is None else upgrade.failure


def _glass(cluster: OpenBaoCluster | None, course: UpgradeDecision | None) -> BreakGlass | None:
    if course is not None and course.second is not None:
        return course.second.break_glass
    return None if cluster is None else cluster.status.break_glass


def _safe_mode(glass: BreakGlass) -> str:
    # What a person has to do comes first: a long story may be cut.
    return clean_message(
        "nothing is tried any more: do what status.breakGlass.steps say, then repeat "
        f"status.breakGlass.nonce in spec.breakGlassAck ({glass.message or glass.reason})"
    )


def _by_second_set(course: UpgradeDecision, second: BlueGreenDecision) -> ConditionUpdate | None:
    if second.status is None:
        return None
    told = where(course.release, second.status)
    glass, outcome = second.break_glass, second.outcome
    if glass is not None and glass.active:
        return ConditionUpdate(KIND, "True", SAFE_MODE, f"{told}: {_safe_mode(glass)}")
    reason, message = "", ""
    if isinstance(outcome, Wait | Blocked):
        reason, message = outcome.reason, outcome.message
    if reason == PAUSED:
        return ConditionUpdate(KIND, "Unknown", PAUSED, f"{told}; {_HELD_BY_PAUSE}")
    if reason == HELD:
        return ConditionUpdate(KIND, "True", HELD, f"{told}: {message}")
    if second.status.phase not in WAY_BACK:
        return ConditionUpdate(
            KIND, "True", "InProgress", f"{told}: {message}" if message else told
        )
    words = dict.fromkeys(filter(None, (second.status.rollback_reason, message)))
    return ConditionUpdate(KIND, "True", BACK, f"{told}: {'; '.join(words)}")


def _not_begun(
    cluster: OpenBaoCluster, course: UpgradeDecision, outcome: Wait | Blocked
) -> ConditionUpdate:
    """State why none goes on. Before a second set is made, what is left of another one goes."""
    asked, message = Release.asked(cluster), outcome.message
    status = course.second.status if course.second is not None else None
    if course.second is not None and outcome.reason == RUNS:
        return ConditionUpdate(
            KIND, "True", "InProgress", f"{course.release} to {asked}: {message}"
        )
    if isinstance(outcome, Wait) and outcome.reason == BACK and status is not None:
        told = f"{course.release} serves, as before: {status.rollback_reason or message}"
        return ConditionUpdate(KIND, "False", BACK, told)
    return ConditionUpdate(KIND, "False", outcome.reason, message)


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
