"""Rows of test_conditions about snapshots and restore tests."""

from typing import Any

from tests import gen
from tests.gen.executors import target
from tests.managers.cluster.passes import Row

BACKUP = {"schedule": "0 3 * * *", "target": target().to_object()}
OLD = gen.cluster().initialized().with_spec(backup=BACKUP)
FINE = gen.running(gen.cluster().initialized())
RESTORES = {"operation": "Restore", "holder": "openbaorestore/monday", "message": "restores a.snap"}
RESTORED = {"name": "monday", "uid": "r", "restartCompletedAt": "2030-01-01T00:00:00Z"}
LOCK = {"operation": "Backup", "holder": "openbaobackup/monday", "message": "monday"}


def known(**backup: Any) -> gen.Cluster:
    return OLD.with_status(backup=backup)


def with_restore_test(outcome: str, reason: str) -> gen.Cluster:
    last = {"run": "r", "outcome": outcome, "reason": reason, "key": "a.snap"}
    return known(restoreTest={"last": last})


BACKUP_ROWS = {
    "a snapshot is taken": Row(
        OLD.with_status(operationLock=LOCK), FINE, "BackingUp=True InProgress"
    ),
    "no snapshot is taken": Row(OLD, FINE, "BackingUp=False Idle"),
    "no snapshot was tried": Row(OLD, FINE, "BackupHealthy=Unknown NoBackupYet"),
    "the last snapshot was stored": Row(
        known(lastBackupTime="2030-01-01T00:00:00Z", lastBackupName="a.snap"),
        FINE,
        "BackupHealthy=True LastBackupSucceeded",
    ),
    "the last snapshot was not stored": Row(
        known(consecutiveFailures=2, lastFailureReason="StorageFailed"),
        FINE,
        "BackupHealthy=False BackupFailed",
    ),
    "a snapshot is overdue": Row(
        known(overdueSince="2030-01-01T00:00:00Z"), FINE, "BackupHealthy=False BackupOverdue"
    ),
    "no snapshot was ever restored to see": Row(OLD, FINE, "BackupProven=Unknown NeverTested"),
    "a restored snapshot was good": Row(
        with_restore_test("Passed", "Restored"), FINE, "BackupProven=True RestoreTestPassed"
    ),
    "a restored snapshot was not good": Row(
        with_restore_test("Failed", "SealDiffers"), FINE, "BackupProven=False RestoreTestFailed"
    ),
    "a test told nothing": Row(
        with_restore_test("Unknown", "JobGone"),
        FINE,
        "BackupProven=Unknown RestoreTestInconclusive",
    ),
    "data are put back": Row(
        OLD.with_status(operationLock=RESTORES), FINE, "Restoring=True RestoreInProgress"
    ),
    "data were put back": Row(OLD.with_status(restore=RESTORED), FINE, "Restoring=False NoRestore"),
}
