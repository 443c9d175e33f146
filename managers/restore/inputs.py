"""What one look at a restore found: the records that the table is asked about. Pure.

Gathered by managers.restore.observe. A part that a stage does not ask about is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.cluster.status_backup import OperationLock, RestoreStatus
from contracts.api.restore import Execution, RestoreObjectStatus, RestoreSpec
from contracts.pause import counted_from
from managers.jobs.status import JobSeen
from managers.operation_lock.decide import restore_holder

PREPARATION: Final = timedelta(minutes=30)
"""From `preparedAt` on: nothing is sent any more after this."""
BOOTSTRAP: Final = timedelta(minutes=30)
"""From `startTime` on: a fresh cluster that is not there by then is given up."""
CONVERGENCE: Final = timedelta(minutes=2)
"""How long servers may take to agree, and logins to work, before a person is asked."""

Disposition = Literal["Resume", "Abandon"]
Recovery = Literal[
    "Spreading", "Spread", "Restarting", "Sealed", "Leaderless", "Refused", "Astray", "Verified"
]
"""Spreading: not every server has the new data yet. Spread: all have. Restarting: not all servers
run since the restore. Sealed: some cannot open the data. Leaderless: not exactly one leads, or not
all are of one cluster. Refused: nobody may ask for the members. Astray: the members are not those
of the spec. Verified: all is as it should be."""


@dataclass(frozen=True, slots=True)
class RestoreFailure:
    """Why something cannot be done: a reason of contracts.conditions.reasons_restore, and a
    sentence.
    """

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ExpectedSnapshot:
    """What the snapshot has to be; "" and 0: not known."""

    cluster_id: str = ""
    version: str = ""
    digest: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """Where the snapshot is, with an OpenBaoBackup resolved to store and key."""

    key: str
    store: BackupTarget
    expected: ExpectedSnapshot = field(default_factory=ExpectedSnapshot)
    any_cluster_id: bool = False
    """The servers may have another id than the snapshot although no person named it."""


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """The cluster that gets the data, as last seen."""

    uid: str
    origin: str = ""
    """UID of the restore that made it; "" for all others."""
    terminating: bool = False
    paused: bool = False
    resumed: datetime | None = None
    """When its last pause ended; None if there was none."""
    initialized: bool = False
    available: bool = False
    upgrading: bool = False
    lock: OperationLock | None = None
    restored: RestoreStatus | None = None
    trouble: RestoreFailure | None = None
    """Why no job can ever be made for it: no login, a refused image, a spec that does not fit."""
    hindrance: RestoreFailure | None = None
    """Why none can be made now."""


@dataclass(frozen=True, slots=True)
class RecoveryVerdict:
    """How the servers are since the data were replaced."""

    state: Recovery
    message: str


@dataclass(frozen=True, slots=True)
class RestoreFacts:
    """Everything that a decision rests on."""

    name: str
    uid: str
    spec: RestoreSpec
    status: RestoreObjectStatus
    now: datetime
    source: SnapshotSource | RestoreFailure
    target: RestoreTarget | None
    job: JobSeen | None = None
    job_queried: bool = False
    """The API server was asked for the Job: None means that there is none."""
    recovery: RecoveryVerdict | None = None
    answer: Disposition | None = None
    """What a person decided, by the annotation."""
    foreign_answer: str = ""
    """An annotation that decides nothing about this run, for the message."""

    @property
    def execution(self) -> Execution | None:
        """The receipts, None before there are any."""
        return self.status.execution

    @property
    def holder(self) -> str:
        """How this restore calls itself in the lock."""
        return restore_holder(self.name)

    @property
    def has_lock(self) -> bool:
        """Whether the lock of the cluster is this restore's.

        Names come again: a restore that wrote down under which epoch it runs has no other one.
        """
        lock = self.target.lock if self.target else None
        if lock is None or lock.operation != "Restore" or lock.holder != self.holder:
            return False
        return self.execution is None or self.execution.lock_epoch in (0, lock.epoch)

    @property
    def other_lock(self) -> OperationLock | None:
        """The lock, if it is another's."""
        lock = self.target.lock if self.target else None
        return None if lock is None or self.has_lock else lock

    @property
    def may_override(self) -> bool:
        """Whether the spec takes the lock from whoever has it now."""
        lock = self.other_lock
        requested = self.spec.force and self.spec.override_operation_lock
        return requested and lock is not None and lock.operation != "Restore"

    @property
    def same_target(self) -> bool:
        """Whether the cluster is still the one that the receipts speak of."""
        uid = self.execution.target_uid if self.execution else ""
        return self.target is not None and self.target.uid == uid

    @property
    def marked(self) -> bool:
        """Whether the cluster is told to restart its servers for this restore."""
        restored = self.target.restored if self.target else None
        return restored is not None and restored.uid == self.uid

    @property
    def claimed(self) -> bool:
        """Whether the job has taken its one permission to send."""
        return self.status.submission_claim is not None

    @property
    def report(self) -> Literal["Succeeded", "Failed", "Uncertain"] | None:
        """How the job of the receipts says that it ended; the word of any other one counts not."""
        report, execution = self.status.report, self.execution
        if report is None or execution is None or not execution.job_uid:
            return None
        if report.job_uid != execution.job_uid:
            return None
        if report.outcome == "Failed" and self.claimed and not report.untouched:
            # A job that fails in a way that nobody thought of says nothing of the servers.
            return "Uncertain"
        return report.outcome

    def is_over(self, since: datetime | None, period: timedelta) -> bool:
        """Whether that much time has passed since a moment that was written down.

        A pause of the cluster gives all of it again.
        """
        return since is not None and self.now - self.counted_from(since) >= period

    def counted_from(self, moment: datetime) -> datetime:
        """From when a period is counted that began at a moment."""
        return counted_from(moment, self.target.resumed if self.target else None)
