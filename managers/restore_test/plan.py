"""Decides when a snapshot is tested, and evaluates the result of a test. Pure.

A test has four steps: it is recorded on the OpenBaoBackup (Begin), its Job is created under the
recorded name (Launch), the operator waits for the Job (WatchJob), and the result is recorded
(Conclude). After a crash between two steps the next pass continues: the name of the Job is recorded
before the Job is created, so no run has two.

The summary of the cluster is derived from the OpenBaoBackups and counts each run once, by its id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from contracts.api.backup import Cause, Proof, ProofRun
from contracts.api.cluster.status_backup import (
    ActiveRestoreTest,
    FinishedRestoreTest,
    RestoreTestStatus,
)
from contracts.api.job_result import ProofReport
from contracts.api.meta import rfc3339
from contracts.api.values import cron
from contracts.conditions.reasons_restore_test import PROOF_REASONS
from contracts.naming import names
from managers.restore_test.facts import Candidate, RestoreTestFacts

POLL_SECONDS = 5.0
"""A Job that ends without a report causes no event."""
_RUN_DIGITS = 10
_TEXT_MAX = 1024


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing to do before `until`; None: until a change."""

    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """Record that this snapshot is being tested."""

    candidate: Candidate
    run: ProofRun


@dataclass(frozen=True, slots=True)
class Launch:
    """Create the Job, and record its UID."""

    candidate: Candidate
    run: ProofRun


@dataclass(frozen=True, slots=True)
class WatchJob:
    """Wait for the Job."""

    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Conclude:
    """Record the result of a test, or why none was run."""

    candidate: Candidate
    proof: Proof


Decision = Idle | Begin | Launch | WatchJob | Conclude


def decide(facts: RestoreTestFacts) -> Decision:
    """Decide on the next step for one cluster; one test at a time."""
    running = facts.running
    if running is not None and running.test is not None:
        return _continue_test(facts, running, running.test)
    decision = next((decision for rule in RULES if (decision := rule(facts)) is not None), None)
    return decision if decision is not None else Idle(facts.status.next_scheduled_test)


def _continue_test(facts: RestoreTestFacts, candidate: Candidate, run: ProofRun) -> Decision:
    if not run.job_uid:
        return Launch(candidate, run)
    if candidate.answer is not None:
        return Conclude(candidate, of_report(candidate.answer, run, facts.now))
    job = facts.job
    if job is None:
        return Conclude(candidate, unproven(run, "JobGone", run.job_name, facts.now))
    if job.unstarted(facts.now, facts.resumed):
        message = f"the pod of Job {run.job_name} does not start: read its events"
        return Conclude(candidate, unproven(run, "JobNotStarted", message, facts.now))
    if job.state == "Active":
        return WatchJob(candidate)
    message = f"Job {run.job_name}: {job.reason} {job.message}".strip()
    return Conclude(candidate, unproven(run, "JobFailed", message, facts.now))


# --- when a test is due: the first rule that applies decides -------------------------------------


def _requested(facts: RestoreTestFacts) -> Decision | None:
    """A user requests a test of one snapshot; the oldest snapshot comes first."""
    candidate = next(
        (one for one in facts.candidates if one.is_requested and not one.leaving), None
    )
    if candidate is None:
        return None
    run = _run(facts, candidate, "Requested", candidate.request)
    if candidate.snapshot is not None and candidate.cluster_uid == facts.cluster_uid:
        return Begin(candidate, run)
    if not candidate.ended:
        # Its backup is running, and its completion triggers a pass.
        return None
    message = f"OpenBaoBackup {candidate.name} has no snapshot of this cluster"
    return Conclude(candidate, unproven(run, "NothingToTest", message, facts.now))


def _counted(facts: RestoreTestFacts) -> Decision | None:
    """Enough snapshots were taken since the last test."""
    spec, newest = facts.spec, facts.newest
    if spec is None or newest is None or spec.every_successful_backups is None:
        return None
    since = facts.successful - (facts.status.last_backup_count or 0)
    if since < spec.every_successful_backups:
        return None
    return Begin(newest, _run(facts, newest, "Counted", str(facts.successful)))


