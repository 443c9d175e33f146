"""The reasons that backups give: those of a cluster's conditions, those of one OpenBaoBackup.

Uses contracts.conditions.reason. BACKUP_REASONS are part of contracts.conditions.reasons.
RUN_REASONS are those of `status.reason` and of the condition Completed of an OpenBaoBackup;
managers.backup gives no other, and docs/backup.md lists them.
"""

from collections.abc import Mapping
from typing import Final

from contracts.conditions.reason import NOTHING, Reason
from contracts.exit_codes import FailureClass

COMPLETED: Final = "Completed"
"""The condition of an OpenBaoBackup: True once there is a snapshot; False says why there is none
yet, or why there never will be; Unknown when the result is unknown."""

_SEE_BACKUPS = "Read status.message of the newest OpenBaoBackup and do what it says."

_TEST = (
    "Set spec.backup.restoreTest, or `kubectl annotate obackup <name> openbao.org/test-restore=1`."
)

BACKUP_REASONS: tuple[Reason, ...] = (
    Reason("InProgress", "The operation of this condition is in progress.", NOTHING),
    Reason("Idle", "No such operation is in progress.", NOTHING),
    Reason("NoRestore", "No restore is in progress.", NOTHING),
    Reason(
        "RestoreInProgress",
        "A snapshot is being restored.",
        "Wait; the OpenBaoRestore that the message names shows the progress.",
    ),
    Reason("LastBackupSucceeded", "The last snapshot was stored.", NOTHING),
    Reason("NoBackupYet", "No snapshot was attempted yet.", NOTHING),
    Reason("BackupFailed", "The last snapshot was not stored.", _SEE_BACKUPS),
    Reason(
        "BackupOverdue",
        "A scheduled snapshot has been waiting for longer than one period of the schedule.",
        _SEE_BACKUPS,
    ),
    # --- whether a snapshot was restored to see that it can be (BackupProven)
    Reason(
        "RestoreTestPassed", "A snapshot was restored into a test server and verified.", NOTHING
    ),
    Reason("NeverTested", "No snapshot of the cluster has been tested.", _TEST),
    Reason(
        "RestoreTestRunning",
        "A snapshot is being tested for the first time.",
        "Wait; a test takes a few minutes. status.backup.restoreTest shows the progress.",
    ),
    Reason(
        "RestoreTestFailed",
        "The snapshot that was tested last cannot be restored.",
        "Look up the reason of the message in docs/restore-test.md; take a new snapshot.",
    ),
    Reason(
        "RestoreTestInconclusive",
        "The last test could not be completed, and says nothing about the snapshot.",
        "Look up the reason of the message in docs/restore-test.md, and request the test again.",
    ),
    Reason(
        "RestoreTestStale",
        "The last successful test is older than the spec allows, or of another version.",
        _TEST,
    ),
)

_ANOTHER = "Correct what the message says; the next snapshot is tried at its time, or ask for one."
_RUN_REASONS = (
    # --- on the way
    Reason("ClusterMissing", "The cluster does not exist, or is being deleted.", "Create it."),
    Reason("Paused", "The cluster is paused.", "Set its spec.paused to false."),
    Reason("BackupNotConfigured", "The cluster has no spec.backup.", "Set spec.backup."),
    Reason(
        "NotInitialized", "The cluster has no data yet.", "Wait until the cluster is initialized."
    ),
    Reason("Hibernated", "The cluster is hibernated.", "Set its spec.hibernate to false."),
    Reason(
        "RestorePending",
        "A restore of the cluster comes first.",
        "Wait until it ends; status.operationLock of the cluster names it.",
    ),
    Reason(
        "UpgradePending",
        "An upgrade of the cluster comes first.",
        "Wait until it ends; the condition Upgrading of the cluster shows the progress.",
    ),
    Reason(
        "UpgradeLockMissing",
        "The backup belongs to an upgrade, which has not begun.",
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
        "The key of the snapshot is recorded; the Job is created next.",
        "Wait a few seconds.",
    ),
    Reason(
        "TargetChanged",
        "The store of the cluster changed before the Job was created.",
        "Wait a few seconds; a new key is recorded.",
    ),
    Reason(
        "BackupRunning", "A Job takes the snapshot.", "Wait; the log of the Job shows the progress."
    ),
    # --- the end
    Reason("BackupCompleted", "The snapshot is stored.", NOTHING),
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
    Reason("InvalidSpec", "The spec cannot be executed.", "Create another OpenBaoBackup."),
    Reason(
        "OutcomeUnknown",
        "The Job was deleted without a report: the snapshot may exist or not.",
        "Check the store; a snapshot without a manifest is incomplete.",
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
"""The reason for what a job says that failed."""
