"""The input of decisions about restore tests: cluster, snapshots and the running Job. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from contracts.api.backup import OpenBaoBackup, RestoreTestResult, RestoreTestRun
from contracts.api.cluster.backup import RestoreTest
from contracts.api.cluster.status_backup import RestoreTestStatus, Snapshot
from contracts.api.job_result import RestoreTestReport
from managers.jobs.status import JobObservation

TEST_RESTORE = "openbao.org/test-restore"
"""Annotation of an OpenBaoBackup; each new value requests one test of its snapshot."""

REQUEST_MAX = 253
"""The schema of the status limits the length of the stored value."""
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One OpenBaoBackup whose snapshot may be tested."""

    name: str
    uid: str
    cluster_uid: str
    ended: bool
    """Whether the backup has ended, with any result."""
    snapshot: Snapshot | None
    """None: it has no testable snapshot."""
    completed_at: datetime | None = None
    proof: RestoreTestResult | None = None
    test: RestoreTestRun | None = None
    report: RestoreTestReport | None = None
    request: str = ""
    """Value of the annotation; "" for none."""
    terminating: bool = False

    @property
    def is_requested(self) -> bool:
        """Whether a user requests a test that has not run yet."""
        return bool(self.request) and (self.proof is None or self.proof.request != self.request)

    def is_testable(self, cluster_uid: str) -> bool:
        """Whether it has a snapshot of the cluster with this UID."""
        return self.snapshot is not None and self.cluster_uid == cluster_uid

    @property
    def current_report(self) -> RestoreTestReport | None:
        """The report of the Job of the running test; reports of other Jobs are ignored."""
        if self.test is None or self.report is None or not self.test.job_uid:
            return None
        return self.report if self.report.job_uid == self.test.job_uid else None

    @property
    def order(self) -> tuple[datetime, str]:
        """Sort key: the newest snapshot is last."""
        return self.completed_at or _NEVER, self.name


@dataclass(frozen=True, slots=True)
class RestoreTestFacts:
    """The input of a decision."""

    now: datetime
    cluster_uid: str
    spec: RestoreTest | None
    """spec.backup.restoreTest; None: only tests that a user requests."""
    status: RestoreTestStatus
    """status.backup.restoreTest of the cluster."""
    successful: int
    """status.backup.successfulBackups."""
    namespace: str = ""
    candidates: tuple[Candidate, ...] = ()
    """Oldest first."""
    job: JobObservation | None = None
    """The Job of the running test; None: it does not exist, or was not read."""
    resumed: datetime | None = None
    """End of the last pause of the cluster; None if there was none."""

    @property
    def running(self) -> Candidate | None:
        """The snapshot under test; if there are several, the one whose test started first."""
        candidates = [backup for backup in self.candidates if backup.test is not None]
        return min(candidates, key=_started, default=None)

    @property
    def requested(self) -> Candidate | None:
        """The oldest snapshot for which a user requests a test."""
        requested = (
            backup for backup in self.candidates if backup.is_requested and not backup.terminating
        )
        return next(requested, None)

    @property
    def newest(self) -> Candidate | None:
        """The newest testable snapshot of this cluster, by UID."""
        testable = (
            backup
            for backup in self.candidates
            if backup.is_testable(self.cluster_uid) and not backup.terminating
        )
        return max(testable, key=lambda backup: backup.order, default=None)

    @property
    def last_test(self) -> tuple[Candidate, RestoreTestResult] | None:
        """The last finished test, with its snapshot."""
        results = [
            (backup.proof.at, backup, backup.proof)
            for backup in self.candidates
            if backup.proof is not None and backup.proof.at is not None
        ]
        newest = max(results, key=lambda entry: (entry[0], entry[1].name), default=None)
        return None if newest is None else newest[1:]


def _started(candidate: Candidate) -> tuple[datetime, str]:
    return (candidate.test.started_at if candidate.test else _NEVER), candidate.name


def candidate(backup: OpenBaoBackup, *, terminating: bool) -> Candidate:
    """Convert one OpenBaoBackup."""
    status = backup.status
    snapshot = status.snapshot if status.phase == "Completed" else None
    testable = snapshot is not None and bool(snapshot.key) and bool(snapshot.digest)
    annotations = backup.metadata.annotations or {}
    return Candidate(
        name=backup.metadata.name,
        uid=backup.metadata.uid or "",
        cluster_uid=status.cluster_uid,
        ended=status.phase in ("Completed", "Failed", "Unknown"),
        snapshot=snapshot if testable else None,
        completed_at=status.completed_at,
        proof=status.proof,
        test=status.test,
        report=status.test_report,
        request=annotations.get(TEST_RESTORE, "")[:REQUEST_MAX],
        terminating=terminating,
    )


def in_order(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Sort the backups, oldest first."""
    return tuple(sorted(candidates, key=lambda backup: backup.order))
