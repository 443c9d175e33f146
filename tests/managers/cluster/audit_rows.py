"""Rows of test_conditions about the volume of audit files."""

from runtime.outcome import Done, Outcome
from tests import gen

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)

AUDIT_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "the volume of audit files is not there": (
        OLD.wanting(auditFileStorage={"mode": "ManagedPVC", "size": "1Gi"}),
        FINE,
        Done(),
        "AuditFileStorageReady",
        "False PrerequisitesMissing",
    )
}
