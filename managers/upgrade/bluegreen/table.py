"""The table of all that may happen to an upgrade by a second set of servers. Pure.

| place | what it means |
|---|---|
| Idle | one set serves; an upgrade may be begun: its inputs are frozen, and nothing is made yet |
| DeployingGreen | green is made; it can join blue and can never begin a cluster of its own |
| JoiningMesh | green joins the raft cluster without a vote |
| Syncing | green follows; it is judged, and somebody says yes |
| Promoting | green gets its votes |
| DemotingBlue | clients are sent to green, which leads; blue loses its votes and is kept |
| Cleanup | blue leaves the raft cluster and is deleted; there is no way back from here |
| RestoringReadReplicas | read replicas get the new release |
| RollingBack | clients are sent to blue; blue gets its votes back and leads |
| RollbackCleanup | green leaves the raft cluster and is deleted |

Of the rows of a place the first whose guard has something to say decides (contracts.state_machine).
Its act is done, then its next place is written; a crash between the two repeats the act, which is
safe. Before Promoting an upgrade that fails is given up: green has no vote, so it is just taken
away. From Promoting on it is rolled back. Neither is tried again by itself.
"""

from __future__ import annotations

from typing import Final

from contracts.records.bluegreen import (
    CLEANUP,
    DELETE_CLAIM,
    DELETE_SET,
    DEMOTING,
    DEPLOYING,
    DROP_HOOK,
    FREE_LOCK,
    IDLE,
    JOINING,
    MAKE_HOOK,
    MAKE_JOB,
    MAKE_SNAPSHOT,
    PROMOTING,
    RESTORING,
    ROLLBACK_CLEANUP,
    ROLLING_BACK,
    START_HOOK,
    SYNCING,
    TAKE_LOCK,
    BlueGreenFacts,
)
from contracts.state_machine import Guard, Transition, always
from managers.upgrade.bluegreen import guards as ask
from managers.upgrade.bluegreen import pool_guards as sets
from managers.upgrade.bluegreen import validation_hook
from managers.upgrade.messages import (
    BACK,
    HELD,
    LOCKED,
    OBSTRUCTED,
    PAUSED,
    REFUSED,
    RUNS,
    SAFE_MODE,
)

Facts = BlueGreenFacts
Ask = Guard[Facts]
Rows = tuple[Transition[Facts], ...]

# Acts that are nothing but a word in the status.
BEGIN: Final = "begin"
DROP: Final = "drop"
GIVE_UP: Final = "give-up"
COUNT: Final = "count-failure"
NEXT_SNAPSHOT: Final = "next-snapshot"
RECORD_HOOK: Final = "record-hook"
FORGET_HOOK: Final = "forget-hook"
ENTER_SAFE_MODE: Final = "enter-safe-mode"
LEAVE_SAFE_MODE: Final = "leave-safe-mode"

SOON: Final = 0.05
"""Seconds to the next pass when it is known what comes next."""
RECHECK: Final = 2.0
SLOW: Final = 15.0
SAFE_MODE_RECHECK: Final = 60.0

"""Reasons of rows by which nothing is done, so that orders stay to be carried out."""


def _first(at: str) -> Rows:
    return (
        Transition(at, ask.paused, "paused", reason=PAUSED),
        Transition(at, ask.answered, "acknowledged", act=LEAVE_SAFE_MODE, reason=RUNS, after=SOON),
        Transition(
            at,
            ask.unanswered,
            "safe mode",
            reason=SAFE_MODE,
            after=SAFE_MODE_RECHECK,
            blocked=True,
        ),
    )


def _under_way(at: str) -> Rows:
    return (
        *_first(at),
        Transition(at, ask.held_by_another, "lock lost", reason=LOCKED, after=SLOW),
        Transition(at, ask.lock_free, "no lock", act=TAKE_LOCK, reason=LOCKED, after=SOON),
    )


def _wait(
    at: str, when: Ask, says: str, reason: str = RUNS, after: float = RECHECK
) -> Transition[Facts]:
    return Transition(at, when, says, reason=reason, after=after)


def _back(at: str, to: str, *pairs: tuple[Ask, str]) -> Rows:
    return tuple(Transition(at, when, says, to, reason=BACK, after=SOON) for when, says in pairs)


