"""The state machine of an OpenBaoBackup. Pure.

| state | meaning |
|---|---|
| Waiting | nothing is reserved; cluster, lock and operations with precedence are checked |
| Prepared | the reservation is stored: the cluster, the lock and the key |
| Running | the UID of the Job is stored; the report of the Job determines the result |
| Ended | Completed, Failed or Unknown |

In each state the first transition whose guard returns a message applies. The reconciler carries out
its action, then writes the next state. After a crash between the two the action is repeated, which
is safe: the lock names its holder, the Job has a fixed name, and cleanup is done before the result
is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from contracts import state_machine
from contracts.api.backup import TERMINAL, BackupObjectStatus
from contracts.api.rules.backup_object import snapshot_violations
from contracts.conditions.reasons_backup import FAILURES
from contracts.naming import names, snapshot_keys
from contracts.state_machine import (
    APPLIES,
    GuardMessage,
    GuardReason,
    Transition,
    TransitionDecision,
    always,
)
from managers.backup.inputs import POD_PATIENCE, BackupFacts
from managers.operation_lock.decide import first_in_line
from managers.operation_lock.holders import UPGRADE_HOLDER

State = Literal["Waiting", "Prepared", "Running", "Ended"]
STATES: Final[tuple[State, ...]] = get_args(State)
Next = Literal["Waiting", "Prepared", "Running", "Completed", "Failed", "Unknown"]
Action = Literal["", "take-lock", "make-job", "release", "cancel", "settle"]
"""settle sets a TTL on the Job, removes the RBAC of its pod and releases the lock; cancel deletes
the Job before that."""
Guard = state_machine.Guard[BackupFacts]
BackupDecision = TransitionDecision[BackupFacts]

FOREIGN: Final = "Job {job} exists and is not owned by this OpenBaoBackup"
JOB_RECHECK: Final = 5.0
TARGET_RECHECK: Final = 1.0
LOCK_RECHECK: Final = 15.0
"""Seconds. The release of a lock triggers a reconcile; the timer covers changes without events."""


@dataclass(frozen=True, slots=True)
class BackupTransition(Transition[BackupFacts]):
    """One transition of a backup."""

    at: State
    to: Next | None = None
    action: Action = ""


def state_of(status: BackupObjectStatus) -> State:
    """Return the state of a backup, derived from its stored status."""
    if status.phase in TERMINAL:
        return "Ended"
    if status.job_uid:
        return "Running"
    return "Prepared" if status.key else "Waiting"


def decide(facts: BackupFacts) -> BackupDecision:
    """Choose the next transition. Raises ValueError for a backup that has ended."""
    return state_machine.decide(TRANSITIONS, state_of(facts.status), facts)


def wait_decision(
    decision: BackupDecision, reason: str, message: str, after: float | None
) -> BackupDecision:
    """Return the decision for an action that has to wait."""
    transition = replace(
        decision.transition, to="Waiting", action="", after=after, blocked=after is None
    )
    return TransitionDecision(transition, reason, message)


def refused(decision: BackupDecision, reason: str, message: str) -> BackupDecision:
    """Return the decision for an action that was permanently rejected."""
    return TransitionDecision(
        replace(decision.transition, to="Failed", action="settle", after=None), reason, message
    )


# --- guards: preconditions ----------------------------------------------------------------------


def _invalid(facts: BackupFacts) -> GuardMessage | None:
    violations = snapshot_violations(facts.backup)
    return GuardMessage("; ".join(map(str, violations))) if violations else None


def _no_cluster(facts: BackupFacts) -> GuardMessage | None:
    if facts.cluster is not None:
        return None
    return GuardMessage(f"OpenBaoCluster {facts.spec.cluster} does not exist, or is being deleted")


def _another_cluster(facts: BackupFacts) -> GuardMessage | None:
    if facts.same_cluster:
        return None
    return GuardMessage(
        f"OpenBaoCluster {facts.spec.cluster} was deleted or recreated since the backup started"
    )


def _paused(facts: BackupFacts) -> GuardMessage | None:
    return APPLIES if facts.paused else None


def _not_configured(facts: BackupFacts) -> GuardMessage | None:
    if facts.cluster and facts.cluster.spec.backup is None:
        return GuardMessage(f"spec.backup of OpenBaoCluster {facts.spec.cluster} is not set")
    return None


def _not_initialized(facts: BackupFacts) -> GuardMessage | None:
    return APPLIES if facts.cluster and not facts.cluster.status.initialized else None


def _hibernated(facts: BackupFacts) -> GuardMessage | None:
    return APPLIES if facts.cluster and facts.cluster.spec.hibernate else None


def _restore_first(facts: BackupFacts) -> GuardMessage | None:
    return APPLIES if first_in_line("Backup", facts.waiting) == "Restore" else None


def _upgrade_first(facts: BackupFacts) -> GuardMessage | None:
    if facts.spec.origin == "PreUpgrade":
        return None
    return APPLIES if first_in_line("Backup", facts.waiting) == "Upgrade" else None


def _no_upgrade(facts: BackupFacts) -> GuardMessage | None:
    if facts.spec.origin != "PreUpgrade" or (facts.lock and facts.lock.holder == UPGRADE_HOLDER):
        return None
    return GuardMessage("no upgrade of the cluster holds the operation lock")


def _key_elsewhere(facts: BackupFacts) -> GuardMessage | None:
    """The target changed after the key was chosen: the Job would reject the key."""
    cluster, key = facts.cluster, snapshot_keys.parse(facts.status.key)
    if cluster is None or cluster.spec.backup is None:
        return None
    prefix = (cluster.spec.backup.target.path_prefix or "").strip("/")
    meta = cluster.metadata
    if key and key.place == (prefix, meta.namespace, meta.name):
        return None
    required = snapshot_keys.list_prefix(prefix, meta.namespace, meta.name)
    return GuardMessage(
        f"{facts.status.key} does not have the prefix {required}: the operator chooses a new key"
    )


# --- guards: the Job ----------------------------------------------------------------------------


def _job(facts: BackupFacts) -> str:
    return f"Job {facts.status.job_name}"


def _foreign(facts: BackupFacts) -> GuardMessage | None:
    if facts.job is None or not facts.job.foreign:
        return None
    return GuardMessage(FOREIGN.format(job=facts.status.job_name))


def _job_exists(facts: BackupFacts) -> GuardMessage | None:
    return GuardMessage(_job_is_made(facts)) if facts.job is not None else None


def _job_is_made(facts: BackupFacts) -> GuardMessage:
    return GuardMessage(f"{_job(facts)} takes the snapshot")


def _reported_success(facts: BackupFacts) -> GuardMessage | None:
    report = facts.report
    if report is None or report.outcome != "Succeeded":
        return None
    return GuardMessage(f"stored as {facts.status.key}")


def _reported_failure(facts: BackupFacts) -> GuardReason | None:
    report = facts.report
    if report is None or report.outcome != "Failed":
        return None
    return GuardReason(FAILURES[report.failure], report.message)


def _job_gone(facts: BackupFacts) -> GuardMessage | None:
    if not facts.job_queried or facts.job is not None:
        return None
    return GuardMessage(
        f"{_job(facts)} was deleted without a report: the snapshot may or may not exist"
    )


def _job_failed(facts: BackupFacts) -> GuardMessage | None:
    job = facts.job
    if job is None or job.state != "Failed":
        return None
    cause = ": ".join(filter(None, (job.reason, job.message)))
    return GuardMessage(
        f"{_job(facts)} failed without a report ({cause or 'no reason given'}): check its log"
    )


def _job_silent(facts: BackupFacts) -> GuardMessage | None:
    if facts.job is None or facts.job.state != "Succeeded":
        return None
    return GuardMessage(
        f"{_job(facts)} succeeded without a report: the snapshot may or may not exist"
    )


def _job_unstarted(facts: BackupFacts) -> GuardMessage | None:
    if facts.job is None or not facts.job.unstarted(facts.now, facts.resumed):
        return None
    return GuardMessage(
        f"no pod of {_job(facts)} runs, and the Job was deleted: check its image, the quota of the "
        "namespace, and the capacity and state of the nodes"
    )


def _job_runs(facts: BackupFacts) -> GuardMessage | None:
    job, started = facts.job, facts.status.started_at
    if job is not None and job.stopping:
        return GuardMessage(f"the pod of {_job(facts)} ends: waits for its report")
    if job is not None and not job.ready and started and facts.now - started > POD_PATIENCE:
        return GuardMessage(
            f"{_job(facts)} has no running pod yet: check the events of the Job and its pod"
        )
    return GuardMessage(_job_is_made(facts))


def _waits(
    when: Guard, reason: str, after: float | None = None
) -> tuple[BackupTransition, BackupTransition]:
    """Apply a guard in Waiting and Prepared. In Prepared, undo the reservation: no Job exists."""
    blocked = after is None
    return (
        BackupTransition("Waiting", when, reason=reason, after=after, blocked=blocked),
        BackupTransition(
            "Prepared", when, to="Waiting", reason=reason, action="release", after=after
        ),
    )


_FIRST: Final = (
    BackupTransition("Waiting", _no_cluster, reason="ClusterMissing", blocked=True),
    BackupTransition("Waiting", _paused, reason="Paused", blocked=True),
    *_waits(_not_configured, "BackupNotConfigured"),
    *_waits(_not_initialized, "NotInitialized", LOCK_RECHECK),
    *_waits(_hibernated, "Hibernated"),
    *_waits(_restore_first, "RestorePending", LOCK_RECHECK),
    *_waits(_upgrade_first, "UpgradePending", LOCK_RECHECK),
    *_waits(_no_upgrade, "UpgradeLockMissing", LOCK_RECHECK),
)

TRANSITIONS: Final[tuple[BackupTransition, ...]] = (
    # A pause stops a backup; the report of its Job is read after the pause.
    BackupTransition("Prepared", _paused, reason="Paused", blocked=True),
    BackupTransition("Running", _paused, reason="Paused", blocked=True),
    # A Job that was created but not recorded continues, whatever changed since.
    BackupTransition("Prepared", _foreign, to="Failed", reason="ForeignObject", action="settle"),
    BackupTransition("Prepared", _job_exists, to="Running", reason="BackupRunning"),
    BackupTransition(
        "Prepared", _another_cluster, to="Failed", reason="ClusterMissing", action="settle"
    ),
    BackupTransition("Waiting", _invalid, to="Failed", reason="InvalidSpec", action="settle"),
    *_FIRST,
    BackupTransition("Waiting", always, to="Prepared", reason="BackupPrepared", action="take-lock"),
    BackupTransition(
        "Prepared",
        _key_elsewhere,
        to="Waiting",
        reason="TargetChanged",
        action="release",
        after=TARGET_RECHECK,
    ),
    BackupTransition(
        "Prepared", _job_is_made, to="Running", reason="BackupRunning", action="make-job"
    ),
    BackupTransition(
        "Running", _reported_success, to="Completed", reason="BackupCompleted", action="settle"
    ),
    BackupTransition("Running", _reported_failure, to="Failed", action="settle"),
    BackupTransition("Running", _job_gone, to="Unknown", reason="OutcomeUnknown", action="settle"),
    BackupTransition("Running", _foreign, to="Unknown", reason="OutcomeUnknown", action="settle"),
    BackupTransition("Running", _job_failed, to="Failed", reason="JobFailed", action="settle"),
    BackupTransition(
        "Running", _job_silent, to="Unknown", reason="OutcomeUnknown", action="settle"
    ),
    BackupTransition(
        "Running", _job_unstarted, to="Failed", reason="JobNotStarted", action="cancel"
    ),
    BackupTransition("Running", _job_runs, reason="BackupRunning", after=JOB_RECHECK),
)


def job_of(name: str) -> str:
    """Return the name of the Job of an OpenBaoBackup."""
    return names.run_job("backup", name)
