"""The CustomResourceDefinition of OpenBaoRestore.

Uses contracts.api.schema.crd and contracts.api.rules.restore. Called by `python -m baoctl.generate
crd`.
"""

from contracts.api.group import RESTORE_KIND, RESTORES
from contracts.api.restore import OpenBaoRestore
from contracts.api.rules.restore import RESTORE_RULES
from contracts.api.schema.crd import Column, Schema, definition, object_schema, with_rules

_COLUMNS: tuple[Column, ...] = (
    ("Cluster", "string", ".spec.cluster", "OpenBaoCluster that is restored.", 0),
    ("Phase", "string", ".status.phase", "Phase of the restore.", 0),
    ("Stage", "string", ".status.execution.stage", "Last completed step.", 0),
    ("Age", "date", ".metadata.creationTimestamp", "Time since creation.", 0),
    ("Message", "string", ".status.message", "What the restore does or waits for.", 0),
    ("Backup", "string", ".spec.source.backup", "OpenBaoBackup to restore.", 1),
    ("Key", "string", ".status.snapshotKey", "Object key of the snapshot.", 1),
)


def crd() -> Schema:
    """Return a new CustomResourceDefinition of OpenBaoRestore, which the caller may change."""
    return definition(RESTORES, ("obrestore",), _COLUMNS, open_api_schema())


def open_api_schema() -> Schema:
    """Return the structural schema of OpenBaoRestore with its rules."""
    return with_rules(object_schema(OpenBaoRestore, RESTORE_KIND), RESTORE_RULES)
