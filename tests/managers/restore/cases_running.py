"""Situations of a run, and the row of the table that each has to find."""

from dataclasses import replace
from typing import Any

from tests.managers.restore.cases_before import FRESH, LATER, MADE, Case, seen
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
    """The status of a restore whose Job was seen to end at that time."""
    execution = {**at("Recovering")["execution"], "terminalObservedAt": observed}
    return {**at("Recovering"), "execution": execution}


def completed(at: str, uid: str = TARGET_UID) -> dict[str, Any]:
    return {"phase": "Completed", "completionTime": at, "target": {"uid": uid}}


LATE = recovering("2026-11-22T11:50:00Z")
"""The data are new for longer than servers need to agree."""

RUNNING = {
    "prepared": Case(facts(at("Prepared")), "-> Committed RestoreRunning"),
    "prepared, and the cluster is another one": Case(
        facts(at("Prepared"), replace(LOCKED, uid="another")), "-> End TargetIdentityMismatch"
    ),
    "prepared, lock lost": Case(facts(at("Prepared"), READY), "-> End OperationLockLost"),
    "prepared, and the lock is of an earlier life of the name": Case(
        facts(at("Prepared"), replace(READY, lock=OURS.model_copy(update={"epoch": 5}))),
        "-> End OperationLockLost",
    ),
    "prepared too long ago": Case(facts(at("Prepared"), now=LATER), "-> End PreparationTimedOut"),
    "committed": Case(facts(at("Committed"), job_queried=True), "make-job RestoreRunning"),
    "the job is there": Case(facts(at("Committed"), job=RUNS), "-> Created RestoreRunning"),
    "the job is foreign": Case(
        facts(at("Committed"), job=replace(RUNS, foreign=True)), "-> End ForeignObject"
    ),
    # --- Created
    "the job runs": Case(facts(at("Created"), job=RUNS, job_queried=True), "RestoreRunning"),
    "killed before the claim: failed, and safe": Case(
        facts(at("Created"), job=FAILED, job_queried=True), "-> Failed JobFailed"
    ),
    "deleted before the claim: failed, and safe": Case(
        facts(at("Created"), job_queried=True), "-> End JobLost"
    ),
    "killed after the claim: unknown": Case(
        facts(at("Created", submissionClaim=CLAIM), job=FAILED, job_queried=True),
        "-> Unknown RestoreExecutionUnknown",
    ),
    "deleted after the claim: unknown": Case(
        facts(at("Created", submissionClaim=CLAIM), job_queried=True),
        "-> Unknown RestoreExecutionUnknown",
    ),
    "it ended well and said nothing: unknown": Case(
        facts(at("Created", submissionClaim=CLAIM), job=SUCCEEDED, job_queried=True),
        "-> Unknown RestoreExecutionUnknown",
    ),
    "it claims, and still runs": Case(
        facts(at("Created", submissionClaim=CLAIM), job=RUNS, job_queried=True), "RestoreRunning"
    ),
    "the lock is lost before the claim": Case(
        facts(at("Created"), READY, job=RUNS, job_queried=True), "-> End OperationLockLost"
    ),
    "the lock is lost after the claim: what is sent is sent": Case(
        facts(at("Created", submissionClaim=CLAIM), READY, job=RUNS, job_queried=True),
        "RestoreRunning",
    ),
    "it says that it is done": Case(
        facts(at("Created", submissionClaim=CLAIM, report=report("Succeeded")), job=RUNS),
        "-> Succeeded RestoreRecovering",
    ),
    "it says that the servers refused": Case(
        facts(at("Created", submissionClaim=CLAIM, report=report("Failed", untouched=True))),
        "-> Failed RestoreFailed",
    ),
    "it says that it does not know": Case(
        facts(at("Created", submissionClaim=CLAIM, report=report("Failed"))),
        "-> Unknown RestoreExecutionUnknown",
    ),
    "another job says that it is done": Case(
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
    "recovering: nobody has looked yet": Case(facts(at("Recovering")), "RestoreRecovering"),
    "recovering: a server has not got the data yet": Case(
        facts(at("Recovering"), recovery=seen("Spreading")), "RestoreRecovering"
    ),
    "recovering: all have the data, and the workload is told": Case(
        facts(at("Recovering"), recovery=seen("Spread")), "mark-target RestoreRecovering"
    ),
    "recovering: sealed ones get nothing from each other": Case(
        facts(at("Recovering"), recovery=seen("Sealed")), "mark-target RestoreRecovering"
    ),
    "recovering: a server does not get the data": Case(
        facts(LATE, recovery=seen("Spreading")), "RecoveryBlocked"
    ),
    "recovering: a person lets it be lost": Case(
        facts(LATE, recovery=seen("Spreading"), answer="Resume"), "mark-target RestoreRecovering"
    ),
    "recovering: the answer was to Unknown, and it may still get them": Case(
        facts(at("Recovering"), recovery=seen("Spreading"), answer="Resume"), "RestoreRecovering"
    ),
    "recovering: the servers are restarted": Case(
        facts(at("Recovering"), MARKED, recovery=seen("Restarting")), "RestoreRecovering"
    ),
    "recovering: sealed, as all are when they start": Case(
        facts(at("Recovering"), MARKED, recovery=seen("Sealed")), "RestoreRecovering"
    ),
    "recovering: sealed": Case(facts(LATE, MARKED, recovery=seen("Sealed")), "ServersSealed"),
    "recovering: sealed, and no answer helps": Case(
        facts(LATE, MARKED, recovery=seen("Sealed"), answer="Resume"), "ServersSealed"
    ),
    "recovering: the login may still come": Case(
        facts(recovering("2026-11-22T11:59:30Z"), MARKED, recovery=seen("Refused")),
        "RestoreRecovering",
    ),
    "recovering: a person has to say": Case(
        facts(LATE, MARKED, recovery=seen("Refused")), "RecoveryBlocked"
    ),
    "recovering: a person said so": Case(
        facts(at("Recovering"), MARKED, recovery=seen("Astray"), answer="Resume"),
        "settle -> Completed RestoreSucceeded",
    ),
    "recovering: nobody accepts servers that do not lead": Case(
        facts(at("Recovering"), MARKED, recovery=seen("Leaderless"), answer="Resume"),
        "RestoreRecovering",
    ),
    "recovered": Case(
        facts(at("Recovering"), MARKED, recovery=seen("Verified")),
        "settle -> Completed RestoreSucceeded",
    ),
    "recovering: the lock was wiped": Case(
        facts(at("Recovering"), replace(MARKED, lock=None)), "take-lock RestoreRecovering"
    ),
    "recovering: given up": Case(
        facts(at("Recovering"), MARKED, answer="Abandon"), "-> End RestoreAbandoned"
    ),
    # --- Unknown
    "unknown": Case(facts(at("Unknown")), "RestoreExecutionUnknown"),
    "unknown, resumed": Case(
        facts(at("Unknown"), answer="Resume"), "-> Recovering RestoreRecovering"
    ),
    "unknown, given up": Case(facts(at("Unknown"), answer="Abandon"), "-> End RestoreAbandoned"),
    "unknown, and given up after the cluster was replaced": Case(
        facts(at("Unknown"), None, answer="Abandon"), "-> End RestoreAbandoned"
    ),
    "unknown, and the word of the job comes late": Case(
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
