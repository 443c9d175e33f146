"""Reasons about changes of the version, and the condition that tells of them.

Uses contracts.conditions.reason and contracts.conditions.condition_type. Part of
contracts.conditions.reasons and of contracts.conditions.catalogue; docs/upgrade.md says what to do
about each.
"""

from typing import Final

from contracts.conditions.condition_type import ConditionType
from contracts.conditions.reason import Reason
from contracts.conditions.reasons_workload import QUESTION_REFUSED

_RETRY = (
    "Do what the message says, then set spec.upgrade.requests.retry to a new text, or ask for "
    "another version."
)

UPGRADE_REASONS: tuple[Reason, ...] = (
    # --- on the way
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
        "Wait until it ends; status.operationLock names the holder.",
    ),
    Reason(
        "ClusterNotReady",
        "An upgrade does not begin while a preflight check fails.",
        "Read the message; the upgrade begins once the check passes.",
    ),
    Reason(
        "QuorumLost",
        "So few servers are healthy that the loss of one more would stop all writes.",
        "Repair the servers that the message names; the upgrade then continues.",
    ),
    # --- it may not begin
    Reason(
        "InvalidVersion",
        "spec.version is not a semantic version.",
        "Write MAJOR.MINOR.PATCH.",
    ),
    Reason(
        "VersionPairRefused",
        "An upgrade from the running version to spec.version is not supported with this strategy.",
        "Follow the message: choose another version or another strategy.",
    ),
    # --- it stopped
    Reason("StepDownFailed", "The Job that asks the leader to step down failed.", _RETRY),
    Reason("StepDownTimeout", "A leader did not step down in time.", _RETRY),
    Reason("PodNotReady", "A server of the new version did not become ready in time.", _RETRY),
    Reason(
        "HealthCheckFailed",
        "The servers are ready, and the leader did not report them as healthy in time.",
        _RETRY,
    ),
    Reason(
        "PreUpgradeBackupFailed",
        "Three snapshots before an upgrade failed; the upgrade did not begin.",
        _RETRY,
    ),
    Reason("UpgradeFailed", "The upgrade stopped.", _RETRY),
    # --- blue/green
    Reason(
        "BlueGreenHold",
        "A blue/green upgrade waits for a user.",
        "Read the message; then set promote, retry or rollback of spec.upgrade.requests to a new "
        "text.",
    ),
    Reason(
        "UpgradeRollback",
        "A blue/green upgrade is rolled back, or was and does not begin again automatically.",
        _RETRY,
    ),
    Reason(
        "BreakGlassRequired",
        "A rollback failed; the operator does not change the servers until a user has decided.",
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
# What else the checks before an upgrade may answer, and a budget while it goes on.
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
        "An upgrade is in progress; absent before the first one.",
        ("InProgress", "Idle", "Paused", *UPGRADE_PROGRESS, *UPGRADE_TROUBLE, *_OBSTACLES),
    ),
)
