"""The state machine of a blue/green upgrade. Pure.

| state | meaning |
|---|---|
| Idle | one pool serves; an upgrade may have begun: its inputs are frozen, nothing is created yet |
| DeployingGreen | green is created; it can join blue, and can never bootstrap a separate cluster |
| JoiningMesh | green joins the raft cluster without a vote |
| Syncing | green catches up; it is validated and approved |
| Promoting | green servers become voters |
| DemotingBlue | clients are sent to green, which leads; blue loses its votes and is kept |
| Cleanup | blue leaves the raft cluster and is deleted; no rollback is possible |
| RestoringReadReplicas | read replicas are upgraded |
| RollingBack | clients are sent to blue; blue gets its votes back and leads |
| RollbackCleanup | green leaves the raft cluster and is deleted |

The first transition of a state whose guard returns a message decides (contracts.state_machine). Its
action runs, then its next state is written; a crash between the two repeats the action, which is
safe. Before Promoting a failed upgrade is aborted: green has no vote, so it is deleted. From
Promoting on the upgrade is rolled back. Neither is retried automatically.

Idle without an upgrade releases the operation lock (`effects.free_leftover_lock`). A transition to
Idle does not: an operator that crashed after the release would acquire the lock again before it
repeats the transition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from contracts.records.bluegreen import BlueGreenFacts
from contracts.records.bluegreen_phases import (
    CLEANUP,
    DEMOTING,
    DEPLOYING,
    IDLE,
    JOINING,
    PROMOTING,
    RESTORING,
    ROLLBACK_CLEANUP,
    ROLLING_BACK,
    SYNCING,
)
from contracts.state_machine import Guard, GuardMessage, Transition, always
from managers.upgrade.bluegreen import guards, validation_hook
from managers.upgrade.bluegreen import hook_guards as hook
from managers.upgrade.bluegreen import pool_guards as pools
from managers.upgrade.messages import (
    BREAK_GLASS,
    HOLD,
    IN_PROGRESS,
    LOCK_BLOCKED,
    NOT_READY,
    PAUSED,
    ROLLBACK,
    UPGRADE_REFUSED,
)
from managers.upgrade.transition_action import UpgradeAction

Facts = BlueGreenFacts
PhaseGuard = Guard[Facts]
Transitions = tuple[Transition[Facts], ...]

SOON: Final = 0.05
"""Seconds to the next reconcile when the next step is known."""
RECHECK: Final = 2.0
SLOW: Final = 15.0
LONG_RECHECK: Final = 60.0


def _common(at: str) -> Transitions:
    return (
        Transition(at, guards.paused, "paused", reason=PAUSED),
        _do(at, guards.break_glass_ack, "acknowledged", UpgradeAction.LEAVE_BREAK_GLASS),
        Transition(
            at,
            guards.break_glass_active,
            "break glass",
            reason=BREAK_GLASS,
            after=LONG_RECHECK,
            blocked=True,
        ),
    )


def _lock_transitions(at: str) -> Transitions:
    return (
        *_common(at),
        Transition(at, guards.lock_held_by_another, "lock lost", reason=LOCK_BLOCKED, after=SLOW),
        _do(at, guards.lock_free, "no lock", UpgradeAction.ACQUIRE_LOCK, LOCK_BLOCKED),
    )


def _do(
    at: str,
    when: PhaseGuard,
    label: str,
    action: UpgradeAction,
    reason: str = IN_PROGRESS,
    after: float = SOON,
) -> Transition[Facts]:
    return Transition(at, when, label, action=action, reason=reason, after=after)


def _retry(at: str, when: PhaseGuard, label: str, action: UpgradeAction) -> Transition[Facts]:
    return replace(_do(at, when, label, action, HOLD, RECHECK), blocked=True)


def _wait(
    at: str, when: PhaseGuard, label: str, reason: str = IN_PROGRESS, after: float = RECHECK
) -> Transition[Facts]:
    return Transition(at, when, label, reason=reason, after=after)


def _back(at: str, to: str, *pairs: tuple[PhaseGuard, str]) -> Transitions:
    return tuple(
        Transition(at, when, label, to, reason=ROLLBACK, after=SOON) for when, label in pairs
    )


def _early(at: str) -> Transitions:
    return (
        *_lock_transitions(at),
        *_back(
            at,
            ROLLBACK_CLEANUP,
            (guards.rollback_request, "rollback requested"),
            (pools.spec_reverted, "spec reverted"),
            (pools.green_leads_early, "green leads"),
            (pools.green_cannot_run, "green cannot run"),
        ),
    )


def _late(at: str) -> Transitions:
    return (
        *_lock_transitions(at),
        # A request that is refused has an event, and does not hold the upgrade.
        *_back(
            at,
            ROLLING_BACK,
            (pools.if_blue_can_lead(guards.rollback_request), "rollback requested"),
        ),
        *_roll_back(at, pools.spec_reverted, "spec reverted"),
        *_roll_back(at, pools.green_cannot_run, "green cannot run"),
    )


def _roll_back(at: str, when: Callable[[Facts], GuardMessage | None], label: str) -> Transitions:
    """Roll back, or hold the upgrade if blue can never lead again: then no server would lead."""
    return (
        *_back(at, ROLLING_BACK, (pools.if_blue_can_lead(when), label)),
        Transition(
            at,
            pools.if_blue_cannot_lead(when),
            f"{label}, blue cannot lead",
            reason=HOLD,
            after=SLOW,
            blocked=True,
        ),
    )


def _job_steps(at: str) -> Transitions:
    return (
        _do(at, guards.job_failed, "Job failed", UpgradeAction.COUNT),
        _retry(at, guards.job_refusal_is_old, "Job retried", UpgradeAction.MAKE_JOB),
        Transition(at, guards.job_refusal, "Job refused", reason=HOLD, after=SLOW, blocked=True),
        _do(at, guards.job_missing, "no Job", UpgradeAction.MAKE_JOB, after=RECHECK),
        _wait(at, guards.job_runs, "Job runs"),
    )


def _job(at: str, back: Transitions) -> Transitions:
    """The Job of a phase in which a failed upgrade is rolled back automatically."""
    return (
        *back,
        Transition(
            at, guards.job_failed_without_rollback, "Job failed, held", reason=HOLD, blocked=True
        ),
        *_job_steps(at),
    )


def _early_job(at: str) -> Transitions:
    back = _back(at, ROLLBACK_CLEANUP, (guards.job_failed_too_often, "Job failed too often"))
    return _job(at, back)


def _late_job(at: str) -> Transitions:
    return _job(at, _roll_back(at, guards.job_failed_too_often, "Job failed too often"))


def _break_glass(at: str, when: PhaseGuard, label: str) -> Transition[Facts]:
    return Transition(
        at,
        when,
        label,
        at,
        UpgradeAction.ENTER_BREAK_GLASS,
        BREAK_GLASS,
        LONG_RECHECK,
        blocked=True,
    )


_IDLE: Transitions = (
    *_common(IDLE),
    Transition(IDLE, guards.up_to_date, "up to date"),
    _wait(IDLE, guards.not_initialized, "not initialized", "NotInitialized", LONG_RECHECK),
    Transition(IDLE, guards.refusal, "refused", reason=UPGRADE_REFUSED, blocked=True),
    Transition(IDLE, guards.failed_before, "failed before", reason=ROLLBACK, blocked=True),
    _wait(IDLE, guards.obstacle_before_begin, "obstructed", NOT_READY),
    Transition(
        IDLE, guards.leftover_members, "leftover members", reason=HOLD, after=SLOW, blocked=True
    ),
    _do(
        IDLE, guards.leftover_servers, "leftover servers", UpgradeAction.DELETE_POOL, after=RECHECK
    ),
    _wait(IDLE, guards.leftover_pods, "leftover pods"),
    Transition(
        IDLE, guards.foreign_claims, "foreign volumes", reason=HOLD, after=SLOW, blocked=True
    ),
    Transition(IDLE, guards.retained_claims, "kept volumes", reason=HOLD, after=SLOW, blocked=True),
    _do(IDLE, guards.leftover_claims, "old volumes", UpgradeAction.DELETE_CLAIM, after=RECHECK),
    _do(IDLE, guards.not_begun, "new release requested", UpgradeAction.BEGIN),
    _do(IDLE, guards.spec_changed, "changed", UpgradeAction.DROP),
    _do(IDLE, guards.rollback_request, "rollback requested", UpgradeAction.GIVE_UP, ROLLBACK),
    Transition(IDLE, guards.lock_held_by_another, "lock held", reason=LOCK_BLOCKED, after=SLOW),
    _do(IDLE, guards.lock_free, "no lock", UpgradeAction.ACQUIRE_LOCK, LOCK_BLOCKED),
    _do(
        IDLE,
        guards.last_snapshot_failed,
        "third snapshot failed",
        UpgradeAction.GIVE_UP,
        "PreUpgradeBackupFailed",
    ),
    _do(IDLE, guards.snapshot_failed, "snapshot failed", UpgradeAction.NEXT_SNAPSHOT),
    _do(IDLE, guards.no_snapshot, "no snapshot", UpgradeAction.MAKE_SNAPSHOT, after=RECHECK),
    _wait(IDLE, guards.snapshot_runs, "snapshot runs"),
    _wait(IDLE, guards.obstacle, "obstructed", NOT_READY),
    Transition(IDLE, always, "checks passed", DEPLOYING, reason=IN_PROGRESS, after=SOON),
)

_DEPLOYING: Transitions = (
    *_early(DEPLOYING),
    _wait(DEPLOYING, pools.blue_not_ready, "blue not ready"),
    *_back(
        DEPLOYING, ROLLBACK_CLEANUP, (pools.green_not_deployed_in_time, "green not ready in time")
    ),
    _wait(DEPLOYING, pools.green_not_ready, "green not ready"),
    Transition(DEPLOYING, always, "green ready", JOINING, reason=IN_PROGRESS, after=SOON),
)

_JOINING: Transitions = (
    *_early(JOINING),
    *_back(JOINING, ROLLBACK_CLEANUP, (pools.green_not_ready_in_time, "green not ready in time")),
    _wait(JOINING, pools.green_not_ready, "green not ready"),
    *_early_job(JOINING),
    Transition(JOINING, always, "joined", SYNCING, reason=IN_PROGRESS, after=SOON),
)

_SYNCING: Transitions = (
    *_early(SYNCING),
    _wait(SYNCING, pools.green_not_ready, "green not ready"),
    _wait(SYNCING, pools.sync_period_runs, "minSyncDuration"),
    *_early_job(SYNCING),
    _do(SYNCING, hook.retry_request, "hook retried", UpgradeAction.FORGET_HOOK),
    *_back(SYNCING, ROLLBACK_CLEANUP, (hook.failed_with_rollback, "hook failed")),
    Transition(SYNCING, hook.needs_user, "hook held", reason=HOLD, blocked=True),
    _do(SYNCING, hook.is_at("edited"), "hook edited", UpgradeAction.DROP_HOOK),
    _retry(SYNCING, hook.job_refusal_is_old, "hook Job retried", UpgradeAction.MAKE_HOOK),
    Transition(SYNCING, hook.job_refusal, "hook refused", reason=HOLD, after=SLOW, blocked=True),
    _do(SYNCING, hook.is_at("make"), "no hook Job", UpgradeAction.MAKE_HOOK),
    _do(SYNCING, hook.is_at("start"), "hook Job suspended", UpgradeAction.START_HOOK),
    _do(SYNCING, hook.is_at(*validation_hook.RECORDED), "hook changed", UpgradeAction.RECORD_HOOK),
    _wait(SYNCING, hook.is_at("wait"), "hook runs"),
    _wait(SYNCING, pools.promotion_not_approved, "not approved", HOLD, LONG_RECHECK),
    Transition(SYNCING, always, "in sync and approved", PROMOTING, reason=IN_PROGRESS, after=SOON),
)

_PROMOTING: Transitions = (
    *_late(PROMOTING),
    *_roll_back(PROMOTING, pools.green_not_ready_in_time, "green not ready in time"),
    _wait(PROMOTING, pools.green_not_ready, "green not ready"),
    *_late_job(PROMOTING),
    *_roll_back(PROMOTING, pools.votes_missing_too_long, "green does not vote in time"),
    _wait(PROMOTING, pools.votes_missing, "green does not vote yet"),
    Transition(PROMOTING, always, "green votes", DEMOTING, reason=IN_PROGRESS, after=SOON),
)

_DEMOTING: Transitions = (
    *_late(DEMOTING),
    *_roll_back(DEMOTING, pools.green_not_ready_in_time, "green not ready in time"),
    _wait(DEMOTING, pools.green_not_ready, "green not ready"),
    _wait(DEMOTING, pools.clients_use_blue, "clients use blue"),
    *_roll_back(DEMOTING, pools.green_cannot_lead_in_time, "green does not vote in time"),
    _wait(DEMOTING, pools.green_cannot_lead, "green does not vote"),
    *_late_job(DEMOTING),
    *_roll_back(DEMOTING, pools.hand_over_late, "blue still leads or votes"),
    _wait(DEMOTING, pools.hand_over_incomplete, "blue leads or votes"),
    _wait(DEMOTING, pools.stabilization_runs, "blue is kept"),
    _wait(DEMOTING, pools.cleanup_not_approved, "cleanup not approved", HOLD, LONG_RECHECK),
    Transition(
        DEMOTING, always, "green leads and is verified", CLEANUP, reason=IN_PROGRESS, after=SOON
    ),
)

_CLEANUP: Transitions = (
    *_lock_transitions(CLEANUP),
    _wait(CLEANUP, pools.green_needs_blue, "green needs blue"),
    Transition(
        CLEANUP, guards.job_failed_for_good, "Job failed too often", reason=HOLD, blocked=True
    ),
    *_job_steps(CLEANUP),
    _do(CLEANUP, pools.blue_servers, "blue exists", UpgradeAction.DELETE_POOL, after=RECHECK),
    _wait(CLEANUP, pools.blue_pods, "blue terminates"),
    _wait(CLEANUP, pools.membership_unknown, "members unknown"),
    Transition(CLEANUP, pools.blue_peers_stuck, "blue stays a member", reason=HOLD, blocked=True),
    _do(CLEANUP, pools.blue_peers, "blue is a member", UpgradeAction.COUNT),
    _do(CLEANUP, pools.blue_claims, "volumes", UpgradeAction.DELETE_CLAIM, after=RECHECK),
    Transition(
        CLEANUP,
        pools.read_replicas_desired,
        "read replicas",
        RESTORING,
        reason=IN_PROGRESS,
        after=SOON,
    ),
    Transition(CLEANUP, always, "blue is gone", IDLE, after=SOON),
)

_RESTORING: Transitions = (
    *_lock_transitions(RESTORING),
    _wait(RESTORING, pools.read_replicas_outdated, "read replicas not upgraded", after=SLOW),
    Transition(RESTORING, always, "replicas upgraded", IDLE, after=SOON),
)

_ROLLING_BACK: Transitions = (
    *_lock_transitions(ROLLING_BACK),
    _wait(ROLLING_BACK, guards.former_job, "previous Job runs", ROLLBACK),
    _break_glass(ROLLING_BACK, pools.rollback_impossible, "blue cannot lead"),
    _break_glass(ROLLING_BACK, pools.blue_cannot_lead_in_time, "blue not ready in time"),
    _wait(ROLLING_BACK, pools.blue_cannot_lead, "blue not ready", ROLLBACK),
    _break_glass(ROLLING_BACK, guards.rollback_job_failed_too_often, "Job failed too often"),
    *_job_steps(ROLLING_BACK),
    _break_glass(ROLLING_BACK, pools.blue_does_not_lead_in_time, "blue does not lead in time"),
    _wait(ROLLING_BACK, pools.blue_does_not_lead, "blue does not lead", ROLLBACK),
    Transition(ROLLING_BACK, always, "blue leads", ROLLBACK_CLEANUP, reason=ROLLBACK, after=SOON),
)

_ROLLBACK_CLEANUP: Transitions = (
    *_lock_transitions(ROLLBACK_CLEANUP),
    _wait(ROLLBACK_CLEANUP, guards.former_job, "previous Job runs", ROLLBACK),
    _wait(ROLLBACK_CLEANUP, pools.green_not_removable, "blue does not lead", ROLLBACK),
    _break_glass(ROLLBACK_CLEANUP, guards.rollback_job_failed_too_often, "Job failed too often"),
    *_job_steps(ROLLBACK_CLEANUP),
    _do(
        ROLLBACK_CLEANUP,
        pools.green_servers,
        "green exists",
        UpgradeAction.DELETE_POOL,
        ROLLBACK,
        RECHECK,
    ),
    _wait(ROLLBACK_CLEANUP, pools.green_pods, "green terminates", ROLLBACK),
    _break_glass(ROLLBACK_CLEANUP, pools.green_peers_stuck, "green stays a member"),
    _do(ROLLBACK_CLEANUP, pools.green_peers, "green is a member", UpgradeAction.COUNT, ROLLBACK),
    _do(
        ROLLBACK_CLEANUP,
        pools.green_claims,
        "volumes",
        UpgradeAction.DELETE_CLAIM,
        ROLLBACK,
        RECHECK,
    ),
    Transition(ROLLBACK_CLEANUP, always, "green is gone", IDLE, reason=ROLLBACK, after=SOON),
)

TABLE: Transitions = (
    *_IDLE,
    *_DEPLOYING,
    *_JOINING,
    *_SYNCING,
    *_PROMOTING,
    *_DEMOTING,
    *_CLEANUP,
    *_RESTORING,
    *_ROLLING_BACK,
    *_ROLLBACK_CLEANUP,
)
