"""The state machine of a rolling upgrade. Pure.

| state | meaning |
|---|---|
| Idle | the servers have the release that was accepted last |
| Preparing | a newer one is requested and valid; the lock is taken |
| Snapshot | an OpenBaoBackup is created first |
| Rolling | the new release is accepted, and the pods are replaced |
| Failed | it stopped: no pod is touched until a user requests a retry or another release |

The first transition of a state whose guard returns a message decides (contracts.state_machine). Its
action runs, then its next state is written; a crash between the two repeats the action, which is
safe. managers.upgrade.rolling.progress reports that the last pod is new and healthy.
"""

from __future__ import annotations

from contracts.conditions.reasons_workload import BUDGET_CLOSED, QUESTION_REFUSED
from contracts.state_machine import Guard, Transition, always
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
    RollingFacts,
)
from managers.upgrade.transition_action import UpgradeAction

RollingGuard = Guard[RollingFacts]
RollingTransition = Transition[RollingFacts]


def _prepare(at: str, when: RollingGuard, says: str) -> RollingTransition:
    return Transition(at, when, says, PREPARING, UpgradeAction.TAKE_LOCK, after=SOON)


def _end(at: str, when: RollingGuard, says: str) -> RollingTransition:
    return Transition(at, when, says, IDLE, UpgradeAction.FREE_LOCK, after=SOON)


def _fail(at: str, when: RollingGuard, says: str, reason: str) -> RollingTransition:
    return Transition(at, when, says, FAILED, UpgradeAction.FREE_LOCK, reason, SOON)


TRANSITIONS: tuple[RollingTransition, ...] = (
    Transition(IDLE, guards.leftover_lock, "lock left", action=UpgradeAction.FREE_LOCK),
    Transition(IDLE, guards.up_to_date, "as asked"),
    Transition(IDLE, guards.refused, "refused", blocked=True),
    Transition(IDLE, guards.obstructed, "obstructed", after=RECHECK),
    Transition(
        IDLE,
        always,
        "another release asked",
        PREPARING,
        UpgradeAction.TAKE_LOCK,
        "UpgradeInProgress",
        SOON,
    ),
    #
    _end(PREPARING, guards.up_to_date, "taken back"),
    _end(PREPARING, guards.both(guards.changed, guards.refused), "refused"),
    _prepare(PREPARING, guards.another, "another release asked"),
    Transition(PREPARING, guards.lock_held_by_another, "lock held", IDLE, after=SOON),
    Transition(
        PREPARING,
        guards.no_lock,
        "no lock",
        action=UpgradeAction.TAKE_LOCK,
        reason="OperationLockBlocked",
        after=1.0,
    ),
    Transition(PREPARING, guards.obstructed, "obstructed", after=RECHECK),
    Transition(
        PREPARING, guards.wants_snapshot, "snapshot first", SNAPSHOT, reason="PreUpgradeSnapshot"
    ),
    Transition(PREPARING, always, "all well", ROLLING, reason="UpgradeInProgress", after=SOON),
    #
    _end(SNAPSHOT, guards.up_to_date, "taken back"),
    Transition(SNAPSHOT, guards.another, "another release asked", PREPARING, after=SOON),
    Transition(SNAPSHOT, guards.no_lock, "no lock", PREPARING, after=SOON),
    _fail(SNAPSHOT, guards.snapshot_exhausted, "third snapshot failed", "PreUpgradeBackupFailed"),
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
    Transition(SNAPSHOT, guards.obstructed, "obstructed", after=RECHECK),
    Transition(SNAPSHOT, always, "snapshot done", ROLLING, reason="UpgradeInProgress", after=SOON),
    #
    Transition(ROLLING, guards.another, "another release asked", ROLLING, after=SOON),
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
        action=UpgradeAction.TAKE_LOCK,
        reason="OperationLockBlocked",
        after=1.0,
    ),
    _fail(ROLLING, guards.hand_over_failed, "Job failed", "StepDownFailed"),
    _fail(ROLLING, guards.refused_hand_over, "no Job", "StepDownFailed"),
    _fail(ROLLING, guards.hand_over_late, "leads still", "StepDownTimeout"),
    _fail(ROLLING, guards.unready_late, "pod not back", "PodNotReady"),
    Transition(
        ROLLING, guards.quorum_refused, "question refused", reason=QUESTION_REFUSED, after=RECHECK
    ),
    Transition(ROLLING, guards.budget_closed, "budget closed", reason=BUDGET_CLOSED, after=RECHECK),
    _fail(ROLLING, guards.unwell_late, "server not well", "HealthCheckFailed"),
    Transition(
        ROLLING,
        guards.both(guards.changed, guards.refused),
        "refused",
        blocked=True,
        after=ROLL_RECHECK,
    ),
    Transition(
        ROLLING, guards.in_progress, "pods to go", reason="UpgradeInProgress", after=ROLL_RECHECK
    ),
    #
    Transition(
        FAILED,
        guards.both(lambda facts: not facts.rolled, guards.up_to_date),
        "taken back",
        IDLE,
        after=SOON,
    ),
    Transition(
        FAILED,
        guards.both(guards.retry_or_other_release, guards.lock_held_by_another),
        "lock held",
        reason="OperationLockBlocked",
        after=RECHECK,
    ),
    Transition(
        FAILED,
        guards.both(lambda facts: facts.rolled, guards.another),
        "another release",
        ROLLING,
        UpgradeAction.TAKE_LOCK,
    ),
    _prepare(FAILED, guards.another, "another release"),
    Transition(
        FAILED,
        guards.both(lambda facts: facts.rolled, guards.retried),
        "retry",
        ROLLING,
        UpgradeAction.TAKE_LOCK,
        after=SOON,
    ),
    _prepare(FAILED, guards.retried, "retry"),
    Transition(FAILED, guards.failed, "waits for a person", blocked=True),
)
