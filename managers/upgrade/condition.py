"""The condition Upgrading of a cluster. Pure; called through the table of managers.cluster."""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import BreakGlass
from contracts.api.cluster.status_errors import LastError
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.conditions.condition import ConditionUpdate
from contracts.conditions.message import clean_message
from contracts.records.upgrade import Release, blue_green_under_way
from contracts.records.upgrade_decision import UpgradeDecision
from managers.upgrade.messages import (
    BREAK_GLASS,
    HOLD,
    IN_PROGRESS,
    PAUSED,
    ROLLBACK,
    ROLLBACK_PHASES,
    progress_text,
    stored_progress_text,
)
from runtime.outcome import Blocked, Wait

KIND = "Upgrading"
_OUTAGE = "; nothing can be read or written while the only server restarts"
_SUSPENDED = "spec.paused suspends it"


def upgrading(cluster: OpenBaoCluster, decision: UpgradeDecision) -> ConditionUpdate | None:
    """Report the progress of an upgrade; None while none was ever requested."""
    upgrade = decision.upgrade
    if upgrade is not None and upgrade.failure is not None:
        return ConditionUpdate(KIND, "False", upgrade.failure.reason, upgrade.failure.message)
    if upgrade is not None:
        return ConditionUpdate(KIND, "True", "InProgress", _rolling_message(cluster, upgrade))
    if blue_green_under_way(decision.blue_green):
        return _blue_green(decision)
    if isinstance(decision.outcome, Wait | Blocked):
        return _not_begun(cluster, decision, decision.outcome)
    upgraded_before = any(condition.type == KIND for condition in cluster.status.conditions)
    return (
        ConditionUpdate(KIND, "False", "Idle", f"The servers run {decision.release}")
        if upgraded_before
        else None
    )


def upgrading_while_paused(cluster: OpenBaoCluster) -> ConditionUpdate | None:
    """Report the upgrade that a pause suspends."""
    upgrade = cluster.status.upgrade
    progress = (
        stored_progress_text(cluster) if upgrade is None else _rolling_message(cluster, upgrade)
    )
    return (
        ConditionUpdate(KIND, "Unknown", PAUSED, f"{progress}; {_SUSPENDED}") if progress else None
    )


def failure_of(
    cluster: OpenBaoCluster | None, decision: UpgradeDecision | None
) -> LastError | None:
    """Return why an upgrade stopped; None when none did. Without a decision it reads the status.

    A failed rollback takes precedence.
    """
    break_glass = _break_glass(cluster, decision)
    if break_glass is not None and break_glass.active:
        return LastError(
            reason=BREAK_GLASS, message=_break_glass_message(break_glass), at=break_glass.entered_at
        )
    stored = cluster.status.upgrade if cluster is not None else None
    upgrade = stored if decision is None else decision.upgrade
    return None if upgrade is None else upgrade.failure


def _break_glass(
    cluster: OpenBaoCluster | None, decision: UpgradeDecision | None
) -> BreakGlass | None:
    if decision is not None and decision.is_blue_green:
        return decision.break_glass
    return None if cluster is None else cluster.status.break_glass


def _break_glass_message(break_glass: BreakGlass) -> str:
    # The required user action comes first: a long message may be cut.
    return clean_message(
        "the operator takes no further action: follow status.breakGlass.steps, then copy "
        "status.breakGlass.nonce to spec.breakGlassAck "
        f"({break_glass.message or break_glass.reason})"
    )


def _blue_green(decision: UpgradeDecision) -> ConditionUpdate | None:
    status, break_glass, outcome = decision.blue_green, decision.break_glass, decision.outcome
    if status is None:
        return None
    progress = progress_text(decision.release, status)
    if break_glass is not None and break_glass.active:
        message = f"{progress}: {_break_glass_message(break_glass)}"
        return ConditionUpdate(KIND, "True", BREAK_GLASS, message)
    reason, message = "", ""
    if isinstance(outcome, Wait | Blocked):
        reason, message = outcome.reason, outcome.message
    if reason == PAUSED:
        return ConditionUpdate(KIND, "Unknown", PAUSED, f"{progress}; {_SUSPENDED}")
    if reason == HOLD:
        return ConditionUpdate(KIND, "True", HOLD, f"{progress}: {message}")
    if status.phase not in ROLLBACK_PHASES:
        return ConditionUpdate(
            KIND, "True", "InProgress", f"{progress}: {message}" if message else progress
        )
    details = dict.fromkeys(filter(None, (status.rollback_reason, message)))
    return ConditionUpdate(KIND, "True", ROLLBACK, f"{progress}: {'; '.join(details)}")


def _not_begun(
    cluster: OpenBaoCluster, decision: UpgradeDecision, outcome: Wait | Blocked
) -> ConditionUpdate:
    """Report why no upgrade runs, or that leftovers of an earlier green pool are removed first."""
    requested, message = Release.requested(cluster), outcome.message
    status = decision.blue_green
    if decision.is_blue_green and outcome.reason == IN_PROGRESS:
        return ConditionUpdate(
            KIND, "True", "InProgress", f"{decision.release} to {requested}: {message}"
        )
    if isinstance(outcome, Wait) and outcome.reason == ROLLBACK and status is not None:
        message = f"{decision.release} still serves: {status.rollback_reason or message}"
        return ConditionUpdate(KIND, "False", ROLLBACK, message)
    return ConditionUpdate(KIND, "False", outcome.reason, message)


def _rolling_message(cluster: OpenBaoCluster, upgrade: UpgradeStatus) -> str:
    size, done = cluster.spec.replicas, len(upgrade.completed_pods)
    message = f"{upgrade.from_version} to {upgrade.target_version}: "
    if upgrade.phase == "Snapshot":
        return f"{message}waiting for OpenBaoBackup {upgrade.snapshot}"
    outage = _OUTAGE if size == 1 else ""
    if upgrade.phase == "Preparing":
        return f"{message}no server was replaced yet{outage}"
    pod = f", {upgrade.pod}" if upgrade.pod else ""
    return f"{message}{done} of {size} servers are upgraded{pod}{outage}"
