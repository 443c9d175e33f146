"""What one look at an OpenBaoBackup found: the record that the table is asked about. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from contracts.api.backup import BackupObjectStatus, BackupSpec, OpenBaoBackup
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_backup import Operation, OperationLock
from contracts.api.job_result import BackupReport
from contracts.pause import resumed_at
from managers.jobs.status import JobSeen
from managers.operation_lock.decide import UPGRADE_HOLDER, backup_holder

UPGRADE_PATIENCE: Final = timedelta(minutes=30)
"""How long an upgrade may hold up backups: one that is stuck must not end them."""
POD_PATIENCE: Final = timedelta(minutes=1)
"""How long the pod of a job may take before the message says that it has not started."""


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """Everything that a decision rests on."""

    backup: OpenBaoBackup
    now: datetime
    cluster: OpenBaoCluster | None
    """None: there is none of that name, or it is being deleted."""
    waiting: frozenset[Operation] = frozenset()
    """Operations that are asked for and have not ended."""
    job: JobSeen | None = None
    job_queried: bool = False
    """The API server was asked for the Job: None means that there is none."""

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
        """How this backup calls itself in the lock; one before an upgrade runs under that's."""
        if self.spec.origin == "PreUpgrade":
            return UPGRADE_HOLDER
        return backup_holder(self.name)

    @property
    def lock(self) -> OperationLock | None:
        """The lock of the cluster as last seen."""
        return self.cluster.status.operation_lock if self.cluster else None

    @property
    def paused(self) -> bool:
        """Whether the cluster is paused: then nothing is done, and nothing is given up."""
        return self.cluster is not None and self.cluster.spec.paused

    @property
    def resumed(self) -> datetime | None:
        """When the last pause of the cluster ended; None if there was none."""
        return resumed_at(self.cluster, self.now)

    @property
    def seems_to_hold(self) -> bool:
        """Whether the lock was this backup's own when it was last seen."""
        mine = self.spec.origin != "PreUpgrade"
        return mine and self.lock is not None and self.lock.holder == self.holder

    @property
    def same_cluster(self) -> bool:
        """Whether the cluster is the one that the receipts speak of, if there are any."""
        uid = self.status.cluster_uid
        return self.cluster is not None and uid in ("", self.cluster.metadata.uid)

    @property
    def report(self) -> BackupReport | None:
        """What the job of the receipts says of its end; the word of any other one counts not."""
        current = self.status.report
        return current if current is not None and current.job_uid == self.status.job_uid else None


def upgrades(cluster: OpenBaoCluster, now: datetime) -> bool:
    """Tell whether the servers are on their way to another version, and not stuck there."""
    status = cluster.status
    if status.upgrade is not None:
        # One that failed waits for a person, and holds up nobody.
        return status.upgrade.failure is None
    doing = status.operation
    if doing is None or status.current_version in ("", cluster.spec.version):
        return False
    return doing.started_at is None or now - doing.started_at < UPGRADE_PATIENCE
