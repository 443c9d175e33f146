"""Guards of the restore state machine: each returns a message if its transition applies. Pure.

Users read the message in status.message and in a condition.
"""

from __future__ import annotations

from datetime import timedelta

from contracts import state_machine
from contracts.naming.labels import RESTORE_ACKNOWLEDGE as ACKNOWLEDGE
from contracts.state_machine import GuardMessage
from managers.restore.inputs import (
    BOOTSTRAP,
    CONVERGENCE,
    PREPARATION,
    RestoreFacts,
    RestoreFailure,
)

Guard = state_machine.Guard[RestoreFacts]
SNAPSHOT_PENDING = "SnapshotPending"
USER_DECIDES = ("Refused", "MembersDiffer")


def new(facts: RestoreFacts) -> GuardMessage:
    return GuardMessage(f"checks OpenBaoCluster {facts.spec.cluster} and the snapshot")


# --- the spec and the snapshot ------------------------------------------------------------------


def snapshot_pending(facts: RestoreFacts) -> RestoreFailure | None:
    source = facts.source
    return (
        source if isinstance(source, RestoreFailure) and source.reason == SNAPSHOT_PENDING else None
    )


def source_failure(facts: RestoreFacts) -> RestoreFailure | None:
    return facts.source if isinstance(facts.source, RestoreFailure) else None


def override_without_force(facts: RestoreFacts) -> GuardMessage | None:
    if facts.spec.override_operation_lock and not facts.spec.force:
        return GuardMessage(
            "spec.overrideOperationLock: true requires spec.force: true; set both or neither"
        )
    return None


# --- the cluster --------------------------------------------------------------------------------


def no_target(facts: RestoreFacts) -> GuardMessage | None:
    if facts.target is not None:
        return None
    name = facts.spec.cluster
    if facts.spec.cluster_template is None:
        return GuardMessage(f"spec.cluster: there is no OpenBaoCluster {name} in this namespace")
    created_uid = facts.status.target.uid if facts.status.target else ""
    if not created_uid:
        return None
    return GuardMessage(f"OpenBaoCluster {name}, which was created for this restore, was deleted")


def fresh_target_missing(facts: RestoreFacts) -> GuardMessage | None:
    return None if facts.target else GuardMessage(f"creates OpenBaoCluster {facts.spec.cluster}")


def target_collision(facts: RestoreFacts) -> GuardMessage | None:
    if facts.spec.cluster_template is None or facts.target is None or facts.created_target:
        return None
    return GuardMessage(
        f"spec.cluster: OpenBaoCluster {facts.spec.cluster} exists and was not created for this "
        "restore"
    )


def target_terminating(facts: RestoreFacts) -> GuardMessage | None:
    if facts.target is None or not facts.target.terminating:
        return None
    return GuardMessage(f"OpenBaoCluster {facts.spec.cluster} is being deleted")


def bootstrapping(facts: RestoreFacts) -> GuardMessage | None:
    if facts.spec.cluster_template is None or facts.target is None or facts.target.available:
        return None
    return GuardMessage(f"waits for OpenBaoCluster {facts.spec.cluster} to become available")


def bootstrap_late(facts: RestoreFacts) -> GuardMessage | None:
    if bootstrapping(facts) is None or not facts.has_passed(facts.status.start_time, BOOTSTRAP):
        return None
    return GuardMessage(
        f"OpenBaoCluster {facts.spec.cluster} did not become available within "
        f"{_minutes(BOOTSTRAP)}: check its conditions"
    )


def target_hibernated(facts: RestoreFacts) -> GuardMessage | None:
    if facts.target is None or not facts.target.hibernated:
        return None
    return GuardMessage(
        f"OpenBaoCluster {facts.spec.cluster} is hibernated, so no server can receive the "
        "snapshot: set its spec.hibernate to false"
    )


def target_paused(facts: RestoreFacts) -> GuardMessage | None:
    if facts.target is None or not facts.target.paused or facts.target.terminating:
        return None
    return GuardMessage(
        f"OpenBaoCluster {facts.spec.cluster} is paused: set its spec.paused to false"
    )


def paused_after_end(facts: RestoreFacts) -> GuardMessage | None:
    """Keep the message of a restore that has ended; its lock is released after the pause."""
    return None if target_paused(facts) is None else GuardMessage(facts.status.message)


def not_initialized(facts: RestoreFacts) -> GuardMessage | None:
    if facts.spec.force or facts.target is None or facts.target.initialized:
        return None
    return GuardMessage(
        f"OpenBaoCluster {facts.spec.cluster} is not initialized yet: wait for it, or set "
        "spec.force"
    )


