"""Rows of test_conditions about the volume of audit files."""

from tests import gen
from tests.managers.cluster.passes import Row

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)

AUDIT_ROWS = {
    "the volume of audit files is not there": Row(
        OLD.with_spec(auditFileStorage={"mode": "ManagedPVC", "size": "1Gi"}),
        FINE,
        "AuditFileStorageReady=False PrerequisitesMissing",
    )
}
