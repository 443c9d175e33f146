"""The conditions of an OpenBaoRestore, and the reasons that they may give.

Uses contracts.conditions.reason. Read by managers.restore, which gives no other, and by
docs/restore.md.
"""

from collections.abc import Mapping
from typing import Final

from contracts.conditions.reason import NOTHING, Reason

RESTORE_COMPLETE: Final = "RestoreComplete"
"""True once the data are back and the servers agree; False says how far it is, or why not."""
OPERATION_LOCK_OVERRIDE: Final = "OperationLockOverride"
"""True on a restore that took the lock from another operation."""
RECOVERY_RELEASED: Final = "RecoveryReleased"
"""After the snapshot was taken: True once the cluster is managed as before."""
TYPES: Final = (RESTORE_COMPLETE, OPERATION_LOCK_OVERRIDE, RECOVERY_RELEASED)

_ANOTHER = "Correct what the message says, then make another OpenBaoRestore."
_ANSWER = (
    "Look at the data, then annotate this object with openbao.org/restore-acknowledge="
    "<status.execution.operationID>/Resume if they are what you want, /Abandon if not."
)

_REASONS = (
    # --- on the way
    Reason(
        "RestoreValidating",
        "The cluster and the snapshot are being checked.",
        "Wait a few seconds.",
    ),
    Reason(
        "SnapshotPending",
        "The backup to restore has not ended.",
        "Wait until the OpenBaoBackup ends.",
    ),
    Reason("TargetPaused", "The cluster is paused.", "Set its spec.paused to false."),
    Reason(
        "TargetBootstrapping",
        "The new cluster is starting.",
        "Wait a minute; then read the conditions of the OpenBaoCluster.",
    ),
    Reason(
        "OperationLockBlocked",
        "Another operation holds the operation lock of the cluster.",
        "Wait for it, or make a restore with force and overrideOperationLock.",
    ),
    Reason(
        "RestoreRunning",
        "A Job downloads, checks and sends the snapshot.",
        "Wait; the log of the Job shows the progress.",
    ),
    Reason(
        "RestoreRecovering",
        "All servers receive the data, restart together, and are checked.",
        "Wait a few minutes; then follow the message.",
    ),
    # --- waits for a person
    Reason(
        "RestoreExecutionUnknown",
        "It is unknown whether the servers accepted the snapshot. It is never sent again.",
        _ANSWER,
    ),
    Reason(
        "ServersSealed",
        "The data belongs to another seal than that of the servers, which stay sealed.",
        "Give the servers the seal of the snapshot: its key in the Secret of spec.unseal, or its "
        "key service; then delete the pods one by one.",
    ),
    Reason(
        "RecoveryBlocked",
        "The data is restored, and the servers do not match the spec of the cluster.",
        "Follow the message; or accept the state with the annotation that docs/restore.md shows.",
    ),
    # --- the end
    Reason("RestoreSucceeded", "The data is restored, and all servers have it.", NOTHING),
    Reason("RestoreFailed", "The snapshot was not restored; the data is unchanged.", _ANOTHER),
    Reason(
        "RestoreAbandoned",
        "A user abandoned the restore; the state of the data is not verified.",
        NOTHING,
    ),
    Reason("InvalidSpec", "The spec cannot be executed.", _ANOTHER),
    Reason("SnapshotUnavailable", "The snapshot does not exist.", _ANOTHER),
    Reason(
        "SnapshotOfAnotherCluster",
        "The backup belongs to another cluster than the target.",
        "Name a backup of this cluster, or the id of the other one in "
        "spec.source.expectedClusterID, then make another OpenBaoRestore.",
    ),
    Reason("TargetUnavailable", "The cluster does not exist, or is being deleted.", _ANOTHER),
    Reason(
        "TargetIdentityMismatch",
        "A cluster of the same name, but not the target, exists.",
        _ANOTHER,
    ),
    Reason(
        "TargetCollision",
        "A cluster of that name exists, and was not created for this restore.",
        "Choose another name, or leave clusterTemplate out to restore into that cluster.",
    ),
    Reason("TargetRefused", "The API server rejects the new cluster.", _ANOTHER),
    Reason(
        "TargetBootstrapTimedOut", "The new cluster was not ready within half an hour.", _ANOTHER
    ),
    Reason(
        "TargetNotInitialized",
        "The cluster has no data yet and accepts no login.",
        "Wait until it is initialized, or make a restore with force.",
    ),
    Reason(
        "UpgradeInProgress",
        "The cluster is being upgraded.",
        "Wait for the upgrade, or make a restore with force.",
    ),
    Reason(
        "AuthenticationRequired",
        "The job has no way to log in.",
        "Enable spec.selfInit.oidc of the cluster, or set jwtAuthRole or tokenSecretRef, then make "
        "another OpenBaoRestore.",
    ),
    Reason("ExecutorUnavailable", "No Job can be created for the cluster.", _ANOTHER),
    Reason(
        "ExecutorPending", "A prerequisite of the Job is missing.", "Wait; the message names it."
    ),
    Reason(
        "OperationLockLost", "The operation lock was lost before the snapshot was sent.", _ANOTHER
    ),
    Reason("PreparationTimedOut", "The snapshot could not be sent in time.", _ANOTHER),
    Reason("ForeignObject", "An object with the name of the Job has another owner.", _ANOTHER),
    Reason("JobRefused", "The API server rejects the Job.", _ANOTHER),
    Reason("JobLost", "The Job was deleted before it sent the snapshot.", _ANOTHER),
    Reason("JobFailed", "The Job ended before it sent the snapshot.", _ANOTHER),
    Reason("RestoreDeleted", "The restore was deleted before the snapshot was sent.", NOTHING),
    # --- other conditions
    Reason("OperationLockOverridden", "The lock was taken from another operation.", NOTHING),
    Reason("RecoveryReleased", "The cluster is managed as before the restore.", NOTHING),
)
RESTORE_REASONS: Final[Mapping[str, Reason]] = {reason.name: reason for reason in _REASONS}
