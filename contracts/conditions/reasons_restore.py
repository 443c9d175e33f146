"""The conditions of an OpenBaoRestore, and the reasons that they may give.

Uses contracts.conditions.reason. Read by managers.restore, which gives no other, and by
docs/restore.md.
"""

from collections.abc import Mapping
from typing import Final

from contracts.conditions.reason import NOTHING, WAIT, Reason

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
    Reason("RestoreValidating", "The cluster and the snapshot are looked at.", WAIT),
    Reason("SnapshotPending", "The backup that is to be restored has not ended.", WAIT),
    Reason("TargetPaused", "The cluster is paused.", "Set its spec.paused to false."),
    Reason("TargetBootstrapping", "The fresh cluster is starting.", WAIT),
    Reason(
        "OperationLockBlocked",
        "Another operation works on the cluster.",
        "Wait for it, or make a restore with force and overrideOperationLock.",
    ),
    Reason("RestoreRunning", "A job gets, checks and sends the snapshot.", WAIT),
    Reason(
        "RestoreRecovering", "All servers get the data, are restarted at once and looked at.", WAIT
    ),
    # --- waits for a person
    Reason(
        "RestoreExecutionUnknown",
        "Nobody can tell whether the servers took the snapshot. It is never sent again.",
        _ANSWER,
    ),
    Reason(
        "ServersSealed",
        "The data are of another seal than that of the servers, which stay sealed.",
        "Give the servers the seal of the snapshot: its key in the Secret of spec.unseal, or its "
        "key service; then delete the pods one by one.",
    ),
    Reason(
        "RecoveryBlocked",
        "The data are back, and the servers are not as the spec of the cluster asks.",
        "Do what the message says; or accept it with the annotation that docs/restore.md shows.",
    ),
    # --- the end
    Reason("RestoreSucceeded", "The data are back, and the servers agree on them.", NOTHING),
    Reason("RestoreFailed", "The snapshot was not put back; the data are as before.", _ANOTHER),
    Reason("RestoreAbandoned", "A person gave it up; what the data are is not proven.", NOTHING),
    Reason("InvalidSpec", "The spec cannot be carried out.", _ANOTHER),
    Reason("SnapshotUnavailable", "There is no such snapshot.", _ANOTHER),
    Reason(
        "SnapshotOfAnotherCluster",
        "The backup is of another cluster than the one that would get its data.",
        "Name a backup of this cluster, or the id of the other one in "
        "spec.source.expectedClusterID, then make another OpenBaoRestore.",
    ),
    Reason("TargetUnavailable", "The cluster is not there, or it is being deleted.", _ANOTHER),
    Reason(
        "TargetIdentityMismatch",
        "Another cluster has the name of the one that was to be restored into.",
        _ANOTHER,
    ),
    Reason(
        "TargetCollision",
        "The cluster that was to be made is there already, and was not made for this restore.",
        "Choose another name, or leave clusterTemplate out to restore into that cluster.",
    ),
    Reason("TargetRefused", "The API server refuses the fresh cluster.", _ANOTHER),
    Reason(
        "TargetBootstrapTimedOut", "The fresh cluster was not there in half an hour.", _ANOTHER
    ),
    Reason(
        "TargetNotInitialized",
        "The cluster has no data yet and nobody could log in to it.",
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
    Reason("ExecutorUnavailable", "No job can be made for the cluster.", _ANOTHER),
    Reason("ExecutorPending", "What the job needs is not there yet.", WAIT),
    Reason("OperationLockLost", "The operation lock was taken away before anything was sent.",
           _ANOTHER),
    Reason("PreparationTimedOut", "The snapshot could not be sent in time.", _ANOTHER),
    Reason("ForeignObject", "An object of the name of the job belongs to somebody else.", _ANOTHER),
    Reason("JobRefused", "The API server refuses the job.", _ANOTHER),
    Reason("JobLost", "The job was deleted before it sent anything.", _ANOTHER),
    Reason("JobFailed", "The job ended before it sent anything.", _ANOTHER),
    Reason("RestoreDeleted", "The restore was deleted before anything was sent.", NOTHING),
    # --- other conditions
    Reason("OperationLockOverridden", "The lock was taken from another operation.", NOTHING),
    Reason("RecoveryReleased", "The cluster is managed as before the restore.", NOTHING),
)  # fmt: skip
RESTORE_REASONS: Final[Mapping[str, Reason]] = {reason.name: reason for reason in _REASONS}
