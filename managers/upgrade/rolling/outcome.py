"""Converts a transition to the result of the reconcile: release, status and effects. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from typing import Any

from contracts.api.cluster.status_errors import LastError
from contracts.api.cluster.status_upgrade import UpgradeRequestsStatus, UpgradeStatus
from contracts.conditions.message import clean_message
from contracts.conditions.reasons_workload import BUDGET_CLOSED, QUESTION_REFUSED
from contracts.naming import names
from contracts.records.effects import Effect
from contracts.records.upgrade import Release, StepDownJob, acknowledged_requests
from contracts.records.upgrade_decision import UpgradeDecision
from contracts.records.upgrade_effects import AcquireLock, FreeLock, MakeSnapshot
from contracts.state_machine import TransitionDecision
from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.condition import upgrading
from managers.upgrade.login import jobs_can_log_in
from managers.upgrade.rolling.facts import (
    FAILED,
    IDLE,
    PREPARING,
    ROLLING,
    SNAPSHOT,
    USER_HOLDS,
    RollingFacts,
)
from managers.upgrade.rolling.guards import leads_again, new_target
from managers.upgrade.transition_action import UpgradeAction
from runtime.outcome import Blocked, Done, Outcome, Wait

_ID = 10
_NO_JOB: dict[str, Any] = {"step_down_job": None, "step_downs": None}
_WAITING = "UpgradeInProgress"
SUSPENDING_REASONS = (QUESTION_REFUSED, BUDGET_CLOSED, *USER_HOLDS)
"""Reasons of transitions in which a user must act and no server is unhealthy."""


def upgrade_decision_of(
    facts: RollingFacts, decision: TransitionDecision[RollingFacts]
) -> UpgradeDecision:
    """Convert a transition to the upgrade decision of the reconcile."""
    state = decision.next
    upgrade = None if state == IDLE else _status(facts, decision)
    accepted = _target(upgrade) if upgrade and state == ROLLING else facts.accepted
    upgrade_decision = UpgradeDecision(
        # A release is rendered only after the status records that it was accepted.
        release=facts.accepted,
        hold_reason=_hold_reason(facts, decision, accepted),
        step_down_job=_step_down(facts, upgrade),
        outcome=_outcome(facts, decision),
        effects=_effects(facts, decision, upgrade),
        state=state,
        upgrade=upgrade,
        requests=_requests(facts),
        accepted=accepted,
    )
    return replace(upgrade_decision, finding=upgrading(facts.cluster, upgrade_decision))


def _target(upgrade: UpgradeStatus) -> Release:
    return Release(upgrade.target_version, upgrade.target_image or "")


def _hold_reason(
    facts: RollingFacts, decision: TransitionDecision[RollingFacts], accepted: Release
) -> str:
    if (
        decision.next == ROLLING
        and decision.transition.at == ROLLING
        and accepted == facts.accepted
    ):
        return "" if facts.holds_lock else "the operation lock is not held"
    if decision.next == IDLE:
        return ""
    return decision.message or "an upgrade is being prepared"


def _step_down(facts: RollingFacts, upgrade: UpgradeStatus | None) -> StepDownJob | None:
    if upgrade is None or not jobs_can_log_in(facts.cluster):
        return None
    count = upgrade.step_downs or 0
    number = count if upgrade.step_down_job else count + 1
    return StepDownJob(facts.cluster.metadata.name, upgrade.id, number)


def _outcome(facts: RollingFacts, decision: TransitionDecision[RollingFacts]) -> Outcome:
    transition = decision.transition
    reason = transition.reason or _reason(facts, decision)
    if transition.blocked:
        return Blocked(reason or _WAITING, decision.message, transition.after)
    if not reason:
        return Done(transition.after)
    return Wait(reason, decision.message or "an upgrade is in progress", transition.after)


def _reason(facts: RollingFacts, decision: TransitionDecision[RollingFacts]) -> str:
    """Derive the reason of a transition without one; "" when there is no message."""
    failure = facts.upgrade.failure
    if failure is not None and decision.transition.blocked:
        return failure.reason
    if not decision.message:
        return ""
    verdict = facts.verdict(resuming=facts.upgrade.phase == ROLLING)
    blocker = verdict.refusal or facts.verdict(resuming=False).obstacle
    return blocker.reason if blocker is not None else _WAITING


def _status(facts: RollingFacts, decision: TransitionDecision[RollingFacts]) -> UpgradeStatus:
    transition, before, timestamp = decision.transition, facts.upgrade, _timestamp(facts)
    changes: dict[str, Any] = {}
    if transition.at == IDLE:
        return _initial_status(facts, timestamp)
    starts = decision.next in (PREPARING, ROLLING) and transition.to is not None
    # A refused release never becomes the target, whatever the transition is for.
    if starts and new_target(facts) is not None:
        changes |= _retarget(facts)
    if decision.next == FAILED and transition.to is not None:
        changes |= {"failure": _failure(decision, timestamp)}
    elif transition.to is not None and transition.at == FAILED:
        changes |= {"failure": None, **_restart(facts, timestamp, f"{facts.retry}{timestamp}")}
    if transition.to is not None and decision.next in (PREPARING, SNAPSHOT, ROLLING):
        changes |= {"phase": decision.next}
    if transition.to == ROLLING and "step_started_at" not in changes:
        changes |= {"step_started_at": timestamp, "pod": None}
    if transition.to == SNAPSHOT and transition.action != UpgradeAction.MAKE_SNAPSHOT:
        changes |= _next_snapshot(facts)
    if transition.at == ROLLING and leads_again(facts):
        # The server was elected again after that Job: the next Job needs another name.
        changes |= {"step_down_job": None}
    changes = {**_clock(facts, decision), **changes}
    return before.model_copy(update=changes) if changes else before


def _clock(facts: RollingFacts, decision: TransitionDecision[RollingFacts]) -> dict[str, Any]:
    """Suspend the deadline of a step while it is blocked, and restart it in full afterwards.

    A pause clears the start time, too.
    """
    transition = decision.transition
    if transition.reason in SUSPENDING_REASONS:
        return {"step_started_at": None}
    if facts.upgrade.step_started_at is None and transition.at == ROLLING:
        return {"step_started_at": _timestamp(facts)}
    return {}


def _initial_status(facts: RollingFacts, timestamp: datetime) -> UpgradeStatus:
    requested, accepted = facts.requested, facts.accepted
    return UpgradeStatus(
        id=_id(facts, str(timestamp)),
        phase="Preparing",
        target_version=requested.version,
        target_image=requested.image or None,
        from_version=accepted.version,
        from_image=accepted.image or None,
        current_partition=facts.cluster.spec.replicas,
        started_at=timestamp,
    )


def _retarget(facts: RollingFacts) -> dict[str, Any]:
    timestamp = _timestamp(facts)
    return {
        "target_version": facts.requested.version,
        "target_image": facts.requested.image or None,
        "completed_pods": (),
        "current_partition": facts.cluster.spec.replicas,
        **_restart(facts, timestamp, str(timestamp)),
    }


def _restart(facts: RollingFacts, timestamp: datetime, salt: str) -> dict[str, Any]:
    """Restart the upgrade: new Job names, and the full deadline for the next step."""
    return {"id": _id(facts, salt), "step_started_at": timestamp, "pod": None, **_NO_JOB}


def _next_snapshot(facts: RollingFacts) -> dict[str, Any]:
    number = (facts.upgrade.snapshots or 0) + 1
    owner = facts.cluster.metadata
    name = names.pre_upgrade_backup(
        owner.name, owner.uid, snapshot_attempt(facts.upgrade.id, number)
    )
    return {"snapshot": name, "snapshots": number}


def snapshot_attempt(upgrade: str, number: int) -> str:
    """Return the name of one snapshot attempt of an upgrade."""
    return f"{upgrade} {number}"


def _failure(decision: TransitionDecision[RollingFacts], timestamp: datetime) -> LastError:
    message = clean_message(decision.message)
    return LastError(reason=decision.transition.reason, message=message, at=timestamp)


def _effects(
    facts: RollingFacts, decision: TransitionDecision[RollingFacts], upgrade: UpgradeStatus | None
) -> tuple[Effect, ...]:
    action, owner = decision.transition.action, facts.cluster.metadata
    if not action:
        leftover = facts.holds_lock and decision.transition.at in (IDLE, FAILED)
        return (FreeLock(UPGRADE_HOLDER, owner.uid),) if leftover else ()
    if action == UpgradeAction.ACQUIRE_LOCK:
        message = f"{facts.accepted} to {_target(upgrade)}" if upgrade else ""
        return (AcquireLock(UPGRADE_HOLDER, owner.uid, message),)
    number = (upgrade.snapshots or 0) if upgrade else 0
    attempt = snapshot_attempt(upgrade.id if upgrade else "", number)
    name = (upgrade.snapshot if upgrade else "") or ""
    return (MakeSnapshot(name, owner.uid, attempt),)


def _requests(facts: RollingFacts) -> UpgradeRequestsStatus | None:
    """Acknowledge a retry request in any state; other requests have no effect here."""
    # After a failure the retry waits for the lock, and is acknowledged then.
    deferred = facts.upgrade.failure is not None and bool(facts.other_holder)
    return acknowledged_requests(facts.cluster, except_retry=deferred)


def _id(facts: RollingFacts, salt: str) -> str:
    owner = facts.cluster.metadata
    text = "|".join((owner.uid, str(facts.requested), str(owner.generation), salt))
    return hashlib.sha256(text.encode()).hexdigest()[:_ID]


def _timestamp(facts: RollingFacts) -> datetime:
    return facts.observed.now.replace(microsecond=0)
