"""Situations of a prepared restore, and the transition that applies to each."""

from dataclasses import replace
from typing import Any

from tests.managers.restore.cases_before import FRESH, LATER, MADE, Case, verdict
from tests.managers.restore.situations import (
    CLAIM,
    FAILED,
    LOCKED,
    MARKED,
    OURS,
    READY,
    RUNS,
    SUCCEEDED,
    TARGET_UID,
    at,
    facts,
    report,
)


def recovering(observed: str) -> dict[str, Any]:
    """Return the status of a restore whose result was observed at this time."""
    execution = {**at("Recovering")["execution"], "terminalObservedAt": observed}
    return {**at("Recovering"), "execution": execution}


def completed(at: str, uid: str = TARGET_UID) -> dict[str, Any]:
    return {"phase": "Completed", "completionTime": at, "target": {"uid": uid}}


LATE = recovering("2026-11-22T11:50:00Z")
"""The data was restored, and the time for convergence is over."""

RUNNING = {
    "prepared": Case(facts(at("Prepared")), "-> Committed RestoreRunning"),
    "prepared, and the cluster was recreated": Case(
        facts(at("Prepared"), replace(LOCKED, uid="another")), "-> End TargetIdentityMismatch"
    ),
    "prepared, lock lost": Case(facts(at("Prepared"), READY), "-> End OperationLockLost"),
    "prepared, and the lock is of an earlier restore with this name": Case(
        facts(at("Prepared"), replace(READY, lock=OURS.model_copy(update={"epoch": 5}))),
        "-> End OperationLockLost",
    ),
    "prepared too long ago": Case(facts(at("Prepared"), now=LATER), "-> End PreparationTimedOut"),
    "committed": Case(facts(at("Committed"), job_queried=True), "make-job RestoreRunning"),
    "the job exists": Case(facts(at("Committed"), job=RUNS), "-> Created RestoreRunning"),
    "the job is foreign": Case(
        facts(at("Committed"), job=replace(RUNS, foreign=True)), "-> End ForeignObject"
    ),
    # --- Created
    "the job runs": Case(facts(at("Created"), job=RUNS, job_queried=True), "RestoreRunning"),
    "the job ended before the claim: failed": Case(
        facts(at("Created"), job=FAILED, job_queried=True), "-> Failed JobFailed"
    ),
    "the job was deleted before the claim: failed": Case(
        facts(at("Created"), job_queried=True), "-> End JobLost"
    ),
    "the job ended after the claim: unknown": Case(
        facts(at("Created", submissionClaim=CLAIM), job=FAILED, job_queried=True),
        "-> Unknown RestoreExecutionUnknown",
    ),
    "the job was deleted after the claim: unknown": Case(
        facts(at("Created", submissionClaim=CLAIM), job_queried=True),
        "-> Unknown RestoreExecutionUnknown",
    ),
    "the job succeeded without a report: unknown": Case(
        facts(at("Created", submissionClaim=CLAIM), job=SUCCEEDED, job_queried=True),
        "-> Unknown RestoreExecutionUnknown",
    ),
    "the job claimed, and still runs": Case(
        facts(at("Created", submissionClaim=CLAIM), job=RUNS, job_queried=True), "RestoreRunning"
    ),
    "the lock is lost before the claim": Case(
        facts(at("Created"), READY, job=RUNS, job_queried=True), "-> End OperationLockLost"
    ),
    "the lock is lost after the claim: the job continues": Case(
        facts(at("Created", submissionClaim=CLAIM), READY, job=RUNS, job_queried=True),
        "RestoreRunning",
    ),
    "the job reports success": Case(
        facts(at("Created", submissionClaim=CLAIM, report=report("Succeeded")), job=RUNS),
        "-> Succeeded RestoreRecovering",
    ),
    "the job reports that the servers rejected it": Case(
        facts(at("Created", submissionClaim=CLAIM, report=report("Failed", untouched=True))),
        "-> Failed RestoreFailed",
    ),
    "the job reports an unexpected failure": Case(
        facts(at("Created", submissionClaim=CLAIM, report=report("Failed"))),
        "-> Unknown RestoreExecutionUnknown",
    ),
    "another job reports success": Case(
        facts(
            at("Created", report={**report("Succeeded"), "jobUID": "another"}),
            job=RUNS,
            job_queried=True,
        ),
        "RestoreRunning",
    ),
    # --- afterwards
    "observed: failed": Case(
        facts({**at("TerminalObserved"), "message": "no bucket"}), "-> End RestoreFailed"
    ),
    "recovering: not observed yet": Case(facts(at("Recovering")), "RestoreRecovering"),
    "recovering: a server does not have the data yet": Case(
        facts(at("Recovering"), recovery=verdict("Replicating")), "RestoreRecovering"
    ),
    "recovering: all have the data, and a restart is requested": Case(
        facts(at("Recovering"), recovery=verdict("Replicated")), "mark-target RestoreRecovering"
    ),
    "recovering: sealed servers do not replicate": Case(
        facts(at("Recovering"), recovery=verdict("Sealed")), "mark-target RestoreRecovering"
    ),
    "recovering: a server does not have the data in time": Case(
        facts(LATE, recovery=verdict("Replicating")), "RecoveryBlocked"
    ),
    "recovering: a user accepts the loss of a server": Case(
        facts(LATE, recovery=verdict("Replicating"), answer="Resume"),
        "mark-target RestoreRecovering",
    ),
    "recovering: the answer was given in state Unknown": Case(
        facts(at("Recovering"), recovery=verdict("Replicating"), answer="Resume"),
        "RestoreRecovering",
    ),
    "recovering: the servers are restarted": Case(
        facts(at("Recovering"), MARKED, recovery=verdict("Restarting")), "RestoreRecovering"
    ),
    "recovering: sealed since a moment": Case(
        facts(at("Recovering"), MARKED, recovery=verdict("Sealed")), "RestoreRecovering"
    ),
    "recovering: sealed": Case(facts(LATE, MARKED, recovery=verdict("Sealed")), "ServersSealed"),
    "recovering: sealed, and no answer helps": Case(
        facts(LATE, MARKED, recovery=verdict("Sealed"), answer="Resume"), "ServersSealed"
    ),
    "recovering: the login may still work later": Case(
        facts(recovering("2026-11-22T11:59:30Z"), MARKED, recovery=verdict("Refused")),
        "RestoreRecovering",
    ),
    "recovering: a user must decide": Case(
        facts(LATE, MARKED, recovery=verdict("Refused")), "RecoveryBlocked"
    ),
    "recovering: a user decided": Case(
        facts(at("Recovering"), MARKED, recovery=verdict("MembersDiffer"), answer="Resume"),
        "settle -> Completed RestoreSucceeded",
    ),
    "recovering: servers without a leader cannot be accepted": Case(
        facts(at("Recovering"), MARKED, recovery=verdict("Leaderless"), answer="Resume"),
        "RestoreRecovering",
    ),
    "recovered": Case(
        facts(at("Recovering"), MARKED, recovery=verdict("Verified")),
        "settle -> Completed RestoreSucceeded",
    ),
    "recovering: the lock was removed": Case(
        facts(at("Recovering"), replace(MARKED, lock=None)), "take-lock RestoreRecovering"
    ),
    "recovering: abandoned": Case(
        facts(at("Recovering"), MARKED, answer="Abandon"), "-> End RestoreAbandoned"
    ),
    # --- Unknown
    "unknown": Case(facts(at("Unknown")), "RestoreExecutionUnknown"),
    "unknown, resumed": Case(
        facts(at("Unknown"), answer="Resume"), "-> Recovering RestoreRecovering"
    ),
    "unknown, abandoned": Case(facts(at("Unknown"), answer="Abandon"), "-> End RestoreAbandoned"),
    "unknown, and abandoned after the cluster was deleted": Case(
        facts(at("Unknown"), None, answer="Abandon"), "-> End RestoreAbandoned"
    ),
    "unknown, and the report of the job is late": Case(
        facts(at("Unknown", report=report("Succeeded"))), "-> Succeeded RestoreRecovering"
    ),
    # --- Ended
    "completed, with the lock": Case(facts({"phase": "Completed"}), "release"),
    "failed, without": Case(facts({"phase": "Failed"}, READY), ""),
    "disposable, and due": Case(
        facts(
            completed("2026-11-22T11:00:00Z"),
            MADE,
            {**FRESH, "targetLifecycle": "Disposable", "cleanupAfterSeconds": 60},
        ),
        "remove",
    ),
    "disposable, and not due": Case(
        facts(
            completed("2026-11-22T11:59:30Z"),
            MADE,
            {**FRESH, "targetLifecycle": "Disposable", "cleanupAfterSeconds": 60},
        ),
        "",
    ),
    "disposable, and replaced by another cluster": Case(
        facts(
            completed("2026-11-22T11:00:00Z", "first"),
            MADE,
            {**FRESH, "targetLifecycle": "Disposable"},
        ),
        "",
    ),
}
