"""When a snapshot is tested, and what the end of a test means. Pure.

A test runs in four steps: it is written down on the OpenBaoBackup (Begin), its Job is made under
the name that was written (Launch), the Job is waited for (Watch), and its end is written down
(Conclude). Whoever dies between two of them leaves a state from which the next pass goes on: the
Job has the name that was written down before it was made, so no run has two.

The cluster's own summary is derived from the OpenBaoBackups and counts each run once, by its id.
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
"""Nobody tells of the end of a Job that says nothing itself."""
_RUN_DIGITS = 10
_TEXT_MAX = 1024


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing to do before `until`; None: before something changes."""

    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """Write down that this snapshot is being tested."""

    candidate: Candidate
    run: ProofRun


@dataclass(frozen=True, slots=True)
class Launch:
    """Make the Job, and write down its UID."""

    candidate: Candidate
    run: ProofRun


@dataclass(frozen=True, slots=True)
class WatchJob:
    """Wait for the Job."""

    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Conclude:
    """Write down how a test ended, or why there was none."""

    candidate: Candidate
    proof: Proof


Decision = Idle | Begin | Launch | WatchJob | Conclude


def decide(situation: RestoreTestFacts) -> Decision:
    """Decide on the next step for one cluster; one test at a time."""
    running = situation.running
    if running is not None and running.test is not None:
        return _go_on(situation, running, running.test)
    due = next((found for rule in DUE if (found := rule(situation)) is not None), None)
    return due if due is not None else Idle(situation.known.next_scheduled_test)


def _go_on(situation: RestoreTestFacts, candidate: Candidate, run: ProofRun) -> Decision:
    if not run.job_uid:
        return Launch(candidate, run)
    if candidate.answer is not None:
        return Conclude(candidate, of_report(candidate.answer, run, situation.now))
    job = situation.job
    if job is None:
        return Conclude(candidate, unproven(run, "JobGone", run.job_name, situation.now))
    if job.unstarted(situation.now, situation.resumed):
        told = f"the pod of Job {run.job_name} does not start: read its events"
        return Conclude(candidate, unproven(run, "JobNotStarted", told, situation.now))
    if job.state == "Active":
        return WatchJob(candidate)
    told = f"Job {run.job_name}: {job.reason} {job.message}".strip()
    return Conclude(candidate, unproven(run, "JobFailed", told, situation.now))


# --- when a test is due: the first rule that has a say decides -----------------------------------


def _requested(situation: RestoreTestFacts) -> Decision | None:
    """A person asks, at one snapshot; the one that was taken first is answered first."""
    asked = next((one for one in situation.candidates if one.asks and not one.leaving), None)
    if asked is None:
        return None
    run = _run(situation, asked, "Requested", asked.request)
    if asked.snapshot is not None and asked.cluster_uid == situation.cluster_uid:
        return Begin(asked, run)
    if not asked.ended:
        # Its snapshot is on its way, and its end wakes us.
        return None
    told = f"OpenBaoBackup {asked.name} has no snapshot of this cluster"
    return Conclude(asked, unproven(run, "NothingToTest", told, situation.now))


def _counted(situation: RestoreTestFacts) -> Decision | None:
    """Enough snapshots were taken since the last test."""
    wishes, newest = situation.wishes, situation.newest
    if wishes is None or newest is None or wishes.every_successful_backups is None:
        return None
    since = situation.successful - (situation.known.last_backup_count or 0)
    if since < wishes.every_successful_backups:
        return None
    return Begin(newest, _run(situation, newest, "Counted", str(situation.successful)))


def _scheduled(situation: RestoreTestFacts) -> Decision | None:
    """The time of the schedule has come; however many times were missed, one test is run."""
    wishes, newest = situation.wishes, situation.newest
    due = situation.known.next_scheduled_test
    if wishes is None or wishes.schedule is None or newest is None:
        return None
    if due is None or due > situation.now or situation.known.schedule != wishes.schedule:
        return None
    return Begin(newest, _run(situation, newest, "Scheduled", rfc3339(due)))


DUE: tuple[Callable[[RestoreTestFacts], Decision | None], ...] = (_requested, _counted, _scheduled)