def _scheduled(facts: RestoreTestFacts) -> Decision | None:
    """A scheduled time has come; one test makes up for all missed times."""
    spec, newest = facts.spec, facts.newest
    scheduled = facts.status.next_scheduled_test
    if spec is None or spec.schedule is None or newest is None:
        return None
    if scheduled is None or scheduled > facts.now or facts.status.schedule != spec.schedule:
        return None
    return Begin(newest, _run(facts, newest, "Scheduled", rfc3339(scheduled)))


RULES: tuple[Callable[[RestoreTestFacts], Decision | None], ...] = (
    _requested,
    _counted,
    _scheduled,
)


def _run(facts: RestoreTestFacts, candidate: Candidate, cause: Cause, why: str) -> ProofRun:
    # Includes the time: the same request made again is another run.
    text = "\0".join((candidate.uid, cause, why, rfc3339(facts.now)))
    run = hashlib.sha256(text.encode()).hexdigest()[:_RUN_DIGITS]
    return ProofRun(
        run=run,
        cause=cause,
        request=candidate.request if cause == "Requested" else "",
        job_name=names.restore_test_job(candidate.name, run),
        started_at=facts.now.replace(microsecond=0),
    )


# --- the result of a test -----------------------------------------------------------------------


def of_report(report: ProofReport, run: ProofRun, now: datetime) -> Proof:
    """Evaluate the report of the job."""
    reason = PROOF_REASONS.get(report.reason)
    if reason is None or (reason.outcome == "Passed") != (report.outcome == "Succeeded"):
        detail = f"the job says {report.outcome} and gives {report.reason or 'no reason'}"
        return unproven(run, "JobFailed", f"{detail}: {report.message}", now)
    return Proof(
        outcome=reason.outcome,
        reason=reason.name,
        message=report.message,
        at=(report.finished_at or now).replace(microsecond=0),
        digest=report.snapshot.digest if report.snapshot else None,
        run=run.run,
        request=run.request,
        checks=report.checks,
    )


def unproven(run: ProofRun, reason: str, message: str, now: datetime) -> Proof:
    """Return the result of a test that proves nothing about its snapshot, with `reason`."""
    return Proof(
        outcome=PROOF_REASONS[reason].outcome,
        reason=reason,
        message=message[:_TEXT_MAX],
        at=now.replace(microsecond=0),
        run=run.run,
        request=run.request,
    )


# --- the status of the cluster ------------------------------------------------------------------


def summary(facts: RestoreTestFacts) -> RestoreTestStatus:
    """Derive status.backup.restoreTest; deterministic."""
    status = facts.status
    finished = _with_last(facts, status)
    return _with_active(facts, _with_schedule(facts, finished))


def _with_last(facts: RestoreTestFacts, status: RestoreTestStatus) -> RestoreTestStatus:
    last_proof = facts.last_proof
    if last_proof is None:
        return status
    candidate, proof = last_proof
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
    counted: dict[str, object] = {
        "last": last,
        "passed": (status.passed or 0) + passed,
        "failed": (status.failed or 0) + (not passed),
    }
    if passed:
        counted |= {"last_success_time": proof.at, "last_success_key": key}
    return status.model_copy(update=counted)


def _with_schedule(facts: RestoreTestFacts, status: RestoreTestStatus) -> RestoreTestStatus:
    schedule = facts.spec.schedule if facts.spec else None
    if schedule is None:
        return status.model_copy(update={"schedule": None, "next_scheduled_test": None})
    if status.schedule == schedule and status.next_scheduled_test is not None:
        return status
    return status.model_copy(
        update={
            "schedule": schedule,
            "next_scheduled_test": cron.next_after(schedule, facts.now),
        }
    )


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
