"""Reasons about changes of the version, and the condition that reports them.

Uses contracts.conditions.reason and contracts.conditions.condition_type. Part of
contracts.conditions.reasons and of contracts.conditions.catalog; docs/status.md lists them.
"""

from typing import Final

from contracts.conditions.condition_type import ConditionType
from contracts.conditions.reason import Reason
from contracts.conditions.reasons_workload import QUESTION_REFUSED

UPGRADE_REASONS: tuple[Reason, ...] = (
    # --- in progress
    Reason(
        "UpgradeInProgress",
        "The servers are being upgraded.",
        "Wait; each server takes about half a minute. The message names the next step.",
    ),
    Reason(
        "PreUpgradeSnapshot",
        "A snapshot is taken before the first server is upgraded.",
        "Wait; the OpenBaoBackup that the message names shows the progress.",
    ),
    Reason(
        "OperationLockBlocked",
        "Another operation holds the operation lock: a backup or a restore.",
        "Wait; a backup takes minutes, a restore may take longer. status.operationLock names the "
        "holder.",
    ),
    Reason(
        "ClusterNotReady",
        "The upgrade has not started, because a preflight check fails.",
        "Run `kubectl bao upgrade plan --cluster <cluster> --to <version>`: it shows the failed "
        "check, repeated every 5 s.",
    ),
    Reason(
        "QuorumLost",
        "Too few servers are healthy: if one more fails, the cluster loses its quorum and stops "
        "all writes.",
        "Repair the servers that the message names: read the events and logs of their pods. The "
        "upgrade then continues.",
    ),
    # --- an upgrade must not start
    Reason(
        "InvalidVersion",
        "spec.version is not a semantic version.",
        "Set spec.version to a version of the form MAJOR.MINOR.PATCH.",
    ),
    Reason(
        "VersionPairRefused",
        "An upgrade from the running version to spec.version is not supported with this strategy.",
        "Choose a pair of docs/versions.md; `kubectl bao upgrade plan --cluster <cluster> --to "
        "<version>` checks it.",
    ),
    # --- an upgrade stopped
    Reason(
        "StepDownFailed",
        "The Job that asks the leader to step down failed.",
        "Read `kubectl logs job/<job>`: its role may lack sys/step-down. Then run `kubectl bao "
        "upgrade retry <cluster>`.",
    ),
    Reason(
        "StepDownTimeout",
        "A leader did not step down in time.",
        "The limit is 60 seconds. Check that the other servers are healthy, then run `kubectl "
        "bao upgrade retry <cluster>`.",
    ),
    Reason(
        "PodNotReady",
        "A server of the new version did not become ready in time.",
        "The limit is ten minutes. Read `kubectl describe pod <pod>`, then run `kubectl bao "
        "upgrade retry <cluster>`.",
    ),
    Reason(
        "HealthCheckFailed",
        "The servers are ready, but the leader did not report them as healthy in time.",
        "Check RaftMembershipReady and the log of the server in the message, then run `kubectl "
        "bao upgrade retry <cluster>`.",
    ),
    Reason(
        "PreUpgradeBackupFailed",
        "Three snapshots before an upgrade failed; the upgrade did not begin.",
        "Correct the error in status.message of the newest OpenBaoBackup, then run `kubectl bao "
        "upgrade retry <cluster>`.",
    ),
    Reason(
        "UpgradeFailed",
        "The upgrade stopped before its last step.",
        "Wait until the holder in status.operationLock has ended, then run `kubectl bao upgrade "
        "retry <cluster>`.",
    ),
    # --- blue/green
    Reason(
        "BlueGreenHold",
        "A blue/green upgrade waits for a user.",
        "Check the green servers, then run `kubectl bao upgrade promote <cluster>`, or retry or "
        "rollback instead.",
    ),
    Reason(
        "UpgradeRollback",
        "A blue/green upgrade is being rolled back, or was rolled back and does not restart "
        "automatically.",
        "Wait until the rollback has ended. Correct what the message names, then run `kubectl "
        "bao upgrade retry <cluster>`.",
    ),
    Reason(
        "BreakGlassRequired",
        "A rollback failed; the operator does not change the servers until a user acknowledges it.",
        "Follow status.breakGlass.steps, then set spec.breakGlassAck to status.breakGlass.nonce.",
    ),
)

UPGRADE_PROGRESS: Final = (
    "UpgradeInProgress",
    "PreUpgradeSnapshot",
    "OperationLockBlocked",
    "ClusterNotReady",
    "QuorumLost",
    QUESTION_REFUSED,
)
UPGRADE_FAILURES: Final = (
    "StepDownFailed",
    "StepDownTimeout",
    "PodNotReady",
    "HealthCheckFailed",
    "PreUpgradeBackupFailed",
    "UpgradeFailed",
)
UPGRADE_TROUBLE: Final = (
    "InvalidVersion",
    "VersionPairRefused",
    *UPGRADE_FAILURES,
    "BlueGreenHold",
    "UpgradeRollback",
    "BreakGlassRequired",
    "OperatorLoginMissing",
)
# Other reasons of the preflight checks, and of a disruption budget during an upgrade.
_OBSTACLES = (
    "DisruptionBudgetClosed",
    "NotInitialized",
    "Hibernated",
    "PodsFenced",
    "Maintenance",
    "RestoreInProgress",
    "StorageResizing",
    "LeaderUnknown",
    "MultipleLeaders",
    "ReadReplicasNotReady",
    "RootTokenMissing",
    "OperatorLoginRefused",
    "OperatorLoginOutdated",
    "DowngradeBlocked",
    "ImageVersionMismatch",
    "InvalidSpec",
    "UnsupportedFields",
)

UPGRADE_TYPES: tuple[ConditionType, ...] = (
    ConditionType(
        "Upgrading",
        "neutral",
        "An upgrade is in progress; absent before the first upgrade.",
        ("InProgress", "Idle", "Paused", *UPGRADE_PROGRESS, *UPGRADE_TROUBLE, *_OBSTACLES),
    ),
)
