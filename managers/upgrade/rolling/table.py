"""The state machine of a rolling upgrade. Pure.

| state | meaning |
|---|---|
| Idle | the servers run the accepted release |
| Preparing | a newer release is requested and valid; the operator takes the lock |
| Snapshot | the operator creates an OpenBaoBackup first |
| Rolling | the new release is accepted, and the pods are replaced |
| Failed | stopped: no pod is replaced until a user requests a retry or another release |

The first transition of a state whose guard returns a message decides (contracts.state_machine). Its
action runs, then its next state is written; a crash between the two repeats the action, which is
safe. managers.upgrade.rolling.progress reports that the last pod is new and healthy.

Idle and Failed release the operation lock (managers.upgrade.rolling.outcome). A transition to them
does not: an operator that crashed after the release would acquire the lock again before it repeats
the transition.
"""

from __future__ import annotations

from contracts.conditions.reasons_workload import BUDGET_CLOSED, QUESTION_REFUSED
from contracts.state_machine import Transition, always
from managers.upgrade.rolling import guards
from managers.upgrade.rolling.facts import (
    FAILED,
    IDLE,
    PREPARING,
    RECHECK,
    ROLL_RECHECK,
    ROLLING,
    SNAPSHOT,
    SNAPSHOT_RECHECK,
    SOON,
    USER_HOLDS,
    RollingFacts,
    RollingGuard,
)
from managers.upgrade.transition_action import UpgradeAction

RollingTransition = Transition[RollingFacts]


def _prepare(at: str, when: RollingGuard, label: str) -> RollingTransition:
    return Transition(at, when, label, PREPARING, UpgradeAction.ACQUIRE_LOCK, after=SOON)


def _end(at: str, when: RollingGuard, label: str) -> RollingTransition:
    return Transition(at, when, label, IDLE, after=SOON)


def _fail(at: str, when: RollingGuard, label: str, reason: str) -> RollingTransition:
    return Transition(at, when, label, FAILED, reason=reason, after=SOON)


TRANSITIONS: tuple[RollingTransition, ...] = (
    Transition(IDLE, guards.up_to_date, "up to date"),
    Transition(IDLE, guards.refusal, "refused", blocked=True),
    Transition(IDLE, guards.obstacle, "obstructed", after=RECHECK),
    Transition(
        IDLE,
        always,
        "new release requested",
        PREPARING,
        UpgradeAction.ACQUIRE_LOCK,
        "UpgradeInProgress",
        SOON,
    ),
    #
    _end(PREPARING, guards.up_to_date, "spec reverted"),
    _end(PREPARING, guards.refusal, "refused"),
    _prepare(PREPARING, guards.new_target, "another release requested"),
    Transition(PREPARING, guards.lock_held_by_another, "lock held", IDLE, after=SOON),
    Transition(
        PREPARING,
        guards.no_lock,
        "no lock",
        action=UpgradeAction.ACQUIRE_LOCK,
        reason="OperationLockBlocked",
        after=1.0,
    ),
    Transition(PREPARING, guards.obstacle, "obstructed", after=RECHECK),
    Transition(
        PREPARING, guards.wants_snapshot, "snapshot first", SNAPSHOT, reason="PreUpgradeSnapshot"
    ),
    Transition(PREPARING, always, "checks passed", ROLLING, reason="UpgradeInProgress", after=SOON),
    #
    _end(SNAPSHOT, guards.up_to_date, "spec reverted"),
    _end(SNAPSHOT, guards.refusal, "refused"),
    Transition(SNAPSHOT, guards.new_target, "another release requested", PREPARING, after=SOON),
    Transition(SNAPSHOT, guards.no_lock, "no lock", PREPARING, after=SOON),
    _fail(SNAPSHOT, guards.last_snapshot_failed, "third snapshot failed", "PreUpgradeBackupFailed"),
    Transition(
        SNAPSHOT, guards.snapshot_failed, "snapshot failed", SNAPSHOT, reason="PreUpgradeSnapshot"
    ),
    Transition(
        SNAPSHOT,
        guards.no_snapshot,
        "no snapshot",
        SNAPSHOT,
        UpgradeAction.MAKE_SNAPSHOT,
        "PreUpgradeSnapshot",
        SNAPSHOT_RECHECK,
    ),
    Transition(
        SNAPSHOT,
        guards.snapshot_runs,
        "snapshot runs",
        reason="PreUpgradeSnapshot",
        after=SNAPSHOT_RECHECK,
    ),
    Transition(SNAPSHOT, guards.obstacle, "obstructed", after=RECHECK),
    Transition(
        SNAPSHOT, always, "snapshot completed", ROLLING, reason="UpgradeInProgress", after=SOON
    ),
    #
    Transition(ROLLING, guards.new_target, "another release requested", ROLLING, after=SOON),
    Transition(
        ROLLING,
        guards.lock_held_by_another,
        "lock lost",
        FAILED,
        reason="UpgradeFailed",
        after=SOON,
    ),
    Transition(
        ROLLING,
        guards.no_lock,
        "no lock",
        action=UpgradeAction.ACQUIRE_LOCK,
        reason="OperationLockBlocked",
        after=1.0,
    ),
    _fail(ROLLING, guards.step_down_job_failed, "Job failed", "StepDownFailed"),
    _fail(ROLLING, guards.step_down_job_impossible, "Job refused", "StepDownFailed"),
    _fail(ROLLING, guards.step_down_late, "still leads", "StepDownTimeout"),
    *(
        Transition(
            ROLLING, guards.user_hold(reason), "held by the user", reason=reason, after=RECHECK
        )
        for reason in USER_HOLDS
    ),
    _fail(ROLLING, guards.pod_unready_late, "pod not ready", "PodNotReady"),
    Transition(
        ROLLING,
        guards.members_unreadable,
        "members unreadable",
        reason=QUESTION_REFUSED,
        after=RECHECK,
    ),
    Transition(
        ROLLING, guards.budget_closed, "eviction refused", reason=BUDGET_CLOSED, after=RECHECK
    ),
    _fail(ROLLING, guards.server_unhealthy_late, "server unhealthy", "HealthCheckFailed"),
    Transition(
        ROLLING,
        guards.both(guards.requests_another_release, guards.refusal),
        "refused",
        blocked=True,
        after=ROLL_RECHECK,
    ),
    Transition(
        ROLLING,
        guards.in_progress,
        "pods left to replace",
        reason="UpgradeInProgress",
        after=ROLL_RECHECK,
    ),
    #
    Transition(
        FAILED,
        guards.both(lambda facts: not facts.pods_may_run_target, guards.up_to_date),
        "spec reverted",
        IDLE,
        after=SOON,
    ),
    Transition(
        FAILED,
        guards.both(guards.retry_or_new_target, guards.lock_held_by_another),
        "lock held",
        reason="OperationLockBlocked",
        after=RECHECK,
    ),
    Transition(
        FAILED,
        guards.both(lambda facts: facts.pods_may_run_target, guards.new_target),
        "another release requested",
        ROLLING,
        UpgradeAction.ACQUIRE_LOCK,
    ),
    _prepare(FAILED, guards.new_target, "another release requested"),
    Transition(
        FAILED,
        guards.both(lambda facts: facts.pods_may_run_target, guards.retry_request),
        "retry",
        ROLLING,
        UpgradeAction.ACQUIRE_LOCK,
        after=SOON,
    ),
    _prepare(FAILED, guards.retry_request, "retry"),
    Transition(FAILED, guards.failure, "waits for a user", blocked=True),
)
