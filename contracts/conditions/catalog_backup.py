"""The condition types of a cluster about its snapshots. Uses contracts.conditions.condition_type.

Part of contracts.conditions.catalog; their reasons are in contracts.conditions.reasons_backup.
"""

from contracts.conditions.condition_type import ConditionType

BACKUP_TYPES: tuple[ConditionType, ...] = (
    ConditionType("BackingUp", "neutral", "A snapshot is being taken.", ("InProgress", "Idle")),
    ConditionType(
        "Restoring",
        "neutral",
        "A snapshot is being restored.",
        ("RestoreInProgress", "NoRestore"),
    ),
    ConditionType(
        "BackupHealthy",
        "good",
        "The last snapshot was stored, and none is overdue.",
        ("LastBackupSucceeded", "NoBackupYet", "BackupFailed", "BackupOverdue"),
    ),
    ConditionType(
        "BackupProven",
        "good",
        "The last restore test succeeded, and is recent.",
        (
            "RestoreTestPassed",
            "NeverTested",
            "RestoreTestRunning",
            "RestoreTestFailed",
            "RestoreTestInconclusive",
            "RestoreTestStale",
        ),
    ),
)