def upgrading(facts: RestoreFacts) -> GuardMessage | None:
    if facts.spec.force or facts.target is None or not facts.target.upgrading:
        return None
    return GuardMessage(
        f"OpenBaoCluster {facts.spec.cluster} is being upgraded: wait for it, or set spec.force"
    )


def target_failure(facts: RestoreFacts) -> RestoreFailure | None:
    return facts.target.failure if facts.target else None


def target_obstacle(facts: RestoreFacts) -> RestoreFailure | None:
    return facts.target.obstacle if facts.target else None


def valid(facts: RestoreFacts) -> GuardMessage:
    return GuardMessage(f"prepares to restore OpenBaoCluster {facts.spec.cluster}")


def target_changed(facts: RestoreFacts) -> GuardMessage | None:
    """The cluster is not the recorded one any more; only before the job took its permit."""
    if facts.claimed or (facts.same_target and facts.target and not facts.target.terminating):
        return None
    return GuardMessage(
        f"OpenBaoCluster {facts.spec.cluster} was deleted or recreated before the snapshot was sent"
    )


def target_changed_afterwards(facts: RestoreFacts) -> GuardMessage | None:
    if facts.same_target:
        return None
    return GuardMessage(
        f"OpenBaoCluster {facts.spec.cluster} was deleted or recreated after the snapshot was sent"
    )


# --- the lock -----------------------------------------------------------------------------------


def lock_to_override(facts: RestoreFacts) -> GuardMessage | None:
    lock = facts.other_lock
    if lock is None or not facts.may_override:
        return None
    return GuardMessage(f"takes the operation lock from {lock.operation} of {lock.holder}")


def lock_held_by_other(facts: RestoreFacts) -> GuardMessage | None:
    lock = facts.other_lock
    if lock is None:
        return None
    detail = f" ({lock.message})" if lock.message else ""
    return GuardMessage(
        f"waits for {lock.operation} of {lock.holder}{detail}, which holds the operation lock"
    )


def lock_free(facts: RestoreFacts) -> GuardMessage | None:
    if facts.has_lock or facts.other_lock is not None or facts.target is None:
        return None
    return GuardMessage("takes the operation lock")


def lock_held(facts: RestoreFacts) -> GuardMessage | None:
    return GuardMessage(facts.status.message) if facts.has_lock else None


def lock_lost(facts: RestoreFacts) -> GuardMessage | None:
    """The lock is lost; only before the job took its permit."""
    if facts.claimed or facts.has_lock:
        return None
    lock = facts.other_lock
    holder = f"{lock.operation} of {lock.holder} holds it" if lock else "it is free"
    return GuardMessage(f"the operation lock was lost before the snapshot was sent: {holder}")


# --- the job ------------------------------------------------------------------------------------


def preparation_late(facts: RestoreFacts) -> GuardMessage | None:
    execution = facts.execution
    if execution is None or not facts.has_passed(execution.prepared_at, PREPARATION):
        return None
    return GuardMessage(f"no Job could be created within {_minutes(PREPARATION)}")


def prepared(facts: RestoreFacts) -> GuardMessage:
    return GuardMessage(f"is about to create {_job(facts)}")


def committed(facts: RestoreFacts) -> GuardMessage:
    return GuardMessage(f"creates {_job(facts)}")


def job_foreign(facts: RestoreFacts) -> GuardMessage | None:
    if facts.job is None or not facts.job.foreign:
        return None
    return GuardMessage(f"{_job(facts)} exists and is not owned by this restore: delete it")


def job_exists(facts: RestoreFacts) -> GuardMessage | None:
    if facts.job is None:
        return None
    return GuardMessage(f"{_job(facts)} downloads and checks the snapshot")


def reported_success(facts: RestoreFacts) -> GuardMessage | None:
    return _reported(facts, "Succeeded", "the servers accepted the snapshot")


def reported_uncertainty(facts: RestoreFacts) -> GuardMessage | None:
    message = _reported(
        facts, "Uncertain", "the Job cannot tell whether the servers accepted the snapshot"
    )
    return None if message is None else GuardMessage(f"{message}; {required_annotation(facts)}")


def reported_failure(facts: RestoreFacts) -> GuardMessage | None:
    return _reported(facts, "Failed", "the Job failed")


def claimed_without_report(facts: RestoreFacts) -> GuardMessage | None:
    if not facts.claimed or not _job_is_over(facts):
        return None
    ended = "was deleted" if facts.job is None else "ended"
    return GuardMessage(
        f"{_job(facts)} {ended} after it started to send the snapshot, and reported no result; "
        f"{required_annotation(facts)}"
    )


def unclaimed(facts: RestoreFacts) -> GuardMessage | None:
    if facts.claimed:
        return None
    return GuardMessage("the restore was deleted before the snapshot was sent")


