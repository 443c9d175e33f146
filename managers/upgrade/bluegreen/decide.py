"""Decides one step of a blue/green upgrade, before the other steps of the reconcile. Pure.

The transitions are in managers.upgrade.bluegreen.table. This module derives from a transition which
pools are rendered, where clients are sent, the effects, and the status. Everything but the new
status is derived from the stored status: a decision takes effect after it is written, so an
operator that crashes between two writes resumes at the same step.
"""

from __future__ import annotations

from contracts.api.cluster.status_backup import BreakGlass
from contracts.api.cluster.status_upgrade import UpgradeRequestsStatus
from contracts.records.bluegreen import BlueGreenFacts
from contracts.records.bluegreen_phases import (
    CLEANUP,
    DEMOTING,
    IDLE,
    ON_GREEN,
    PROMOTING,
    RESTORING,
    ROLLBACK_CLEANUP,
    ROLLING_BACK,
)
from contracts.records.event import EventRecord
from contracts.records.resolved import PoolSpec
from contracts.records.upgrade import Release, acknowledged_requests, blue_green_under_way
from contracts.records.upgrade_decision import UpgradeDecision
from contracts.state_machine import TransitionDecision, decide
from managers.upgrade.bluegreen.action_table import rule_of, status_after
from managers.upgrade.bluegreen.break_glass import enter, leave
from managers.upgrade.bluegreen.effects import free_leftover_lock
from managers.upgrade.bluegreen.guards import retry_is_due
from managers.upgrade.bluegreen.pool_guards import (
    rollback_obstacle,
    stabilization_left,
    stabilization_runs,
    sync_left,
    sync_period_runs,
)
from managers.upgrade.bluegreen.table import LONG_RECHECK, TABLE
from managers.upgrade.messages import NOT_READY, PAUSED, SUSPENSION_REASONS, UPGRADE_REFUSED
from managers.upgrade.transition_action import UpgradeAction
from runtime.outcome import Blocked, Done, Outcome, Wait

Choice = TransitionDecision[BlueGreenFacts]

_IRREVERSIBLE = (CLEANUP, RESTORING)
_RETRY_ACTIONS = (UpgradeAction.BEGIN, UpgradeAction.COUNT, UpgradeAction.FORGET_HOOK)


def decide_step(facts: BlueGreenFacts) -> UpgradeDecision:
    """Decide the step of this reconcile; `facts.cluster` is the CR as the user wrote it."""
    choice = decide(TABLE, facts.status.phase, facts)
    paused = choice.transition.reason == PAUSED
    status = facts.cluster.status.blue_green
    return UpgradeDecision(
        release=facts.accepted,
        state=choice.next,
        hold_read_replicas=blue_green_under_way(status) and facts.status.phase != RESTORING,
        traffic=facts.traffic if paused and facts.traffic is not None else _traffic(facts),
        blue=_blue_pool(facts, paused=paused),
        green=_green_pool(facts, paused=paused),
        hold_reason=_hold_reason(facts, choice),
        blue_green=status if paused else status_after(facts, choice),
        break_glass=_break_glass(facts, choice),
        requests=_requests(facts, choice),
        accepted=_accepted_release(facts, choice),
        outcome=_outcome(facts, choice),
        effects=() if paused else (*free_leftover_lock(facts), *rule_of(choice).effects(facts)),
        events=_upgrade_events(facts, choice),
    )


# --- rendered objects ---------------------------------------------------------------------------


def _traffic(facts: BlueGreenFacts) -> str:
    """Return the revision for clients; it stays while a Job may still demote voters of blue."""
    phase = facts.status.phase
    if phase == ROLLING_BACK and facts.former_job and facts.traffic is not None:
        return facts.traffic
    on_green = phase in ON_GREEN
    return facts.green_revision if on_green else facts.blue_revision


def _blue_pool(facts: BlueGreenFacts, *, paused: bool) -> PoolSpec:
    """Blue is never applied while green leads or may lead: its pods stay as they are."""
    replicas = facts.blue_replicas if facts.begun else facts.cluster.spec.replicas
    applied = facts.status.phase not in ON_GREEN and not paused
    return PoolSpec(facts.blue_revision, facts.accepted, replicas, applied)


def _green_pool(facts: BlueGreenFacts, *, paused: bool) -> PoolSpec | None:
    phase = facts.status.phase
    if phase in (IDLE, RESTORING):
        return None
    if phase == ROLLBACK_CLEANUP and not (facts.green.uid or facts.green.pods):
        return None
    applied = phase != ROLLBACK_CLEANUP and not paused
    return PoolSpec(facts.green_revision, facts.target, facts.green_replicas, applied)


def _hold_reason(facts: BlueGreenFacts, choice: Choice) -> str:
    if facts.status.phase == IDLE and not facts.begun:
        return ""
    if facts.status.phase == RESTORING:
        return f"read replicas are upgraded to {facts.accepted} first"
    return choice.message or f"an upgrade to {facts.target} is in progress"