def _early(at: str) -> Rows:
    return (
        *_under_way(at),
        *_back(
            at,
            ROLLBACK_CLEANUP,
            (ask.rolled_back, "rollback asked"),
            (sets.taken_back, "taken back"),
            (sets.green_alone, "green leads"),
            (sets.green_broken, "green cannot run"),
        ),
    )


def _late(at: str) -> Rows:
    pairs = (
        (ask.rolled_back, "rollback asked"),
        (sets.taken_back, "taken back"),
        (sets.green_broken, "green cannot run"),
    )
    return (*_under_way(at), *_back(at, ROLLING_BACK, *pairs))


def _makes(at: str) -> Rows:
    return (
        Transition(at, ask.job_failed, "Job failed", act=COUNT, reason=RUNS, after=SOON),
        Transition(at, ask.job_offered_again, "offered again", None, MAKE_JOB, HELD, RECHECK, True),
        Transition(at, ask.job_refused, "Job refused", reason=HELD, after=SLOW, blocked=True),
        Transition(at, ask.job_missing, "no Job", act=MAKE_JOB, reason=RUNS, after=RECHECK),
        _wait(at, ask.job_runs, "Job runs"),
    )


def _job(at: str, back: str) -> Rows:
    """The Job of a phase from which an upgrade that fails goes back by itself."""
    return (
        *_back(at, back, (ask.job_hopeless, "Job failed too often")),
        Transition(at, ask.job_held, "Job failed, held", reason=HELD, blocked=True),
        *_makes(at),
    )


def _safe(at: str, when: Ask, says: str) -> Transition[Facts]:
    return Transition(
        at, when, says, at, ENTER_SAFE_MODE, SAFE_MODE, SAFE_MODE_RECHECK, blocked=True
    )


def _hook(*steps: validation_hook.Step) -> Ask:
    return lambda now: "the hook judges green" if validation_hook.step(now) in steps else None


def _said_no(now: Facts) -> str | None:
    if validation_hook.step(now) != "failed" or not now.by_itself.enabled:
        return None
    return "the hook said no" if now.by_itself.on_validation_failure else None


def _judged_again(now: Facts) -> str | None:
    asked = validation_hook.step(now) in ("failed", "unknown") and now.pending("retry")
    return "the hook is asked again" if asked else None


def _refused_hook(now: Facts) -> str | None:
    refused = validation_hook.step(now) == "make" and now.hook_refused
    return f"the hook cannot run: {now.hook_refused}" if refused else None


def _offered_hook(now: Facts) -> str | None:
    return _refused_hook(now) if now.offers_again else None


def _undecided(now: Facts) -> str | None:
    taken = validation_hook.step(now)
    if taken == "unknown":
        return "the Job of the hook is gone, and nobody can tell what it said; read its namespace"
    return "the hook said no" if taken == "failed" else None


_IDLE: Rows = (
    *_first(IDLE),
    Transition(IDLE, ask.lock_left, "lock left", act=FREE_LOCK),
    Transition(IDLE, ask.as_asked, "as asked"),
    _wait(IDLE, ask.not_initialized, "not initialized", "NotInitialized", SAFE_MODE_RECHECK),
    Transition(IDLE, ask.refused, "refused", reason=REFUSED, blocked=True),
    Transition(IDLE, ask.given_up, "failed before", reason=BACK, blocked=True),
    _wait(IDLE, ask.obstructed_first, "obstructed", OBSTRUCTED),
    Transition(IDLE, ask.left_members, "members left", reason=HELD, after=SLOW, blocked=True),
    Transition(IDLE, ask.left_set, "set left", act=DELETE_SET, reason=RUNS, after=RECHECK),
    _wait(IDLE, ask.left_pods, "pods left"),
    Transition(
        IDLE, ask.foreign_claims, "volumes of others", reason=HELD, after=SLOW, blocked=True
    ),
    Transition(IDLE, ask.kept_claims, "volumes kept", reason=HELD, after=SLOW, blocked=True),
    Transition(IDLE, ask.left_claims, "volumes left", act=DELETE_CLAIM, reason=RUNS, after=RECHECK),
    Transition(IDLE, ask.unbegun, "another release asked", act=BEGIN, reason=RUNS, after=SOON),
    Transition(IDLE, ask.changed, "changed", act=DROP, reason=RUNS, after=SOON),
    Transition(IDLE, ask.rolled_back, "rollback asked", act=GIVE_UP, reason=BACK, after=SOON),
    Transition(IDLE, ask.held_by_another, "lock held", reason=LOCKED, after=SLOW),
    Transition(IDLE, ask.lock_free, "no lock", act=TAKE_LOCK, reason=LOCKED, after=SOON),
    Transition(
        IDLE,
        ask.snapshot_hopeless,
        "third snapshot failed",
        act=GIVE_UP,
        reason="PreUpgradeBackupFailed",
        after=SOON,
    ),
    Transition(
        IDLE, ask.snapshot_failed, "snapshot failed", act=NEXT_SNAPSHOT, reason=RUNS, after=SOON
    ),
    Transition(IDLE, ask.no_snapshot, "no snapshot", act=MAKE_SNAPSHOT, reason=RUNS, after=RECHECK),
    _wait(IDLE, ask.snapshot_runs, "snapshot runs"),
    _wait(IDLE, ask.obstructed, "obstructed", OBSTRUCTED),
    Transition(IDLE, always, "all well", DEPLOYING, reason=RUNS, after=SOON),
)

