"""status: every field of the public API is read and kept."""

from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from contracts.api.unknown_fields import unknown_fields
from tests.contracts.api.clusters import cluster_object
from tests.contracts.api.models import holds

_AT = "2026-01-31T12:00:00Z"
_ERROR = {"reason": "R", "message": "m", "at": _AT}
_SNAPSHOT = {"digest": "sha256:" + "0" * 64, "clusterID": "id", "version": "2.7.0", "size": 1}
_CONDITION = {"type": "Passed", "status": "True", "reason": "Passed", "message": ""}

# A status that another operator of this API may have written.
STATUS: dict[str, Any] = {
    "observedGeneration": 3,
    "phase": "Upgrading",
    "activeLeader": "c-0",
    "readyReplicas": 3,
    "currentVersion": "2.6.0",
    "acceptedUpgradeStrategy": "BlueGreen",
    "initialized": True,
    "selfInitialized": True,
    "lastBackupTime": _AT,
    "readReplicas": {
        "desiredReplicas": 2,
        "readyReplicas": 1,
        "registeredReplicas": 1,
        "healthyReplicas": 1,
        "storage": {"desiredPVCs": 2, "boundPVCs": 1, "storageClassName": "fast"},
    },
    "upgrade": {
        "targetVersion": "2.7.0",
        "fromVersion": "2.6.0",
        "currentPartition": 2,
        "completedPods": [2],
        "startedAt": _AT,
        "lastStepDownTime": _AT,
        "failure": _ERROR,
        "lastErrorReason": "R",
        "lastErrorMessage": "m",
        "lastErrorAt": _AT,
    },
    "upgradeRequests": {
        "lastHandledRetry": "1",
        "lastHandledPromote": "2",
        "lastHandledRollback": "3",
        "lastHandledCleanup": "4",
    },
    "blueGreen": {
        "phase": "RestoringReadReplicas",
        "operationID": "o",
        "blueRevision": "b",
        "greenRevision": "g",
        "blueControllerRevision": "r",
        "blueImage": "i",
        "greenImage": "j",
        "greenVersion": "2.7.0",
        "blueReplicas": 3,
        "greenReplicas": 3,
        "manualPromotionRequired": True,
        "manualCleanupRequired": True,
        "startTime": _AT,
        "jobFailureCount": 1,
        "lastJobFailure": "f",
        "preUpgradeSnapshotJobName": "s",
        "rollbackReason": "x",
        "rollbackStartTime": _AT,
        "rollbackAttempt": 1,
        "validationHook": {
            "operationID": "o",
            "greenRevision": "g",
            "specHash": "h",
            "stage": "TerminalObserved",
            "jobName": "j",
            "jobUID": "u",
            "preparedAt": _AT,
            "committedAt": _AT,
            "createdAt": _AT,
            "terminalResult": "Succeeded",
            "terminalObservedAt": _AT,
        },
    },
    "backup": {
        "lastBackupTime": _AT,
        "lastAttemptTime": _AT,
        "lastAttemptScheduledTime": _AT,
        "nextScheduledBackup": _AT,
        "lastHandledManualTrigger": "t",
        "lastBackupSize": 1,
        "lastBackupDuration": "2s",
        "lastBackupName": "n",
        "consecutiveFailures": 0,
        "successfulBackups": 4,
        "lastFailureReason": "r",
        "lastFailureMessage": "m",
        "lastFailureTime": _AT,
        "latestSnapshot": _SNAPSHOT,
        "restoreTest": {
            "active": {"run": "r", "namespace": "n", "key": "k", "digest": "", "startedAt": _AT},
            "last": {"run": "r", "outcome": "Passed", "reason": "R", "message": "m", "key": "k"},
            "lastSuccessTime": _AT,
            "conditions": [_CONDITION],
        },
    },
    "restore": {"name": "r", "uid": "u", "restartCompletedAt": _AT},
    "operationLock": {
        "operation": "Restore",
        "holder": "openbaorestore/monday",
        "message": "m",
        "acquiredAt": _AT,
        "renewedAt": _AT,
    },
    "breakGlass": {
        "active": True,
        "reason": "RollbackConsensusRepairFailed",
        "message": "m",
        "nonce": "n",
        "enteredAt": _AT,
        "steps": ["look"],
        "acknowledgedAt": _AT,
    },
    "workload": {
        "lastError": _ERROR,
        "policyRevision": "p",
        "policyReconciliation": {
            "revisions": {"openbao-operator": "1"},
            "attemptedRevision": "1",
            "lastVerified": _AT,
            "retryAfter": _AT,
            "lastError": _ERROR,
        },
    },
    "adminOps": {"lastError": _ERROR},
    "conditions": [_CONDITION],
}


def test_a_status_of_the_public_api_is_read_and_kept() -> None:
    obj = {**cluster_object(), "status": STATUS}
    assert list(unknown_fields(STATUS, ClusterStatus)) == []
    assert holds(OpenBaoCluster.from_object(obj).status.to_object(), STATUS)


def test_a_new_status_omits_unused_fields() -> None:
    """Unused features have no fields, so they cost nothing in a write."""
    written = OpenBaoCluster.from_object(cluster_object()).status.to_object()
    assert not {"upgrade", "blueGreen", "backup", "operationLock", "breakGlass"} & written.keys()
