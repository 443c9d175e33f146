"""What is told of snapshots and of their tests. Rows of test_conditions."""

from typing import Any

from runtime.outcome import Done, Outcome
from tests import gen
from tests.gen.executors import target

BACKUP = {"schedule": "0 3 * * *", "target": target().to_object()}
OLD = gen.cluster().initialized().wanting(backup=BACKUP)
FINE = gen.running(gen.cluster().initialized())
LOCK = {"operation": "Backup", "holder": "openbaobackup/monday", "message": "monday"}


def known(**backup: Any) -> gen.Cluster:
    return OLD.having(backup=backup)


def tested(outcome: str, reason: str) -> gen.Cluster:
    last = {"run": "r", "outcome": outcome, "reason": reason, "key": "a.snap"}
    return known(restoreTest={"last": last})


# sentence: (cluster, world, outcome of the pass, condition, "status reason")
BACKUP_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "a snapshot is taken": (
        OLD.having(operationLock=LOCK), FINE, Done(), "BackingUp", "True InProgress",
    ),
    "no snapshot is taken": (OLD, FINE, Done(), "BackingUp", "False Idle"),
    "no snapshot was tried": (OLD, FINE, Done(), "BackupHealthy", "Unknown NoBackupYet"),
    "the last snapshot was stored": (
        known(lastBackupTime="2030-01-01T00:00:00Z", lastBackupName="a.snap"),
        FINE, Done(), "BackupHealthy", "True LastBackupSucceeded",
    ),
    "the last snapshot was not stored": (
        known(consecutiveFailures=2, lastFailureReason="StorageFailed"),
        FINE, Done(), "BackupHealthy", "False BackupFailed",
    ),
    "a snapshot is overdue": (
        known(overdueSince="2030-01-01T00:00:00Z"),
        FINE, Done(), "BackupHealthy", "False BackupOverdue",
    ),
    "no snapshot was ever restored to see": (
        OLD, FINE, Done(), "BackupProven", "Unknown NeverTested",
    ),
    "a restored snapshot was good": (
        tested("Passed", "Restored"), FINE, Done(), "BackupProven", "True RestoreTestPassed",
    ),
    "a restored snapshot was not good": (
        tested("Failed", "SealDiffers"), FINE, Done(), "BackupProven", "False RestoreTestFailed",
    ),
    "a test told nothing": (
        tested("Unknown", "JobGone"), FINE, Done(), "BackupProven",
        "Unknown RestoreTestInconclusive",
    ),
}  # fmt: skip

RESTORES = {"operation": "Restore", "holder": "openbaorestore/monday", "message": "restores a.snap"}
RESTORED = {"name": "monday", "uid": "r", "restartCompletedAt": "2030-01-01T00:00:00Z"}
BACKUP_ROWS["data are put back"] = (
    OLD.having(operationLock=RESTORES), FINE, Done(), "Restoring", "True RestoreInProgress",
)  # fmt: skip
BACKUP_ROWS["data were put back"] = (
    OLD.having(restore=RESTORED), FINE, Done(), "Restoring", "False NoRestore",
)  # fmt: skip
