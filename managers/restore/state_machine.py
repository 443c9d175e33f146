"""The state machine of an OpenBaoRestore. Pure.

| state | meaning |
|---|---|
| New | nothing is decided yet |
| Validating | the cluster, the lock and the spec are checked; nothing is reserved |
| Prepared | the execution is stored: the cluster and the lock |
| Committed | the decision to create a Job is stored |
| Created | the UID of the Job is stored; from now on it may take its submission permit |
| TerminalObserved | the result of the Job is stored |
| Recovering | the data is restored: it replicates, servers restart, members are verified |
| Unknown | it is unknown whether the servers accepted the snapshot: a user decides |
| Ended | Completed or Failed |

In each state the first transition whose guard returns a message applies. The reconciler carries out
its action, then writes the next state with the observed resource version as precondition. The job
takes its permit (`baoctl.jobs.restore`) in the same way, so a permit and a step of the operator
exclude each other. After a crash between action and write the action is repeated, which is safe.
The snapshot is never sent twice: the job can take the permit only once, and only while its own UID
is in the execution of a restore in state Created.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from contracts import state_machine
from contracts.api.restore import ENDED
from contracts.state_machine import Transition, TransitionDecision, always
from managers.restore import guards, guards_disposal, guards_replication
from managers.restore.guards import Guard
from managers.restore.inputs import RestoreFacts, RestoreFailure

State = Literal[
    "New",
    "Validating",
    "Prepared",
    "Committed",
    "Created",
    "TerminalObserved",
    "Recovering",
    "Unknown",
    "Ended",
]
STATES: Final[tuple[State, ...]] = get_args(State)
Next = Literal[
    "Validating",
    "Prepared",
    "Committed",
    "Created",
    "Succeeded",
    "Failed",
    "Recovering",
    "Unknown",
    "Completed",
    "End",
]
"""Succeeded and Failed are TerminalObserved with that result; End is phase Failed."""
Action = Literal[
    "", "make-target", "take-lock", "make-job", "mark-target", "settle", "release", "remove"
]
"""take-lock also overrides, if the spec requests it. mark-target requests a restart of the servers;
settle records that they restarted. release releases the lock; remove deletes the fresh cluster."""

REPLACED: Final[tuple[State, ...]] = ("TerminalObserved", "Recovering")
"""The data was replaced, or a user confirmed that it was."""
LOCK_RECHECK: Final = 5.0
JOB_RECHECK: Final = 5.0
SERVERS_RECHECK: Final = 2.0
USER_RECHECK: Final = 30.0


RestoreDecision = TransitionDecision[RestoreFacts]


@dataclass(frozen=True, slots=True)
class RestoreTransition(Transition[RestoreFacts]):
    """One transition of a restore. `reason` is of contracts.conditions.reasons_restore."""

    at: State
    to: Next | None = None
    action: Action = ""


def _fails(at: State, when: Guard, reason: str = "") -> RestoreTransition:
    return RestoreTransition(at, when, to="End", reason=reason)


def _waits(at: State, when: Guard, reason: str, after: float) -> RestoreTransition:
    return RestoreTransition(at, when, reason=reason, after=after)


def _before_sending(at: State) -> tuple[RestoreTransition, ...]:
    """Failures before the job takes its permit, with or without a Job."""
    return (
        _fails(at, guards.target_changed, "TargetIdentityMismatch"),
        _fails(at, guards.lock_lost, "OperationLockLost"),
    )


def _keeps_lock(at: State, reason: str) -> tuple[RestoreTransition, ...]:
    """Keep or retake the lock after the data was replaced."""
    return (
        _waits(at, guards.lock_held_by_other, "OperationLockBlocked", LOCK_RECHECK),
        RestoreTransition(at, guards.lock_free, action="take-lock", reason=reason),
    )


VALIDATING: tuple[RestoreTransition, ...] = (
    _waits("Validating", guards.snapshot_pending, "SnapshotPending", LOCK_RECHECK),
    _fails("Validating", guards.source_failure),
    _fails("Validating", guards.override_without_force, "InvalidSpec"),
    _fails("Validating", guards.no_target, "TargetUnavailable"),
    RestoreTransition(
        "Validating",
        guards.fresh_target_missing,
        action="make-target",
        reason="TargetBootstrapping",
    ),
    _fails("Validating", guards.target_collision, "TargetCollision"),
    _fails("Validating", guards.target_terminating, "TargetUnavailable"),
    _fails("Validating", guards.bootstrap_late, "TargetBootstrapTimedOut"),
    _waits("Validating", guards.bootstrapping, "TargetBootstrapping", SERVERS_RECHECK),
    # Before the lock: from then on hibernation waits for the restore.
    _waits("Validating", guards.target_hibernated, "TargetHibernated", LOCK_RECHECK),
    RestoreTransition(
        "Validating",
        guards.lock_to_override,
        action="take-lock",
        reason="RestoreValidating",
        status_first=True,
    ),
    _waits("Validating", guards.lock_held_by_other, "OperationLockBlocked", LOCK_RECHECK),
    RestoreTransition(
        "Validating", guards.lock_free, action="take-lock", reason="RestoreValidating"
    ),
    _fails("Validating", guards.not_initialized, "TargetNotInitialized"),
    _fails("Validating", guards.upgrading, "UpgradeInProgress"),
    _fails("Validating", guards.target_failure),
    _waits("Validating", guards.target_obstacle, "RestoreValidating", LOCK_RECHECK),
    RestoreTransition("Validating", guards.valid, to="Prepared", reason="RestoreRunning"),
)

RUNNING: tuple[RestoreTransition, ...] = (
    *_before_sending("Prepared"),
    _fails("Prepared", guards.preparation_late, "PreparationTimedOut"),
    RestoreTransition("Prepared", guards.prepared, to="Committed", reason="RestoreRunning"),
    *_before_sending("Committed"),
    _fails("Committed", guards.job_foreign, "ForeignObject"),
    RestoreTransition("Committed", guards.job_exists, to="Created", reason="RestoreRunning"),
    _fails("Committed", guards.preparation_late, "PreparationTimedOut"),
    _fails("Committed", guards.source_failure),
    _fails("Committed", guards.target_failure),
    _waits("Committed", guards.target_obstacle, "RestoreRunning", LOCK_RECHECK),
    RestoreTransition("Committed", guards.committed, action="make-job", reason="RestoreRunning"),
    # The report of the job has precedence over its observed state.
    RestoreTransition(
        "Created", guards.reported_success, to="Succeeded", reason="RestoreRecovering"
    ),
    RestoreTransition(
        "Created", guards.reported_uncertainty, to="Unknown", reason="RestoreExecutionUnknown"
    ),
    RestoreTransition("Created", guards.reported_failure, to="Failed", reason="RestoreFailed"),
    RestoreTransition(
        "Created", guards.claimed_without_report, to="Unknown", reason="RestoreExecutionUnknown"
    ),
    *_before_sending("Created"),
    _fails("Created", guards.job_lost, "JobLost"),
    RestoreTransition("Created", guards.job_ended, to="Failed", reason="JobFailed"),
    _waits("Created", guards.job_runs, "RestoreRunning", JOB_RECHECK),
)

AFTERWARDS: tuple[RestoreTransition, ...] = (
    _fails("TerminalObserved", guards.result_failed, "RestoreFailed"),
    RestoreTransition(
        "TerminalObserved", guards.result_succeeded, to="Recovering", reason="RestoreRecovering"
    ),
    _fails("Recovering", guards.abandoned, "RestoreAbandoned"),
    _fails("Recovering", guards.target_changed_afterwards, "TargetIdentityMismatch"),
    *_keeps_lock("Recovering", "RestoreRecovering"),
    RestoreTransition(
        "Recovering",
        guards_replication.data_replicated,
        action="mark-target",
        reason="RestoreRecovering",
    ),
    RestoreTransition(
        "Recovering",
        guards_replication.replication_accepted,
        action="mark-target",
        reason="RestoreRecovering",
    ),
    RestoreTransition(
        "Recovering",
        guards_replication.replication_blocked,
        reason="RecoveryBlocked",
        after=SERVERS_RECHECK,
        blocked=True,
    ),
    RestoreTransition(
        "Recovering", guards.recovered, action="settle", to="Completed", reason="RestoreSucceeded"
    ),
    RestoreTransition(
        "Recovering", guards.accepted, action="settle", to="Completed", reason="RestoreSucceeded"
    ),
    _waits("Recovering", guards.servers_sealed, "ServersSealed", LOCK_RECHECK),
    RestoreTransition(
        "Recovering",
        guards.recovery_blocked,
        reason="RecoveryBlocked",
        after=USER_RECHECK,
        blocked=True,
    ),
    _waits("Recovering", guards.recovering, "RestoreRecovering", SERVERS_RECHECK),
    # The report may be late if the API server was unavailable when the Job ended.
    RestoreTransition(
        "Unknown", guards.reported_success, to="Succeeded", reason="RestoreRecovering"
    ),
    _fails("Unknown", guards.abandoned, "RestoreAbandoned"),
    _fails("Unknown", guards.target_changed_afterwards, "TargetIdentityMismatch"),
    RestoreTransition("Unknown", guards.resumed, to="Recovering", reason="RestoreRecovering"),
    RestoreTransition(
        "Unknown", guards.lock_free, action="take-lock", reason="RestoreExecutionUnknown"
    ),
    RestoreTransition(
        "Unknown", guards.answer_missing, reason="RestoreExecutionUnknown", blocked=True
    ),
    RestoreTransition("Ended", guards.lock_held, action="release"),
    RestoreTransition("Ended", guards_disposal.target_disposable, action="remove"),
    RestoreTransition("Ended", guards.ended),
)

# A pause holds a restore in every state, and is reported once. A running Job continues, and its
# report is read after the pause. The end of the pause triggers a reconcile.
PAUSED: tuple[RestoreTransition, ...] = (
    *(
        RestoreTransition(at, guards.target_paused, reason="TargetPaused")
        for at in STATES
        if at not in ("New", "Ended")
    ),
    RestoreTransition("Ended", guards.paused_after_end),
)

TABLE: tuple[RestoreTransition, ...] = (
    *PAUSED,
    RestoreTransition("New", guards.new, to="Validating", reason="RestoreValidating"),
    *VALIDATING,
    *RUNNING,
    *AFTERWARDS,
)


def _releases(at: State) -> tuple[RestoreTransition, ...]:
    return (
        RestoreTransition(at, guards.lock_held, action="release"),
        RestoreTransition(at, guards_disposal.disposable_exists, action="remove"),
        RestoreTransition(at, always),
    )


# A restore that is being deleted: first revoke the permit of the Job, then release the lock and
# delete the fresh cluster.
DELETION_TABLE: tuple[RestoreTransition, ...] = (
    *(
        RestoreTransition(at, guards.unclaimed, to="End", reason="RestoreDeleted")
        for at in ("Prepared", "Committed", "Created")
    ),
    *(transition for transition in RUNNING if transition.to in ("Succeeded", "Failed", "Unknown")),
    _waits("Created", guards.job_runs, "RestoreRunning", JOB_RECHECK),
    # The data was replaced, so the servers must be restarted even now, unless that could lose a
    # server: once the object is deleted, no user can accept the loss.
    *(
        transition
        for at in REPLACED
        for transition in (
            RestoreTransition(at, guards_replication.data_replicated, action="mark-target"),
            _waits(at, guards_replication.still_replicating, "RestoreRecovering", SERVERS_RECHECK),
        )
    ),
    *(transition for at in STATES for transition in _releases(at)),
)


def state_of(facts: RestoreFacts) -> State:
    """Return the state of a restore, derived only from its status."""
    status = facts.status
    if status.phase in ENDED:
        return "Ended"
    if status.phase is None or status.phase == "Pending":
        return "New"
    if status.phase == "Unknown":
        return "Unknown"
    if status.execution is None:
        return "Validating"
    return status.execution.stage


def decide(facts: RestoreFacts, *, deleting: bool = False) -> RestoreDecision:
    """Return the first transition that applies. `deleting`: the restore is being deleted.

    Every state has a transition that always applies.
    """
    return state_machine.decide(DELETION_TABLE if deleting else TABLE, state_of(facts), facts)


def refused(facts: RestoreFacts, failure: RestoreFailure) -> RestoreDecision:
    """Return the decision for a restore whose action was permanently rejected."""
    return TransitionDecision(_fails(state_of(facts), always), failure.reason, failure.message)
