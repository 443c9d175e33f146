"""Computes the records of restore tests in the status of OpenBaoBackup and of its cluster. Pure.

The summary of the cluster is derived from the OpenBaoBackups and counts each run once, by its id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from contracts.api.backup import Cause, RestoreTestResult, RestoreTestRun
from contracts.api.cluster.status_backup import (
    ActiveRestoreTest,
    FinishedRestoreTest,
    RestoreTestStatus,
)
from contracts.api.job_result import RestoreTestReport
from contracts.api.values import cron
from contracts.conditions.reasons_restore_test import RESTORE_TEST_REASONS
from contracts.naming import names
from contracts.rfc3339 import rfc3339
from contracts.state_machine import TransitionDecision
from managers.restore_test.facts import Candidate, RestoreTestFacts

_RUN_DIGITS = 10
_TEXT_MAX = 1024
_CAUSES: Mapping[str, Cause] = {cause: cause for cause in get_args(Cause)}


@dataclass(frozen=True, slots=True)
class RestoreTestRecord:
    """The record on one OpenBaoBackup: the last result, and the running test."""

    candidate: Candidate
    proof: RestoreTestResult | None
    run: RestoreTestRun | None


def next_record(
    facts: RestoreTestFacts, decision: TransitionDecision[RestoreTestFacts]
) -> RestoreTestRecord | None:
    """Return the record to write after a decision; None if nothing changed."""
    candidate = facts.running
    if decision.transition.to is None:
        return None
    if candidate is None:
        by_request = decision.reason in ("Requested", "NothingToTest")
        candidate = facts.requested if by_request else facts.newest
    if candidate is None:
        return None
    run = candidate.test or _run(facts, candidate, decision)
    if decision.transition.to == "Prepared":
        return RestoreTestRecord(candidate, candidate.proof, run)
    if decision.transition.to == "Running":
        uid = facts.job.uid if facts.job else ""
        return RestoreTestRecord(
            candidate, candidate.proof, run.model_copy(update={"job_uid": uid})
        )
    report = candidate.current_report
    if report is not None:
        return RestoreTestRecord(candidate, result_of_report(report, run, facts.now), None)
    result = result_without_report(run, decision.reason, decision.message, facts.now)
    return RestoreTestRecord(candidate, result, None)


def _run(
    facts: RestoreTestFacts, candidate: Candidate, decision: TransitionDecision[RestoreTestFacts]
) -> RestoreTestRun:
    """Return a new run. `decision` has its cause and the text that identifies the request."""
    cause = _CAUSES.get(decision.reason, "Requested")
    request = candidate.request if cause == "Requested" else ""
    # Include the time, so that a repeated request is another run.
    text = "\0".join((candidate.uid, cause, request or decision.message, rfc3339(facts.now)))
    run = hashlib.sha256(text.encode()).hexdigest()[:_RUN_DIGITS]
    return RestoreTestRun(
        run=run,
        cause=cause,
        request=request,
        job_name=names.restore_test_job(candidate.name, run),
        started_at=facts.now.replace(microsecond=0),
    )


# --- the result of a test -----------------------------------------------------------------------


def result_of_report(
    report: RestoreTestReport, run: RestoreTestRun, now: datetime
) -> RestoreTestResult:
    """Return the result of a test from the report of its Job."""
    reason = RESTORE_TEST_REASONS.get(report.reason)
    if reason is None or (reason.outcome == "Passed") != (report.outcome == "Succeeded"):
        detail = f"the Job reported {report.outcome} with {report.reason or 'no reason'}"
        return result_without_report(run, "JobFailed", f"{detail}: {report.message}", now)
    return RestoreTestResult(
        outcome=reason.outcome,
        reason=reason.name,
        message=report.message,
        at=(report.finished_at or now).replace(microsecond=0),
        digest=report.snapshot.digest if report.snapshot else None,
        run=run.run,
        request=run.request,
        checks=report.checks,
    )


def result_without_report(
    run: RestoreTestRun, reason: str, message: str, now: datetime
) -> RestoreTestResult:
    """Return the result of a test without a valid report: the snapshot was not evaluated."""
    return RestoreTestResult(
        outcome=RESTORE_TEST_REASONS[reason].outcome,
        reason=reason,
        message=message[:_TEXT_MAX],
        at=now.replace(microsecond=0),
        run=run.run,
        request=run.request,
    )


# --- the status of the cluster ------------------------------------------------------------------


def summary(facts: RestoreTestFacts) -> RestoreTestStatus:
    """Derive status.backup.restoreTest. The same facts give the same status."""
    status = facts.status
    with_last = _with_last(facts, status)
    return _with_active(facts, _with_schedule(facts, with_last))


def _with_last(facts: RestoreTestFacts, status: RestoreTestStatus) -> RestoreTestStatus:
    last_test = facts.last_test
    if last_test is None:
        return status
    candidate, proof = last_test
    if status.last is not None and status.last.run == proof.run:
        return status
    key = candidate.snapshot.key if candidate.snapshot else None
    last = FinishedRestoreTest(
        run=proof.run,
        outcome=proof.outcome,
        reason=proof.reason,
        message=proof.message,
        namespace=facts.namespace or None,
        key=key,
        digest=proof.digest,
        finished_at=proof.at,
    )
    passed = proof.outcome == "Passed"
    changes: dict[str, object] = {
        "last": last,
        "passed": (status.passed or 0) + passed,
        "failed": (status.failed or 0) + (not passed),
    }
    if passed:
        changes |= {"last_success_time": proof.at, "last_success_key": key}
    return status.model_copy(update=changes)


def _with_schedule(facts: RestoreTestFacts, status: RestoreTestStatus) -> RestoreTestStatus:
    schedule = facts.spec.schedule if facts.spec else None
    next_time = None
    if schedule is not None:
        try:
            next_time = cron.next_after(schedule, facts.now)
        except ValueError:
            # The API server cannot check the schedule; the workload reconciler reports it.
            schedule = None
    stored = status.next_scheduled_test
    # A later time comes from a clock that was ahead, and would stop the tests until then.
    plausible = stored is not None and next_time is not None and stored <= next_time
    if plausible and status.schedule == schedule:
        return status
    return status.model_copy(update={"schedule": schedule, "next_scheduled_test": next_time})


def _with_active(facts: RestoreTestFacts, status: RestoreTestStatus) -> RestoreTestStatus:
    running = facts.running
    if running is None or running.test is None:
        return status.model_copy(update={"active": None})
    run = running.test
    if status.active is not None and status.active.run == run.run:
        return status
    active = ActiveRestoreTest(
        run=run.run,
        namespace=facts.namespace or None,
        key=running.snapshot.key if running.snapshot else None,
        digest=running.snapshot.digest if running.snapshot else None,
        started_at=run.started_at,
    )
    changes: dict[str, object] = {"active": active}
    if run.cause != "Requested":
        # This run satisfies both the count and the schedule.
        changes["last_backup_count"] = facts.successful
        if status.schedule is not None:
            changes["next_scheduled_test"] = cron.next_after(status.schedule, facts.now)
    return status.model_copy(update=changes)
