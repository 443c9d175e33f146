"""managers.backup.condition: the conditions of a cluster about its snapshots."""

from typing import Any

import pytest

from managers.backup.condition import backing_up, backup_healthy
from managers.cluster.status.events import condition_events
from tests import gen
from tests.gen import running
from tests.managers.backup.bench import cluster
from tests.managers.cluster.passes import status_of

GOOD = {
    "lastBackupTime": "2030-01-01T03:00:05Z",
    "lastBackupName": "prod/ns/x/2030-01-01T03-00-00Z-0a1b2c3d.snap",
    "consecutiveFailures": 0,
}
BAD = {
    **GOOD,
    "consecutiveFailures": 2,
    "lastFailureReason": "StorageFailed",
    "lastFailureMessage": "the bucket is not there",
}

# status.backup, status and reason of BackupHealthy, a part of its message
HEALTHY: tuple[tuple[dict[str, Any], str, str, str], ...] = (
    ({}, "Unknown", "NoBackupYet", "No snapshot has been attempted yet"),
    (
        {"nextScheduledBackup": "2030-01-02T03:00:00Z"},
        "Unknown",
        "NoBackupYet",
        "due at 2030-01-02",
    ),
    (GOOD, "True", "LastBackupSucceeded", "0a1b2c3d.snap was stored at 2030-01-01T03:00:05Z"),
    (BAD, "False", "BackupFailed", "The last 2 snapshots were not stored"),
    (BAD, "False", "BackupFailed", "StorageFailed: the bucket is not there"),
    (BAD, "False", "BackupFailed", "the last one was stored at 2030-01-01T03:00:05Z"),
    ({**GOOD, "overdueSince": "2030-01-02T03:00:00Z"}, "False", "BackupOverdue", "2030-01-02"),
)


@pytest.mark.parametrize(("backup", "status", "reason", "part"), HEALTHY)
def test_healthy(backup: dict[str, Any], status: str, reason: str, part: str) -> None:
    of = cluster().with_status(backup=backup)
    update = gen.present(backup_healthy(of.read()))
    assert (update.status, update.reason) == (status, reason)
    stored = next(c for c in status_of(of, running(of)).conditions if c.type == "BackupHealthy")
    assert (stored.status, stored.reason) == (status, reason)
    assert part in stored.message


def test_backing_up_is_the_lock() -> None:
    idle = gen.present(backing_up(cluster().read()))
    assert (idle.status, idle.reason) == ("False", "Idle")
    lock = {"operation": "Backup", "holder": "openbaobackup/a", "message": "Job backup-a"}
    busy = gen.present(backing_up(cluster().with_status(operationLock=lock).read()))
    assert (busy.status, busy.reason, busy.message) == ("True", "InProgress", "Job backup-a")
    other = gen.present(
        backing_up(cluster().with_status(operationLock={**lock, "operation": "Restore"}).read())
    )
    assert other.status == "False"


def test_without_spec_backup_there_are_no_conditions() -> None:
    plain = gen.cluster().initialized().read()
    assert backing_up(plain) is None
    assert backup_healthy(plain) is None


def test_a_failure_and_the_next_success_cause_events() -> None:
    first, good, bad = (
        status_of(of, running(of)).conditions
        for of in (cluster().with_status(backup=backup) for backup in ({}, GOOD, BAD))
    )

    def events(before: Any, after: Any) -> list[tuple[str, str]]:
        reasons = {"BackupFailed", "LastBackupSucceeded"}
        return [(n.kind, n.reason) for n in condition_events(before, after) if n.reason in reasons]

    assert events(first, good) == []
    assert events(good, bad) == [("Warning", "BackupFailed")]
    assert events(bad, bad) == []
    assert events(bad, good) == [("Normal", "LastBackupSucceeded")]
