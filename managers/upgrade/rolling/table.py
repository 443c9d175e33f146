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
from contracts.records.upgrade import FREE_LOCK, MAKE_SNAPSHOT, TAKE_LOCK
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
    RollingFacts,
)

TRANSITIONS: tuple[Transition[RollingFacts], ...] = (
    Transition(IDLE, guards.leftover_lock, "lock left", act=FREE_LOCK),
    Transition(IDLE, guards.up_to_date, "as asked"),
    Transition(IDLE, guards.refused, "refused", blocked=True),
    Transition(IDLE, guards.obstructed, "obstructed", after=RECHECK),
    Transition(
        IDLE, always, "another release asked", PREPARING, TAKE_LOCK, "UpgradeInProgress", SOON
    ),
    #
    Transition(PREPARING, guards.up_to_date, "taken back", IDLE, FREE_LOCK, after=SOON),
    Transition(
        PREPARING,
        guards.both(guards.changed, guards.refused),
        "refused",
        IDLE,
        FREE_LOCK,
        after=SOON,
    ),
    Transition(
        PREPARING, guards.another, "another release asked", PREPARING, TAKE_LOCK, after=SOON
    ),
    Transition(PREPARING, guards.lock_held_by_another, "lock held", IDLE, after=SOON),
    Transition(
        PREPARING,
        guards.no_lock,
        "no lock",
        act=TAKE_LOCK,
        reason="OperationLockBlocked",
        after=1.0,
    ),
    Transition(PREPARING, guards.obstructed, "obstructed", after=RECHECK),
    Transition(
        PREPARING, guards.wants_snapshot, "snapshot first", SNAPSHOT, reason="PreUpgradeSnapshot"
    ),
    Transition(PREPARING, always, "all well", ROLLING, reason="UpgradeInProgress", after=SOON),
    #
    Transition(SNAPSHOT, guards.up_to_date, "taken back", IDLE, FREE_LOCK, after=SOON),
    Transition(SNAPSHOT, guards.another, "another release asked", PREPARING, after=SOON),
    Transition(SNAPSHOT, guards.no_lock, "no lock", PREPARING, after=SOON),
    Transition(
        SNAPSHOT,
        guards.snapshot_exhausted,
        "third snapshot failed",
        FAILED,
        FREE_LOCK,
        "PreUpgradeBackupFailed",
        SOON,
    ),
    Transition(
        SNAPSHOT, guards.snapshot_failed, "snapshot failed", SNAPSHOT, reason="PreUpgradeSnapshot"
    ),
    Transition(
        SNAPSHOT,
        guards.no_snapshot,
        "no snapshot",
        SNAPSHOT,
        MAKE_SNAPSHOT,
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
        ROLLING, guards.no_lock, "no lock", act=TAKE_LOCK, reason="OperationLockBlocked", after=1.0
    ),
    Transition(
        ROLLING, guards.hand_over_failed, "Job failed", FAILED, FREE_LOCK, "StepDownFailed", SOON
    ),
    Transition(
        ROLLING, guards.refused_hand_over, "no Job", FAILED, FREE_LOCK, "StepDownFailed", SOON
    ),
    Transition(
        ROLLING, guards.hand_over_late, "leads still", FAILED, FREE_LOCK, "StepDownTimeout", SOON
    ),
    Transition(
        ROLLING, guards.unready_late, "pod not back", FAILED, FREE_LOCK, "PodNotReady", SOON
    ),
    Transition(
        ROLLING, guards.quorum_refused, "question refused", reason=QUESTION_REFUSED, after=RECHECK
    ),
    Transition(ROLLING, guards.budget_closed, "budget closed", reason=BUDGET_CLOSED, after=RECHECK),
    Transition(
        ROLLING, guards.unwell_late, "server not well", FAILED, FREE_LOCK, "HealthCheckFailed", SOON
    ),
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
        TAKE_LOCK,
    ),
    Transition(FAILED, guards.another, "another release", PREPARING, TAKE_LOCK, after=SOON),
    Transition(
        FAILED,
        guards.both(lambda facts: facts.rolled, guards.retried),
        "retry",
        ROLLING,
        TAKE_LOCK,
        after=SOON,
    ),
    Transition(FAILED, guards.retried, "retry", PREPARING, TAKE_LOCK, after=SOON),
    Transition(FAILED, guards.failed, "waits for a person", blocked=True),
)
