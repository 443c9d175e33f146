"""The observed state of an OpenBaoBackup: the input of its state machine. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from contracts.api.backup import BackupObjectStatus, BackupSpec, OpenBaoBackup
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import Operation, OperationLock
from contracts.api.job_result import BackupReport
from contracts.pause import resumed_at
from managers.jobs.status import JobObservation
from managers.operation_lock.holders import UPGRADE_HOLDER, backup_holder

POD_PATIENCE: Final = timedelta(minutes=1)
"""How long the pod of a Job may take to start before the message reports it."""


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """The input of a decision."""

    backup: OpenBaoBackup
    now: datetime
    cluster: OpenBaoCluster | None
    """None: no cluster has that name, or it is being deleted."""
    waiting: frozenset[Operation] = frozenset()
    """Operations that are requested and have not ended."""
    job: JobObservation | None = None
    job_queried: bool = False
    """The Job was read from the API server: None means that it does not exist."""

    @property
    def name(self) -> str:
        return self.backup.metadata.name

    @property
    def spec(self) -> BackupSpec:
        return self.backup.spec

    @property
    def status(self) -> BackupObjectStatus:
        return self.backup.status

    @property
    def holder(self) -> str:
        """The name of this backup as holder of the lock; before an upgrade that of the upgrade."""
        if self.spec.origin == "PreUpgrade":
            return UPGRADE_HOLDER
        return backup_holder(self.name)

    @property
    def lock(self) -> OperationLock | None:
        """The lock of the cluster, as last observed."""
        return self.cluster.status.operation_lock if self.cluster else None

    @property
    def paused(self) -> bool:
        """Whether the cluster is paused. During a pause the backup keeps its state."""
        return self.cluster is not None and self.cluster.spec.paused

    @property
    def resumed(self) -> datetime | None:
        """When the last pause of the cluster ended; None without one."""
        return resumed_at(self.cluster, self.now)

    @property
    def probably_holds_lock(self) -> bool:
        """Whether this backup held the lock when it was last observed."""
        if self.spec.origin == "PreUpgrade" or self.lock is None:
            return False
        return self.lock.holder == self.holder

    @property
    def same_cluster(self) -> bool:
        """Whether the cluster is that of the reservation, or nothing is reserved."""
        uid = self.status.cluster_uid
        return self.cluster is not None and uid in ("", self.cluster.metadata.uid)

    @property
    def report(self) -> BackupReport | None:
        """The report of the reserved Job; reports of other Jobs are ignored."""
        current = self.status.report
        return current if current is not None and current.job_uid == self.status.job_uid else None
