"""Reasons about changes of the version, and the condition that tells of them.

Uses contracts.conditions.reason and contracts.conditions.condition_type. Part of
contracts.conditions.reasons and of contracts.conditions.catalogue; docs/upgrade.md says what to do
about each.
"""

from typing import Final

from contracts.conditions.condition_type import ConditionType
from contracts.conditions.reason import WAIT, Reason
from contracts.conditions.reasons_workload import QUESTION_REFUSED

_RETRY = (
    "Do what the message says, then set spec.upgrade.requests.retry to a new text, or ask for "
    "another version."
)

UPGRADE_REASONS: tuple[Reason, ...] = (
    # --- on the way
    Reason("UpgradeInProgress", "The servers are brought to another version.", WAIT),
    Reason("PreUpgradeSnapshot", "A snapshot is taken before the first server is touched.", WAIT),
    Reason("OperationLockBlocked", "A backup or a restore goes first.", WAIT),
    Reason(
        "ClusterNotReady",
        "An upgrade does not begin while something about the servers is not as it should be.",
        "Read the message; it begins by itself once all is well.",
    ),
    Reason(
        "QuorumLost",
        "So few servers are well that losing one more would stop all writes.",
        "Repair the servers that the message names; an upgrade goes on by itself then.",
    ),
    # --- it may not begin
    Reason(
        "InvalidVersion",
        "spec.version is no semantic version.",
        "Write MAJOR.MINOR.PATCH.",
    ),
    Reason(
        "VersionPairRefused",
        "It is known that the version asked for cannot follow the one that runs in this way.",
        "Do what the message says: another version, or another strategy.",
    ),
    # --- it stopped
    Reason("StepDownFailed", "The Job that asks the leader to step down failed.", _RETRY),
    Reason("StepDownTimeout", "A leader went on leading after it was asked to step down.", _RETRY),
    Reason("PodNotReady", "A server did not become ready in the new version in time.", _RETRY),
    Reason(
        "HealthCheckFailed",
        "The servers are ready, and the leader does not find them well in time.",
        _RETRY,
    ),
    Reason(
        "PreUpgradeBackupFailed",
        "Three snapshots before an upgrade failed, so it did not begin.",
        _RETRY,
    ),
    Reason("UpgradeFailed", "An upgrade stopped.", _RETRY),
    # --- blue/green
    Reason(
        "BlueGreenHold",
        "An upgrade by a second set of servers waits for a person.",
        "Read the message; then set promote, retry or rollback of spec.upgrade.requests to a new "
        "text.",
    ),
    Reason(
        "UpgradeRollback",
        "An upgrade by a second set of servers goes back, or did and is not begun again by itself.",
        _RETRY,
    ),
    Reason(
        "BreakGlassRequired",
        "Going back failed, and nothing is done about the servers until a person has looked.",
        "Do what status.breakGlass.steps say, then repeat status.breakGlass.nonce in "
        "spec.breakGlassAck.",
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
    "DowngradeBlocked",
    "ImageVersionMismatch",
    "InvalidSpec",
    "FieldsNotServed",
)

UPGRADE_TYPES: tuple[ConditionType, ...] = (
    ConditionType(
        "Upgrading",
        "neutral",
        "The servers are brought to another version; absent if they never were.",
        ("InProgress", "Idle", "Paused", *UPGRADE_PROGRESS, *UPGRADE_TROUBLE, *_OBSTACLES),
    ),
)