def _run(situation: RestoreTestFacts, candidate: Candidate, cause: Cause, why: str) -> ProofRun:
    # The time too: a test that is asked for again in the same words is another run.
    text = "\0".join((candidate.uid, cause, why, rfc3339(situation.now)))
    run = hashlib.sha256(text.encode()).hexdigest()[:_RUN_DIGITS]
    return ProofRun(
        run=run,
        cause=cause,
        request=candidate.request if cause == "Requested" else "",
        job_name=names.proof_job(candidate.name, run),
        started_at=situation.now.replace(microsecond=0),
    )


# --- what the end of a test means ---------------------------------------------------------------


def of_report(report: ProofReport, run: ProofRun, now: datetime) -> Proof:
    """Judge what the job says of itself."""
    known = PROOF_REASONS.get(report.reason)
    if known is None or (known.outcome == "Passed") != (report.outcome == "Succeeded"):
        told = f"the job says {report.outcome} and gives {report.reason or 'no reason'}"
        return unproven(run, "JobFailed", f"{told}: {report.message}", now)
    return Proof(
        outcome=known.outcome,
        reason=known.name,
        message=report.message,
        at=(report.finished_at or now).replace(microsecond=0),
        digest=report.snapshot.digest if report.snapshot else None,
        run=run.run,
        request=run.request,
        checks=report.checks,
    )


def unproven(run: ProofRun, reason: str, message: str, now: datetime) -> Proof:
    """A test that says nothing about its snapshot, because of `reason`."""
    return Proof(
        outcome=PROOF_REASONS[reason].outcome,
        reason=reason,
        message=message[:_TEXT_MAX],
        at=now.replace(microsecond=0),
        run=run.run,
        request=run.request,
    )


# --- what the status of the cluster says --------------------------------------------------------


def summary(situation: RestoreTestFacts) -> RestoreTestStatus:
    """Derive status.backup.restoreTest; the same situation gives the same summary."""
    known = situation.known
    finished = _with_last(situation, known)
    return _with_active(situation, _with_schedule(situation, finished))


def _with_last(situation: RestoreTestFacts, known: RestoreTestStatus) -> RestoreTestStatus:
    found = situation.last_proof
    if found is None:
        return known
    candidate, proof = found
    if known.last is not None and known.last.run == proof.run:
        return known
    key = candidate.snapshot.key if candidate.snapshot else None
    last = FinishedRestoreTest(
        run=proof.run,
        outcome=proof.outcome,
        reason=proof.reason,
        message=proof.message,
        namespace=situation.namespace or None,
        key=key,
        digest=proof.digest,
        finished_at=proof.at,
    )
    passed = proof.outcome == "Passed"
    counted: dict[str, object] = {
        "last": last,
        "passed": (known.passed or 0) + passed,
        "failed": (known.failed or 0) + (not passed),
    }
    if passed:
        counted |= {"last_success_time": proof.at, "last_success_key": key}
    return known.model_copy(update=counted)


def _with_schedule(situation: RestoreTestFacts, known: RestoreTestStatus) -> RestoreTestStatus:
    wished = situation.wishes.schedule if situation.wishes else None
    if wished is None:
        return known.model_copy(update={"schedule": None, "next_scheduled_test": None})
    if known.schedule == wished and known.next_scheduled_test is not None:
        return known
    return known.model_copy(
        update={
            "schedule": wished,
            "next_scheduled_test": cron.next_after(wished, situation.now),
        }
    )


def _with_active(situation: RestoreTestFacts, known: RestoreTestStatus) -> RestoreTestStatus:
    running = situation.running
    if running is None or running.test is None:
        return known.model_copy(update={"active": None})
    run = running.test
    if known.active is not None and known.active.run == run.run:
        return known
    active = ActiveRestoreTest(
        run=run.run,
        namespace=situation.namespace or None,
        key=running.snapshot.key if running.snapshot else None,
        digest=running.snapshot.digest if running.snapshot else None,
        started_at=run.started_at,
    )
    began: dict[str, object] = {"active": active}
    if run.cause != "Requested":
        # Whichever of the two asked, what they ask for is being done.
        began["last_backup_count"] = situation.successful
        if known.schedule is not None:
            began["next_scheduled_test"] = cron.next_after(known.schedule, situation.now)
    return known.model_copy(update=began)
