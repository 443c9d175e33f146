"""The reasons that backups give: those of a cluster's conditions, those of one OpenBaoBackup.

Uses contracts.conditions.reason. BACKUP_REASONS are part of contracts.conditions.reasons.
RUN_REASONS are those of `status.reason` and of the condition Completed of an OpenBaoBackup;
managers.backup gives no other, and docs/backup.md lists them.
"""

from collections.abc import Mapping
from typing import Final

from contracts.conditions.reason import NOTHING, WAIT, Reason
from contracts.exit_codes import FailureClass

COMPLETED: Final = "Completed"
"""The condition of an OpenBaoBackup: True once there is a snapshot; False says why there is none
yet, or why there never will be; Unknown when the result is unknown."""

_SEE_BACKUPS = "Read status.message of the newest OpenBaoBackup and do what it says."

_TEST = (
    "Set spec.backup.restoreTest, or `kubectl annotate obackup <name> openbao.org/test-restore=1`."
)

BACKUP_REASONS: tuple[Reason, ...] = (
    Reason("InProgress", "What the condition is about goes on right now.", NOTHING),
    Reason("Idle", "Nothing of what the condition is about goes on.", NOTHING),
    Reason("NoRestore", "No data are being put back.", NOTHING),
    Reason("RestoreInProgress", "Data of a snapshot are being put back.", WAIT),
    Reason("LastBackupSucceeded", "The last snapshot was stored.", NOTHING),
    Reason("NoBackupYet", "No snapshot was tried yet.", NOTHING),
    Reason("BackupFailed", "The last snapshot was not stored.", _SEE_BACKUPS),
    Reason(
        "BackupOverdue",
        "A snapshot of the schedule has been waiting for longer than the time to the next one.",
        _SEE_BACKUPS,
    ),
    # --- whether a snapshot was restored to see that it can be (BackupProven)
    Reason("RestoreTestPassed", "A snapshot was restored, and showed what it has to.", NOTHING),
    Reason("NeverTested", "No snapshot of the cluster was ever restored to see.", _TEST),
    Reason("RestoreTestRunning", "A snapshot is restored to see, for the first time.", WAIT),
    Reason(
        "RestoreTestFailed",
        "The snapshot that was tested last cannot be relied on.",
        "Do what docs/restore-test.md says of the reason in the message; take a new snapshot.",
    ),
    Reason(
        "RestoreTestInconclusive",
        "The last test could not be carried out, and says nothing about the snapshot.",
        "Do what docs/restore-test.md says of the reason in the message, and ask again.",
    ),
    Reason(
        "ProofOutdated",
        "The last test that passed is older than it ought to be, or of another version.",
        _TEST,
    ),
)

_ANOTHER = "Correct what the message says; the next snapshot is tried at its time, or ask for one."
_RUN_REASONS = (
    # --- on the way
    Reason("ClusterMissing", "There is no such cluster, or it is being deleted.", "Create it."),
    Reason("Paused", "The cluster is paused.", "Set its spec.paused to false."),
    Reason("BackupNotConfigured", "The cluster has no spec.backup.", "Set spec.backup."),
    Reason("NotInitialized", "The cluster has no data yet.", WAIT),
    Reason("Hibernated", "No server of the cluster runs.", "Set its spec.hibernate to false."),
    Reason("RestorePending", "A restore of the cluster goes first.", WAIT),
    Reason("UpgradePending", "An upgrade of the cluster goes first.", WAIT),
    Reason("UpgradeLockMissing", "It belongs to an upgrade, and none has begun.", WAIT),
    Reason("OperationLockBlocked", "Another operation works on the cluster.", WAIT),
    Reason("ExecutorNotReady", "The job cannot be made yet.", "Do what the message says."),
    Reason("BackupPrepared", "It is written down where the snapshot goes.", WAIT),
    Reason("TargetChanged", "The target changed before the job was made.", WAIT),
    Reason("BackupRunning", "A job takes the snapshot.", WAIT),
    # --- the end
    Reason("BackupCompleted", "The snapshot is stored.", NOTHING),
    Reason("ConfigFailed", "The job was told something that cannot be.", _ANOTHER),
    Reason("AuthenticationFailed", "OpenBao did not let the job in.", _ANOTHER),
    Reason("LeaderDiscoveryFailed", "No server leads, so none can be asked.", _ANOTHER),
    Reason("SnapshotFailed", "OpenBao did not give a whole snapshot.", _ANOTHER),
    Reason("StorageFailed", "The store did not take the snapshot.", _ANOTHER),
    Reason("VerificationFailed", "What was stored is not a good snapshot.", _ANOTHER),
    Reason("JobFailed", "The job ended without a word.", _ANOTHER),
    Reason("JobNotStarted", "No pod of the job ever ran.", _ANOTHER),
    Reason("JobRefused", "The API server refuses the job.", _ANOTHER),
    Reason("ForeignObject", "An object of the name of the job belongs to somebody else.", _ANOTHER),
    Reason("InvalidSpec", "The spec cannot be carried out.", "Make another OpenBaoBackup."),
    Reason(
        "OutcomeUnknown",
        "The job is gone and left no word: there may be a snapshot or none.",
        "Look into the store; a snapshot without manifest is not complete.",
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
