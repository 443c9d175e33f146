"""The observed state of a restore: the input of its state machine. Pure.

Filled by managers.restore.observe. A part that a state does not need stays None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.cluster.status_backup import OperationLock, RestoreStatus
from contracts.api.restore import Execution, RestoreObjectStatus, RestoreSpec
from contracts.pause import counted_from
from contracts.state_machine import GuardReason
from managers.jobs.status import JobObservation
from managers.operation_lock.holders import restore_holder

PREPARATION: Final = timedelta(minutes=30)
"""Since `preparedAt`: no snapshot is sent later."""
BOOTSTRAP: Final = timedelta(minutes=30)
"""Since `startTime`: a fresh cluster that is not available by then fails the restore."""
CONVERGENCE: Final = timedelta(minutes=2)
"""How long servers may take to converge, and logins to work, before a user has to decide."""

Disposition = Literal["Resume", "Abandon"]
Recovery = Literal[
    "Replicating",
    "Replicated",
    "Restarting",
    "Sealed",
    "Leaderless",
    "Refused",
    "MembersDiffer",
    "Verified",
]
"""Replicating: not every server has the new data yet. Replicated: every server has it. Restarting:
not all servers restarted since the restore. Sealed: all servers are sealed. Leaderless: there is
not exactly one leader, or the servers report different cluster IDs. Refused: the leader does not
list the members. MembersDiffer: the members are not those of the spec. Verified: the servers match
the spec."""


@dataclass(frozen=True, slots=True)
class RestoreFailure(GuardReason):
    """Why a step fails: a reason of contracts.conditions.reasons_restore, and a message."""


@dataclass(frozen=True, slots=True)
class ExpectedSnapshot:
    """The expected properties of the snapshot; "" and 0: unknown."""

    cluster_id: str = ""
    version: str = ""
    digest: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """The location of the snapshot: store and key, also if the spec names an OpenBaoBackup."""

    key: str
    store: BackupTarget
    expected: ExpectedSnapshot = field(default_factory=ExpectedSnapshot)
    any_cluster_id: bool = False
    """The cluster id of the servers may differ from that of the snapshot, without
    `expectedClusterID`."""


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """The cluster to restore into, as last observed."""

    uid: str
    origin: str = ""
    """UID of the restore that created it; "" for any other cluster."""
    terminating: bool = False
    paused: bool = False
    hibernated: bool = False
    resumed: datetime | None = None
    """When its last pause ended; None without one."""
    initialized: bool = False
    available: bool = False
    upgrading: bool = False
    lock: OperationLock | None = None
    restored: RestoreStatus | None = None
    failure: RestoreFailure | None = None
    """Why no Job can ever be created for it: no login, a rejected image, an invalid spec."""
    obstacle: RestoreFailure | None = None
    """Why no Job can be created now."""


@dataclass(frozen=True, slots=True)
class RecoveryVerdict:
    """The state of the servers after the data was replaced."""

    state: Recovery
    message: str


@dataclass(frozen=True, slots=True)
class RestoreFacts:
    """The input of a decision."""

    name: str
    uid: str
    spec: RestoreSpec
    status: RestoreObjectStatus
    now: datetime
    source: SnapshotSource | RestoreFailure
    target: RestoreTarget | None
    job: JobObservation | None = None
    job_queried: bool = False
    """The Job was read from the API server: None means that it does not exist."""
    recovery: RecoveryVerdict | None = None
    answer: Disposition | None = None
    """The decision of a user, from the annotation."""
    foreign_answer: str = ""
    """The annotation, if it is not valid for this restore; used in the message."""

    @property
    def execution(self) -> Execution | None:
        """The execution in the status; None before it is stored."""
        return self.status.execution

    @property
    def holder(self) -> str:
        """The holder name of this restore in the lock."""
        return restore_holder(self.name)

    @property
    def has_lock(self) -> bool:
        """Whether this restore holds the lock of the cluster.

        Names can be reused, so a restore that stored the epoch of its lock holds only that lock.
        After the job took its permit, a lost lock is acquired again, with a later epoch.
        """
        lock = self.target.lock if self.target else None
        if lock is None or lock.operation != "Restore" or lock.holder != self.holder:
            return False
        stored = self.execution.lock_epoch if self.execution else 0
        return stored in (0, lock.epoch) or (self.claimed and lock.epoch > stored)

    @property
    def other_lock(self) -> OperationLock | None:
        """The lock, if another operation holds it."""
        lock = self.target.lock if self.target else None
        return None if lock is None or self.has_lock else lock

    @property
    def may_override(self) -> bool:
        """Whether the spec allows the restore to override the current lock."""
        lock = self.other_lock
        requested = self.spec.force and self.spec.override_operation_lock
        return requested and lock is not None and lock.operation != "Restore"

    @property
    def same_target(self) -> bool:
        """Whether the cluster is still the one in the execution."""
        uid = self.execution.target_uid if self.execution else ""
        return self.target is not None and self.target.uid == uid

    @property
    def created_target(self) -> bool:
        """Whether this restore created the cluster.

        Its UID is recorded after its creation: after a crash in between only the annotation of the
        cluster shows it.
        """
        target, recorded = self.target, self.status.target
        if self.spec.cluster_template is None or target is None or target.origin != self.uid:
            return False
        return recorded is None or recorded.uid in ("", target.uid)

    @property
    def marked(self) -> bool:
        """Whether a restart of the servers was requested for this restore."""
        restored = self.target.restored if self.target else None
        return restored is not None and restored.uid == self.uid

    @property
    def claimed(self) -> bool:
        """Whether the job has taken its submission permit."""
        return self.status.submission_claim is not None

    @property
    def report(self) -> Literal["Succeeded", "Failed", "Uncertain"] | None:
        """The result that the Job of the execution reported; reports of other Jobs are ignored."""
        report, execution = self.status.report, self.execution
        if report is None or execution is None or not execution.job_uid:
            return None
        if report.job_uid != execution.job_uid:
            return None
        if report.outcome == "Failed" and self.claimed and not report.untouched:
            # After an unexpected failure of the Job it is unknown whether the data changed.
            return "Uncertain"
        return report.outcome

    def has_passed(self, since: datetime | None, period: timedelta) -> bool:
        """Whether a period has passed since a stored time.

        A pause of the cluster restarts the period.
        """
        return since is not None and self.now - self.counted_from(since) >= period

    def counted_from(self, moment: datetime) -> datetime:
        """Return the start of a period that began at this time; a later pause moves it."""
        return counted_from(moment, self.target.resumed if self.target else None)
