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
        "Wait; it takes minutes, at most an hour. `kubectl get jobs -l "
        "openbao.org/component=restore-test` names its Job.",
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
        "JobPrerequisiteMissing",
        "A prerequisite of the Job is missing, so the operator cannot create it yet.",
        "Create the prerequisite that the message names: a ServiceAccount, a PVC, a login or an "
        "image. The operator checks it again within 30 seconds.",
    ),
    Reason(
        "BackupPrepared",
        "The key of the snapshot is recorded; the operator creates the Job next.",
        "Wait a few seconds. If the Job in status.jobName does not appear, search the operator "
        "log for the name of the OpenBaoBackup.",
    ),
    Reason(
        "TargetChanged",
        "The store of the cluster changed before the Job was created.",
        "Wait a few seconds; the operator computes a new key for the new store.",
    ),
    Reason(
        "BackupRunning",
        "A Job takes the snapshot.",
        "Wait; the time depends on the size of the data, and is limited to one hour. If it takes "
        "unusually long, read `kubectl logs job/<status.jobName>`.",
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
        "Compare the role and the policy of the Job with docs/first-boot.md, then run `kubectl "
        "bao backup <cluster>`.",
    ),
    Reason(
        "LeaderDiscoveryFailed",
        "The Job found no active node.",
        "Check the condition OpenBaoLeader of the cluster and the NetworkPolicies of the Job. "
        "Once there is a leader, run `kubectl bao backup <cluster>`.",
    ),
    Reason(
        "SnapshotFailed",
        "OpenBao did not return a complete snapshot.",
        "Read the log of the leader (`kubectl logs <pod>`) at the time of the failure. Then run "
        "`kubectl bao backup <cluster>`, or wait for the next scheduled backup.",
    ),
    Reason(
        "StorageFailed",
        "The store did not accept the snapshot.",
        "Check the endpoint, the bucket and the Secret of spec.backup.target, and the egress of "
        "the Job: the message contains the error of the store. Then run `kubectl bao backup "
        "<cluster>`.",
    ),
    Reason(
        "VerificationFailed",
        "The object in the store is not a complete and valid snapshot.",
        "Do not restore this snapshot. Check that no other program writes to this prefix, then "
        "run `kubectl bao backup <cluster>`.",
    ),
    Reason(
        "JobFailed",
        "The Job ended without a report.",
        "Run `kubectl describe job <status.jobName>` within an hour. DeadlineExceeded: the "
        "backup took more than an hour. BackoffLimitExceeded: its pod was evicted, or ran out of "
        "memory. Then run `kubectl bao backup <cluster>`.",
    ),
    Reason(
        "JobNotStarted",
        "No pod of the Job started within ten minutes.",
        "Find the pod of the Job in `kubectl get events`: its events name the image, the quota "
        "or the node that prevents the start. Then run `kubectl bao backup <cluster>`.",
    ),
    Reason(
        "JobRefused",
        "The API server rejects the Job.",
        "Correct the policy or quota that the message names, then run `kubectl bao backup "
        "<cluster>`.",
    ),
    Reason(
        "ForeignObject",
        "An object with the name of the Job has another owner.",
        "Delete that object if nobody needs it, then run `kubectl bao backup <cluster>`.",
    ),
    Reason(
        "InvalidSpec",
        "The spec is invalid.",
        "Create another OpenBaoBackup with a valid spec; the spec is immutable.",
    ),
    Reason(
        "OutcomeUnknown",
        "The Job succeeded without a report, or was deleted: the snapshot may or may not exist.",
        "List the files of the snapshot in the store: without a manifest it is incomplete. Then "
        "run `kubectl bao backup <cluster>`.",
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