def job_lost(facts: RestoreFacts) -> GuardMessage | None:
    if not facts.job_queried or facts.job is not None:
        return None
    return GuardMessage(f"{_job(facts)} was deleted before it sent the snapshot")


def job_ended(facts: RestoreFacts) -> GuardMessage | None:
    if not _job_is_over(facts) or facts.job is None:
        return None
    cause = ": ".join(filter(None, (facts.job.reason, facts.job.message)))
    detail = f" ({cause})" if cause else ""
    return GuardMessage(f"{_job(facts)} ended before it sent the snapshot{detail}: check its log")


def job_runs(facts: RestoreFacts) -> GuardMessage:
    if facts.claimed:
        return GuardMessage(f"{_job(facts)} sends the snapshot")
    return GuardMessage(f"{_job(facts)} downloads and checks the snapshot")


def result_failed(facts: RestoreFacts) -> GuardMessage | None:
    execution = facts.execution
    if execution is None or execution.terminal_result == "Succeeded":
        return None
    return GuardMessage(facts.status.message)


def result_succeeded(facts: RestoreFacts) -> GuardMessage:
    return GuardMessage("the data is restored; the servers are restarted when all of them have it")


# --- afterwards ---------------------------------------------------------------------------------


def abandoned(facts: RestoreFacts) -> GuardMessage | None:
    if facts.answer != "Abandon":
        return None
    return GuardMessage(f"abandoned with {ACKNOWLEDGE}: the state of the data is not verified")


def resumed(facts: RestoreFacts) -> GuardMessage | None:
    return GuardMessage(f"resumed with {ACKNOWLEDGE}") if facts.answer == "Resume" else None


def recovered(facts: RestoreFacts) -> GuardMessage | None:
    verdict = facts.recovery
    if verdict is None or verdict.state != "Verified":
        return None
    return GuardMessage(verdict.message)


def accepted(facts: RestoreFacts) -> GuardMessage | None:
    """A user accepts the current members. Servers that do not serve cannot be accepted."""
    verdict = facts.recovery
    if verdict is None or facts.answer != "Resume" or verdict.state not in USER_DECIDES:
        return None
    return GuardMessage(f"accepted with {ACKNOWLEDGE} although {verdict.message}")


def servers_sealed(facts: RestoreFacts) -> GuardMessage | None:
    """All servers stay sealed for longer than a simultaneous start takes."""
    verdict, execution = facts.recovery, facts.execution
    if verdict is None or execution is None or verdict.state != "Sealed":
        return None
    return (
        GuardMessage(verdict.message)
        if facts.has_passed(execution.terminal_observed_at, CONVERGENCE)
        else None
    )


def recovery_blocked(facts: RestoreFacts) -> GuardMessage | None:
    verdict, execution = facts.recovery, facts.execution
    if verdict is None or execution is None or verdict.state not in USER_DECIDES:
        return None
    if not facts.has_passed(execution.terminal_observed_at, CONVERGENCE):
        return None
    return GuardMessage(f"{verdict.message}; {required_annotation(facts)}")


def recovering(facts: RestoreFacts) -> GuardMessage:
    verdict = facts.recovery
    if verdict is None:
        return GuardMessage("checks the servers")
    if verdict.state == "Sealed":
        return GuardMessage("the servers are starting, and all are still sealed")
    return GuardMessage(verdict.message)


def answer_missing(facts: RestoreFacts) -> GuardMessage:
    if facts.foreign_answer:
        return GuardMessage(
            f"{ACKNOWLEDGE}: {facts.foreign_answer} is not valid for this restore; "
            f"{required_annotation(facts)}"
        )
    return GuardMessage(facts.status.message)


def ended(facts: RestoreFacts) -> GuardMessage:
    return GuardMessage(facts.status.message)


def _job_is_over(facts: RestoreFacts) -> bool:
    if not facts.job_queried:
        return False
    return facts.job is None or facts.job.state != "Active"


def _job(facts: RestoreFacts) -> str:
    return f"Job {facts.execution.job_name if facts.execution else ''}"


def _reported(facts: RestoreFacts, outcome: str, message: str) -> GuardMessage | None:
    report = facts.status.report
    if facts.report != outcome or report is None:
        return None
    return GuardMessage(f"{message}: {report.message}") if report.message else GuardMessage(message)


def required_annotation(facts: RestoreFacts) -> str:
    """Return the annotation that the user has to set."""
    operation_id = facts.execution.operation_id if facts.execution else facts.uid
    return (
        f"check the data, then annotate this object with {ACKNOWLEDGE}={operation_id}/Resume to "
        f"continue with this data, or {operation_id}/Abandon to end the restore as Failed"
    )


def _minutes(period: timedelta) -> str:
    return f"{int(period.total_seconds() // 60)} minutes"