_DEPLOYING: Rows = (
    *_early(DEPLOYING),
    _wait(DEPLOYING, sets.no_blue, "blue not ready"),
    *_back(DEPLOYING, ROLLBACK_CLEANUP, (sets.green_undeployed, "green not ready in time")),
    _wait(DEPLOYING, sets.green_unready, "green not ready"),
    Transition(DEPLOYING, always, "green ready", JOINING, reason=RUNS, after=SOON),
)

_JOINING: Rows = (
    *_early(JOINING),
    *_back(JOINING, ROLLBACK_CLEANUP, (sets.green_unready_late, "green not ready in time")),
    _wait(JOINING, sets.green_unready, "green not ready"),
    *_job(JOINING, ROLLBACK_CLEANUP),
    Transition(JOINING, always, "joined", SYNCING, reason=RUNS, after=SOON),
)

_SYNCING: Rows = (
    *_early(SYNCING),
    _wait(SYNCING, sets.green_unready, "green not ready"),
    _wait(SYNCING, sets.syncs, "minSyncDuration"),
    *_job(SYNCING, ROLLBACK_CLEANUP),
    Transition(
        SYNCING, _judged_again, "hook asked again", act=FORGET_HOOK, reason=RUNS, after=SOON
    ),
    *_back(SYNCING, ROLLBACK_CLEANUP, (_said_no, "hook said no")),
    Transition(SYNCING, _undecided, "hook held", reason=HELD, blocked=True),
    Transition(SYNCING, _hook("edited"), "hook edited", act=DROP_HOOK, reason=RUNS, after=SOON),
    Transition(SYNCING, _offered_hook, "offered again", None, MAKE_HOOK, HELD, RECHECK, True),
    Transition(SYNCING, _refused_hook, "hook refused", reason=HELD, after=SLOW, blocked=True),
    Transition(SYNCING, _hook("make"), "no hook Job", act=MAKE_HOOK, reason=RUNS, after=SOON),
    Transition(SYNCING, _hook("start"), "hook decided", act=START_HOOK, reason=RUNS, after=SOON),
    Transition(
        SYNCING,
        _hook(*validation_hook.RECORDED),
        "hook seen",
        act=RECORD_HOOK,
        reason=RUNS,
        after=SOON,
    ),
    _wait(SYNCING, _hook("wait"), "hook runs"),
    _wait(SYNCING, sets.unpromoted, "not approved", HELD, SAFE_MODE_RECHECK),
    Transition(SYNCING, always, "in sync and approved", PROMOTING, reason=RUNS, after=SOON),
)

_PROMOTING: Rows = (
    *_late(PROMOTING),
    *_back(PROMOTING, ROLLING_BACK, (sets.green_unready_late, "green not ready in time")),
    _wait(PROMOTING, sets.green_unready, "green not ready"),
    *_job(PROMOTING, ROLLING_BACK),
    *_back(PROMOTING, ROLLING_BACK, (sets.votes_missing_late, "green does not vote in time")),
    _wait(PROMOTING, sets.votes_missing, "green does not vote yet"),
    Transition(PROMOTING, always, "green votes", DEMOTING, reason=RUNS, after=SOON),
)