def _accepted_release(facts: BlueGreenFacts, choice: Choice) -> Release:
    """Accept the release of green when the upgrade can no longer be rolled back."""
    commits = facts.status.phase == DEMOTING and choice.next == CLEANUP
    return facts.target if commits else facts.accepted


# --- the status ---------------------------------------------------------------------------------


def _break_glass(facts: BlueGreenFacts, choice: Choice) -> BreakGlass | None:
    if choice.transition.action == UpgradeAction.ENTER_BREAK_GLASS:
        return enter(facts, choice.message)
    if choice.transition.action == UpgradeAction.LEAVE_BREAK_GLASS:
        return leave(facts)
    return facts.cluster.status.break_glass


def _requests(facts: BlueGreenFacts, choice: Choice) -> UpgradeRequestsStatus | None:
    """Acknowledge the requests that this reconcile handles, refuses or ignores."""
    if choice.transition.reason in SUSPENSION_REASONS:
        return facts.cluster.status.upgrade_requests
    deferred = retry_is_due(facts) and choice.transition.action not in _RETRY_ACTIONS
    return acknowledged_requests(facts.cluster, except_retry=deferred)


# --- outcome and events -------------------------------------------------------------------------


def _outcome(facts: BlueGreenFacts, choice: Choice) -> Outcome:
    transition, message = choice.transition, choice.message
    after = _after(facts, choice)
    if not transition.reason:
        return Done(after)
    if transition.reason == UPGRADE_REFUSED and facts.refusal is not None:
        return Blocked(facts.refusal.reason, message, facts.refusal.recheck_after)
    if transition.reason == NOT_READY and facts.obstacle is not None:
        return Wait(facts.obstacle.reason, message, after)
    if transition.blocked:
        return Blocked(transition.reason, message, after)
    return Wait(transition.reason, message or "an upgrade is in progress", after)


def _after(facts: BlueGreenFacts, choice: Choice) -> float | None:
    """Return the seconds to the next reconcile; a wait for a known time is at most a minute."""
    when = choice.transition.when
    if when is sync_period_runs:
        return min(sync_left(facts), LONG_RECHECK)
    if when is stabilization_runs:
        return min(stabilization_left(facts), LONG_RECHECK)
    return choice.transition.after


def _upgrade_events(facts: BlueGreenFacts, choice: Choice) -> tuple[EventRecord, ...]:
    phase, message = facts.status.phase, choice.message
    events: list[EventRecord] = []
    refusal = _rollback_refusal(facts)
    if facts.pending("rollback") and refusal and choice.transition.reason not in SUSPENSION_REASONS:
        events.append(EventRecord("Warning", "RollbackRefused", refusal))
    if (event := rule_of(choice).event) is not None:
        events.append(EventRecord(*event, message))
    if choice.next != phase:
        events += _phase_events(facts, choice)
    return tuple(events)


def _rollback_refusal(facts: BlueGreenFacts) -> str:
    """Return why a request to roll back is refused in this phase; "" if it is not."""
    phase = facts.status.phase
    if phase in _IRREVERSIBLE:
        return f"the upgrade can no longer be rolled back: it is in phase {phase}"
    obstacle = rollback_obstacle(facts) if phase in (PROMOTING, DEMOTING) else ""
    return f"the upgrade cannot be rolled back: {obstacle}" if obstacle else ""


def _phase_events(facts: BlueGreenFacts, choice: Choice) -> tuple[EventRecord, ...]:
    phase, message = facts.status.phase, choice.message
    rollback_phases = (ROLLING_BACK, ROLLBACK_CLEANUP)
    if choice.next in rollback_phases and phase not in rollback_phases:
        return (EventRecord("Warning", "RollbackStarted", message),)
    if choice.next == PROMOTING and facts.status.manual_promotion_required:
        token = facts.pending("promote")
        return (EventRecord("Normal", "BlueGreenPromotionApproved", f"Green is promoted: {token}"),)
    if choice.next == CLEANUP and facts.status.manual_cleanup_required:
        token = facts.pending("cleanup")
        return (EventRecord("Normal", "BlueGreenCleanupApproved", f"Blue is removed: {token}"),)
    if phase == CLEANUP:
        return (
            EventRecord(
                "Normal",
                "UpgradeComplete",
                f"The servers run {facts.accepted}{_retained_volumes(facts)}",
            ),
        )
    return ()


def _retained_volumes(facts: BlueGreenFacts) -> str:
    """Name the volumes that are no longer used."""
    names = ", ".join(pvc.name for pvc in facts.blue.claims)
    if not names:
        return ""
    return (
        f"; spec.deletionPolicy is {facts.cluster.spec.deletion_policy}, so the volumes of the "
        f"former servers are kept: {names}. No pod uses them"
    )
