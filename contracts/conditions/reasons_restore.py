"""The conditions of an OpenBaoRestore, and their reasons.

Uses contracts.conditions.reason. Read by managers.restore, which uses no others.
"""

from collections.abc import Mapping
from typing import Final

from contracts.conditions.reason import NO_ACTION, Reason

RESTORE_COMPLETE: Final = "RestoreComplete"
"""True once all servers have the data; False reports the progress or the failure."""
OPERATION_LOCK_OVERRIDE: Final = "OperationLockOverride"
"""True on a restore that took the lock from another operation."""
RECOVERY_RELEASED: Final = "RecoveryReleased"
"""After the servers accepted the snapshot: True when the cluster is managed as before."""
TYPES: Final = (RESTORE_COMPLETE, OPERATION_LOCK_OVERRIDE, RECOVERY_RELEASED)

_ANSWER = (
    "Check the data. Then annotate the OpenBaoRestore with "
    "openbao.org/restore-acknowledge=<status.execution.operationID>/Resume to continue with this "
    "data, or /Abandon to end the restore as Failed."
)

_REASONS = (
    # --- in progress
    Reason(
        "RestoreValidating",
        "The operator is checking the cluster and the snapshot.",
        "Wait a few seconds. If it takes more than a minute, read the operator log.",
    ),
    Reason(
        "SnapshotPending",
        "The OpenBaoBackup to restore has not ended.",
        "Wait; status.reason of that OpenBaoBackup shows what it waits for.",
    ),
    Reason(
        "TargetPaused",
        "The cluster is paused, so the restore does not start.",
        "Set spec.paused of the cluster to false, and the restore starts.",
    ),
    Reason(
        "TargetHibernated",
        "The cluster is hibernated, so no server can receive the snapshot.",
        "Set spec.hibernate of the cluster to false, and the restore starts.",
    ),
    Reason(
        "TargetBootstrapping",
        "The new cluster is starting.",
        "Wait; a new cluster takes about a minute, and at most half an hour. If it takes longer, "
        "read the conditions of its OpenBaoCluster.",
    ),
    Reason(
        "OperationLockBlocked",
        "Another operation holds the operation lock of the cluster.",
        "Wait until it ends, or create an OpenBaoRestore with force and overrideOperationLock.",
    ),
    Reason(
        "RestoreRunning",
        "A Job downloads, checks and sends the snapshot.",
        "Wait; the time depends on the size of the snapshot, and is limited to half an hour. "
        "`kubectl logs job/<job>` shows the progress.",
    ),
    Reason(
        "RestoreRecovering",
        "All servers receive the data and restart at the same time; then the operator checks them.",
        "Wait; the servers take about two minutes. If it takes longer, read the message: it names "
        "the server that is not ready.",
    ),
    # --- waits for a user
    Reason(
        "RestoreExecutionUnknown",
        "It is unknown whether the servers accepted the snapshot. It is not sent again.",
        _ANSWER,
    ),
    Reason(
        "ServersSealed",
        "The servers stay sealed, because their seal cannot decrypt the restored data.",
        "Configure the seal of the snapshot: its key in the Secret of spec.unseal, or its key "
        "service. Then delete the pods one by one.",
    ),
    Reason(
        "RecoveryBlocked",
        "The data is restored, but the servers do not match the spec of the cluster.",
        "Correct the difference that the message names, or accept it with the annotation that "
        "docs/restore.md describes.",
    ),
    # --- the end
    Reason("RestoreSucceeded", "The data is restored, and all servers have it.", NO_ACTION),
    Reason(
        "RestoreFailed",
        "The snapshot was not restored; the data is unchanged.",
        "Read `kubectl logs job/<job>` of the Job in status.execution.jobName within an hour: "
        "the message contains its error. Then create another OpenBaoRestore. The cluster serves "
        "its former data meanwhile.",
    ),
    Reason(
        "RestoreAbandoned",
        "A user abandoned the restore; the state of the data is not verified.",
        NO_ACTION,
    ),
    Reason(
        "InvalidSpec",
        "The spec is invalid.",
        "Create another OpenBaoRestore with a valid spec; the spec is immutable.",
    ),
    Reason(
        "SnapshotUnavailable",
        "The snapshot does not exist.",
        "List the snapshots with `kubectl get openbaobackups`, then create another "
        "OpenBaoRestore that names one of them.",
    ),
    Reason(
        "SnapshotOfAnotherCluster",
        "The OpenBaoBackup belongs to a cluster other than the target.",
        "Create another OpenBaoRestore that names a backup of this cluster, or that sets "
        "spec.source.expectedClusterID to the ID of the other cluster.",
    ),
    Reason(
        "TargetUnavailable",
        "The cluster does not exist, or is being deleted.",
        "Create the cluster, or use clusterTemplate in another OpenBaoRestore.",
    ),
    Reason(
        "TargetIdentityMismatch",
        "A cluster with the name of the target exists, but it is not the target.",
        "Check that you mean this cluster: it was deleted and created again. Then create "
        "another OpenBaoRestore.",
    ),
    Reason(
        "TargetCollision",
        "A cluster with that name exists, and it was not created for this restore.",
        "Create another OpenBaoRestore with another name, or without clusterTemplate to restore "
        "into that cluster.",
    ),
    Reason(
        "TargetRefused",
        "The API server rejects the new cluster.",
        "Correct spec.clusterTemplate: the message contains the error. Then create another "
        "OpenBaoRestore.",
    ),
    Reason(
        "TargetBootstrapTimedOut",
        "The new cluster was not ready within half an hour.",
        "Read the conditions of the new cluster and delete it. Then create another OpenBaoRestore "
        "with a corrected clusterTemplate.",
    ),
    Reason(
        "TargetNotInitialized",
        "The cluster has no data yet and accepts no login.",
        "Create another OpenBaoRestore once the cluster is initialized, or one with force.",
    ),
    Reason(
        "UpgradeInProgress",
        "The cluster is being upgraded.",
        "Create another OpenBaoRestore once the upgrade has ended, or one with force.",
    ),
    Reason(
        "AuthenticationRequired",
        "The Job has no login to OpenBao.",
        "Enable spec.selfInit.oidc of the cluster, or set jwtAuthRole or tokenSecretRef, then "
        "create another OpenBaoRestore.",
    ),
    Reason(
        "JobPrerequisiteInvalid",
        "No Job can be created for the cluster.",
        "Correct the image, the login or the PVC that the message names, then create another "
        "OpenBaoRestore.",
    ),
    Reason(
        "JobPrerequisiteMissing",
        "A prerequisite of the Job is missing, so the operator cannot create it yet.",
        "Create the prerequisite that the message names, such as a ServiceAccount; the restore "
        "continues within seconds.",
    ),
    Reason(
        "OperationLockLost",
        "The restore lost the operation lock before the snapshot was sent.",
        "Wait for the operation in status.operationLock, then create another OpenBaoRestore.",
    ),
    Reason(
        "PreparationTimedOut",
        "The Job did not send the snapshot within half an hour.",
        "Read the log of the Job: the download is slow, or a prerequisite is missing. Then create "
        "another OpenBaoRestore.",
    ),
    Reason(
        "ForeignObject",
        "An object with the name of the Job has another owner.",
        "Delete that object if nobody needs it, then create another OpenBaoRestore.",
    ),
    Reason(
        "JobRefused",
        "The API server rejects the Job.",
        "Correct the policy or quota that the message names, then create another OpenBaoRestore.",
    ),
    Reason(
        "JobLost",
        "The Job was deleted before it sent the snapshot.",
        "Find out who deleted it: a user, or a controller that removes Jobs. Then create another "
        "OpenBaoRestore.",
    ),
    Reason(
        "JobFailed",
        "The Job ended before it sent the snapshot.",
        "Run `kubectl describe job <job>` and `kubectl logs job/<job>` within an hour: the "
        "message names the Job and its last error. Then create another OpenBaoRestore.",
    ),
    Reason("RestoreDeleted", "The restore was deleted before the snapshot was sent.", NO_ACTION),
    # --- other conditions
    Reason(
        "OperationLockOverridden",
        "The restore took the operation lock from another operation.",
        NO_ACTION,
    ),
    Reason(
        "RecoveryReleased", "The operator manages the cluster as before the restore.", NO_ACTION
    ),
)
RESTORE_REASONS: Final[Mapping[str, Reason]] = {reason.name: reason for reason in _REASONS}
