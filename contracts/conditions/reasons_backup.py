"""The reasons of backups: those of a cluster's conditions, and those of an OpenBaoBackup.

Uses contracts.conditions.reason. BACKUP_REASONS are part of contracts.conditions.reasons.
RUN_REASONS are those of `status.reason` and of the condition Completed of an OpenBaoBackup;
managers.backup uses no others, and docs/backup.md lists them.
"""

from collections.abc import Mapping
from typing import Final

from contracts.conditions.reason import NO_ACTION, Reason
from contracts.exit_codes import FailureClass

COMPLETED: Final = "Completed"
"""The condition of an OpenBaoBackup: True if the snapshot is stored; False if it is not stored yet
or the backup failed; Unknown if the result is unknown."""

_SEE_BACKUPS = "Read status.message of the newest OpenBaoBackup, and follow it."

_TEST = (
    "Set spec.backup.restoreTest, or run `kubectl annotate obackup <name> "
    "openbao.org/test-restore=1`."
)

BACKUP_REASONS: tuple[Reason, ...] = (
    Reason("InProgress", "The operation of this condition is in progress.", NO_ACTION),
    Reason("Idle", "No such operation is in progress.", NO_ACTION),
    Reason("NoRestore", "No restore is in progress.", NO_ACTION),
    Reason(
        "RestoreInProgress",
        "A snapshot is being restored.",
        "Wait; the OpenBaoRestore that the message names shows the progress.",
    ),
    Reason("LastBackupSucceeded", "The last snapshot was stored.", NO_ACTION),
    Reason("NoBackupYet", "No snapshot has been attempted yet.", NO_ACTION),
    Reason("BackupFailed", "The last snapshot was not stored.", _SEE_BACKUPS),
    Reason(
        "BackupOverdue",
        "A scheduled snapshot has been waiting for longer than one period of the schedule.",
        _SEE_BACKUPS,
    ),
    # --- restore tests (BackupProven)
    Reason(
        "RestoreTestPassed", "A snapshot was restored into a test server and verified.", NO_ACTION
    ),
    Reason("NeverTested", "No snapshot of the cluster has been tested.", _TEST),
    Reason(
        "RestoreTestRunning",
        "The first restore test of the cluster is running.",
        "Wait; a test takes a few minutes. status.backup.restoreTest shows the progress.",
    ),
    Reason(
        "RestoreTestFailed",
        "The last restore test failed: the snapshot is not reliable.",
        "Look up the reason that the message names in docs/restore-test.md, and take a new "
        "snapshot.",
    ),
    Reason(
        "RestoreTestInconclusive",
        "The last restore test did not complete, so it is unknown whether the snapshot can be "
        "restored.",
        "Look up the reason that the message names in docs/restore-test.md, and request the test "
        "again.",
    ),
    Reason(
        "RestoreTestStale",
        "The last successful restore test is older than the spec allows, or used another OpenBao "
        "version.",
        _TEST,
    ),
)

_ANOTHER = (
    "Correct the cause that the message names. Then run `kubectl bao backup <cluster>`, or wait "
    "for the next scheduled backup."
)
_RUN_REASONS = (
    # --- in progress
    Reason(
        "ClusterMissing", "The cluster does not exist, or is being deleted.", "Create the cluster."
    ),
    Reason("Paused", "The cluster is paused.", "Set its spec.paused to false."),
    Reason("BackupNotConfigured", "The cluster has no spec.backup.", "Set spec.backup."),
    Reason(
        "NotInitialized", "The cluster has no data yet.", "Wait until the cluster is initialized."
    ),
    Reason("Hibernated", "The cluster is hibernated.", "Set its spec.hibernate to false."),
    Reason(
        "RestorePending",
        "A restore of the cluster takes precedence.",
        "Wait until it ends; status.operationLock of the cluster names it.",
    ),
    Reason(
        "UpgradePending",
        "An upgrade of the cluster takes precedence.",
        "Wait until it ends; the condition Upgrading of the cluster shows the progress.",
    ),
    Reason(
        "UpgradeLockMissing",
        "The backup belongs to an upgrade that has not begun.",
        "Wait for the upgrade, or delete the backup.",
    ),
    Reason(
        "OperationLockBlocked",
        "Another operation holds the operation lock of the cluster.",
        "Wait until it ends; status.operationLock of the cluster names the holder.",
    ),
    Reason("ExecutorNotReady", "The Job cannot be created yet.", "Follow the message."),
    Reason(
        "BackupPrepared",
        "The key of the snapshot is recorded; the operator creates the Job next.",
        "Wait a few seconds.",
    ),
    Reason(
        "TargetChanged",
        "The store of the cluster changed before the Job was created.",
        "Wait a few seconds; the operator records a new key.",
    ),
    Reason(
        "BackupRunning", "A Job takes the snapshot.", "Wait; the log of the Job shows the progress."
    ),
    # --- the end
    Reason("BackupCompleted", "The snapshot is stored.", NO_ACTION),
    Reason("ConfigFailed", "The Job was started with an invalid configuration.", _ANOTHER),
    Reason("AuthenticationFailed", "OpenBao did not accept the login of the Job.", _ANOTHER),
    Reason("LeaderDiscoveryFailed", "The Job found no active node.", _ANOTHER),
    Reason("SnapshotFailed", "OpenBao did not return a complete snapshot.", _ANOTHER),
    Reason("StorageFailed", "The store did not accept the snapshot.", _ANOTHER),
    Reason("VerificationFailed", "The stored object is not a valid snapshot.", _ANOTHER),
    Reason("JobFailed", "The Job ended without a report.", _ANOTHER),
    Reason("JobNotStarted", "No pod of the Job started.", _ANOTHER),
    Reason("JobRefused", "The API server rejects the Job.", _ANOTHER),
    Reason("ForeignObject", "An object with the name of the Job has another owner.", _ANOTHER),
    Reason(
        "InvalidSpec",
        "The spec is invalid.",
        "Create another OpenBaoBackup with a valid spec; the spec is immutable.",
    ),
    Reason(
        "OutcomeUnknown",
        "The Job succeeded without a report, or was deleted: the snapshot may or may not exist.",
        "Check the store: a snapshot without a manifest is incomplete.",
    ),
)
RUN_REASONS: Final[Mapping[str, Reason]] = {reason.name: reason for reason in _RUN_REASONS}

FAILURES: Final[Mapping[FailureClass | None, str]] = {
    "Config": "ConfigFailed",
    "Authentication": "AuthenticationFailed",
    "LeaderDiscovery": "LeaderDiscoveryFailed",
    "Snapshot": "SnapshotFailed",
    "Storage": "StorageFailed",
    "Verification": "VerificationFailed",
    None: "JobFailed",
}
"""The reason of each failure class that a Job reports."""
