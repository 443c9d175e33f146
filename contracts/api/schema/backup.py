"""The CustomResourceDefinition of OpenBaoBackup.

Uses contracts.api.schema.crd and contracts.api.rules.backup_object. Called by `python -m
baoctl.generate crd`.
"""

from contracts.api.backup import OpenBaoBackup
from contracts.api.group import BACKUP_KIND, BACKUPS
from contracts.api.rules.backup_object import SNAPSHOT_RULES
from contracts.api.schema.crd import Column, Schema, definition, object_schema, with_rules

_COLUMNS: tuple[Column, ...] = (
    ("Cluster", "string", ".spec.cluster", "OpenBaoCluster of the snapshot.", 0),
    ("Origin", "string", ".spec.origin", "Who requested the backup.", 0),
    ("Phase", "string", ".status.phase", "Phase of the backup.", 0),
    ("Size", "integer", ".status.snapshot.size", "Size of the snapshot in bytes.", 0),
    ("Proof", "string", ".status.proof.outcome", "Result of the last restore test.", 0),
    ("Age", "date", ".metadata.creationTimestamp", "Time since creation.", 0),
    ("Reason", "string", ".status.reason", "Reason of the phase.", 1),
    ("Version", "string", ".status.snapshot.version", "OpenBao version that took the snapshot.", 1),
    ("Key", "string", ".status.key", "Object key of the snapshot.", 1),
)


def crd() -> Schema:
    """Return a new CustomResourceDefinition of OpenBaoBackup, which the caller may change."""
    return definition(BACKUPS, ("obackup",), _COLUMNS, open_api_schema())


def open_api_schema() -> Schema:
    """Return the structural schema of OpenBaoBackup with its rules."""
    return with_rules(object_schema(OpenBaoBackup, BACKUP_KIND), SNAPSHOT_RULES)