_DEMOTING: Rows = (
    *_late(DEMOTING),
    *_back(DEMOTING, ROLLING_BACK, (sets.green_unready_late, "green not ready in time")),
    _wait(DEMOTING, sets.green_unready, "green not ready"),
    _wait(DEMOTING, sets.traffic_behind, "clients at blue"),
    *_back(DEMOTING, ROLLING_BACK, (sets.unfit_to_lead_late, "green does not vote in time")),
    _wait(DEMOTING, sets.unfit_to_lead, "green does not vote"),
    *_job(DEMOTING, ROLLING_BACK),
    *_back(DEMOTING, ROLLING_BACK, (sets.not_handed_over_late, "blue leads or votes still")),
    _wait(DEMOTING, sets.not_handed_over, "blue leads or votes"),
    _wait(DEMOTING, sets.verifies, "blue is kept"),
    Transition(DEMOTING, always, "green leads, and was seen to", CLEANUP, reason=RUNS, after=SOON),
)

_CLEANUP: Rows = (
    *_under_way(CLEANUP),
    _wait(CLEANUP, sets.not_alone, "green needs blue"),
    Transition(CLEANUP, ask.job_stuck, "Job failed too often", reason=HELD, blocked=True),
    *_makes(CLEANUP),
    Transition(CLEANUP, sets.blue_set, "blue is there", act=DELETE_SET, reason=RUNS, after=RECHECK),
    _wait(CLEANUP, sets.blue_pods, "blue ends"),
    _wait(CLEANUP, sets.membership_unknown, "members unknown"),
    Transition(CLEANUP, sets.blue_peers_stuck, "blue stays a member", reason=HELD, blocked=True),
    Transition(CLEANUP, sets.blue_peers, "blue is a member", act=COUNT, reason=RUNS, after=SOON),
    Transition(CLEANUP, sets.blue_claims, "volumes", act=DELETE_CLAIM, reason=RUNS, after=RECHECK),
    Transition(CLEANUP, sets.reads_wanted, "read replicas", RESTORING, reason=RUNS, after=SOON),
    Transition(CLEANUP, always, "blue is gone", IDLE, FREE_LOCK, after=SOON),
)

_RESTORING: Rows = (
    *_under_way(RESTORING),
    _wait(RESTORING, sets.reads_unsettled, "read replicas follow", after=SLOW),
    Transition(RESTORING, always, "all follow", IDLE, FREE_LOCK, after=SOON),
)

_ROLLING_BACK: Rows = (
    *_under_way(ROLLING_BACK),
    _wait(ROLLING_BACK, ask.former_job, "Job of before", BACK),
    _safe(ROLLING_BACK, sets.blue_unfit_late, "blue not ready in time"),
    _wait(ROLLING_BACK, sets.blue_unfit, "blue not ready", BACK),
    _safe(ROLLING_BACK, ask.job_spent, "Job failed too often"),
    *_makes(ROLLING_BACK),
    _safe(ROLLING_BACK, sets.blue_does_not_lead_late, "blue does not lead in time"),
    _wait(ROLLING_BACK, sets.blue_does_not_lead, "blue does not lead", BACK),
    Transition(ROLLING_BACK, always, "blue leads", ROLLBACK_CLEANUP, reason=BACK, after=SOON),
)

_ROLLBACK_CLEANUP: Rows = (
    *_under_way(ROLLBACK_CLEANUP),
    _wait(ROLLBACK_CLEANUP, ask.former_job, "Job of before", BACK),
    _wait(ROLLBACK_CLEANUP, sets.blue_loses, "blue does not lead", BACK),
    _safe(ROLLBACK_CLEANUP, ask.job_spent, "Job failed too often"),
    *_makes(ROLLBACK_CLEANUP),
    Transition(
        ROLLBACK_CLEANUP, sets.green_set, "green is there", act=DELETE_SET, reason=BACK, after=2.0
    ),
    _wait(ROLLBACK_CLEANUP, sets.green_pods, "green ends", BACK),
    _safe(ROLLBACK_CLEANUP, sets.green_peers_stuck, "green stays a member"),
    Transition(
        ROLLBACK_CLEANUP, sets.green_peers, "green is a member", act=COUNT, reason=BACK, after=SOON
    ),
    Transition(
        ROLLBACK_CLEANUP, sets.green_claims, "volumes", act=DELETE_CLAIM, reason=BACK, after=2.0
    ),
    Transition(ROLLBACK_CLEANUP, always, "green is gone", IDLE, FREE_LOCK, reason=BACK, after=SOON),
)

TABLE: Rows = (
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
