"""Snapshots and clusters as inputs of decisions about restore tests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from contracts.api.backup import RestoreTestResult, RestoreTestRun
from contracts.api.cluster.backup import RestoreTest
from contracts.api.cluster.status_backup import RestoreTestStatus, Snapshot
from contracts.api.job_result import RestoreTestReport
from managers.jobs.status import JobObservation
from managers.restore_test.facts import Candidate, RestoreTestFacts

NOW = datetime(2030, 1, 6, 12, 0, tzinfo=UTC)
DIGEST = f"sha256:{'a' * 64}"
EVERY_WEEK = "0 5 * * 0"
JOB = "test-monday-0123456789"


def snapshot(name: str) -> Snapshot:
    return Snapshot(key=f"ns/x/{name}.snap", digest=DIGEST, index=7, version="2.4.0", size=9)


def backup(name: str = "monday", hours: float = 1.0, **changes: Any) -> Candidate:
    """Return a snapshot that was stored this many hours ago."""
    default = Candidate(
        name=name,
        uid=f"uid-{name}",
        cluster_uid="uid-x",
        ended=True,
        snapshot=snapshot(name),
        completed_at=NOW - timedelta(hours=hours),
    )
    return replace(default, **changes)


def run(cause: Any = "Counted", uid: str = "", **changes: Any) -> RestoreTestRun:
    return RestoreTestRun(
        run="0123456789", cause=cause, job_name=JOB, job_uid=uid, started_at=NOW, **changes
    )


def proof(outcome: Any = "Passed", reason: str = "Restored", **changes: Any) -> RestoreTestResult:
    default = {"run": "0123456789", "at": NOW, "digest": DIGEST}
    return RestoreTestResult(outcome=outcome, reason=reason, **{**default, **changes})


def report(reason: str = "Restored", uid: str = "job-1", **changes: Any) -> RestoreTestReport:
    passed = reason == "Restored"
    return RestoreTestReport(
        job_uid=uid,
        outcome="Succeeded" if passed else "Failed",
        failure=None if passed else "Verification",
        reason=reason,
        **changes,
    )


def job(state: Any = "Active", **changes: Any) -> JobObservation:
    return JobObservation("job-1", state, **{"ready": True, "created_at": NOW, **changes})


def situation(*candidates: Candidate, **changes: Any) -> RestoreTestFacts:
    """Return a cluster with a restore test after each snapshot, and none so far."""
    default = RestoreTestFacts(
        now=NOW,
        cluster_uid="uid-x",
        spec=RestoreTest(every_successful_backups=1),
        status=RestoreTestStatus(),
        successful=len(candidates),
        namespace="ns",
        candidates=candidates,
    )
    return replace(default, **changes)


def weekly(**status: Any) -> dict[str, Any]:
    """Return changes for a weekly restore test with this status."""
    return {
        "spec": RestoreTest(schedule=EVERY_WEEK),
        "status": RestoreTestStatus(schedule=EVERY_WEEK, **status),
    }
