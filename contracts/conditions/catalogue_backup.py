"""The conditions of a cluster about its snapshots. Uses contracts.conditions.condition_type.

Part of contracts.conditions.catalogue; their reasons are in contracts.conditions.reasons_backup.
"""

from contracts.conditions.condition_type import ConditionType

BACKUP_TYPES: tuple[ConditionType, ...] = (
    ConditionType(
        "BackingUp", "neutral", "A snapshot is being taken right now.", ("InProgress", "Idle")
    ),
    ConditionType(
        "Restoring",
        "neutral",
        "Data of a snapshot are being put back right now.",
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
        "The last snapshot that was tested could be restored, and the test is recent.",
        (
            "RestoreTestPassed",
            "NeverTested",
            "RestoreTestRunning",
            "RestoreTestFailed",
            "RestoreTestInconclusive",
            "ProofOutdated",
        ),
    ),
)
