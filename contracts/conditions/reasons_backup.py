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
    Reason(
        "BackupFailed",
        "The last snapshot was not stored.",
        "Correct the error in status.message of the newest OpenBaoBackup, then run `kubectl bao "
        "backup <cluster>`.",
    ),
    Reason(
        "BackupOverdue",
        "A scheduled snapshot has been waiting for longer than one period of the schedule.",
        "Read status.reason of the newest OpenBaoBackup: it names what the backup waits for, such "
        "as an upgrade.",
    ),
    # --- restore tests (BackupProven)
    Reason(
        "RestoreTestPassed", "A snapshot was restored into a test server and verified.", NO_ACTION
    ),
    Reason("NeverTested", "No snapshot of the cluster has been tested.", _TEST),
    Reason(
        "RestoreTestRunning",
        "The first restore test of the cluster is running.",
        "Wait; a test takes a few minutes. If it takes longer, read status.backup.restoreTest and "
        "the log of its Job.",
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

_RUN_REASONS = (
    # --- in progress
    Reason(
        "ClusterMissing",
        "The cluster does not exist, or is being deleted.",
        "Create the cluster, or correct spec.cluster in another OpenBaoBackup.",
    ),
    Reason(
        "Paused",
        "The cluster is paused, so the backup does not start.",
        "Set spec.paused of the cluster to false, and the backup starts.",
    ),
    Reason(
        "BackupNotConfigured",
        "The cluster has no spec.backup, so there is no store for the snapshot.",
        "Set spec.backup of the cluster.",
    ),
    Reason(
        "NotInitialized",
        "The cluster has no data yet.",
        "Wait; a new cluster is initialized about a minute after its creation. If not, read its "
        "condition OpenBaoInitialized.",
    ),
    Reason(
        "Hibernated",
        "The cluster is hibernated, so there is no server to back up.",
        "Set spec.hibernate of the cluster to false, and the backup starts.",
    ),
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
        "Wait; a backup takes minutes, an upgrade or a restore may take longer. "
        "status.operationLock of the cluster names the holder.",
    ),
    Reason(
        "ExecutorNotReady",
        "A prerequisite of the Job is missing, so the operator cannot create it yet.",
        "Read the message: it names the prerequisite, such as a Secret or an image. The backup "
        "starts once it exists.",
    ),
    Reason(
        "BackupPrepared",
        "The key of the snapshot is recorded; the operator creates the Job next.",
        "Wait a few seconds. If the Job does not appear, read the operator log.",
    ),
    Reason(
        "TargetChanged",
        "The store of the cluster changed before the Job was created.",
        "Wait a few seconds; the operator computes a new key for the new store.",
    ),
    Reason(
        "BackupRunning",
        "A Job takes the snapshot.",
        "Wait; the time depends on the size of the data. If it takes unusually long, read the log "
        "of the Job.",
    ),
    # --- the end
    Reason("BackupCompleted", "The snapshot is stored.", NO_ACTION),
    Reason(
        "ConfigFailed",
        "The Job was started with an invalid configuration.",
        "Correct the setting in spec.backup that the message names, then run `kubectl bao backup "
        "<cluster>`.",
    ),
    Reason(
        "AuthenticationFailed",
        "OpenBao did not accept the login of the Job.",
        "Compare the role and the policy of the Job with docs/first-boot.md. Then request another "
        "backup.",
    ),
    Reason(
        "LeaderDiscoveryFailed",
        "The Job found no active node.",
        "Check the condition OpenBaoLeader and the NetworkPolicies of the Job. Once there is a "
        "leader, request another backup.",
    ),
    Reason(
        "SnapshotFailed",
        "OpenBao did not return a complete snapshot.",
        "Read the message, then the log of the leader for the same time. Request another backup, "
        "or wait for the next scheduled one.",
    ),
    Reason(
        "StorageFailed",
        "The store did not accept the snapshot.",
        "Check the credentials, the bucket and the network path: the message contains the error "
        "of the store. Then request another backup.",
    ),
    Reason(
        "VerificationFailed",
        "The object in the store is not a complete and valid snapshot.",
        "Do not restore this snapshot. Check that no other program writes to this prefix, then "
        "request another backup.",
    ),
    Reason(
        "JobFailed",
        "The Job ended without a report.",
        "Read the events of the Job, and the log of its pod if it still exists: it was evicted, "
        "or ran out of time or memory. Then request another backup.",
    ),
    Reason(
        "JobNotStarted",
        "No pod of the Job started within ten minutes.",
        "Read the events of the Job: they name the image, the quota or the node that prevents the "
        "start. Then request another backup.",
    ),
    Reason(
        "JobRefused",
        "The API server rejects the Job.",
        "Correct the policy or quota that the message names, then request another backup.",
    ),
    Reason(
        "ForeignObject",
        "An object with the name of the Job has another owner.",
        "Delete that object if nobody needs it, then request another backup.",
    ),
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
