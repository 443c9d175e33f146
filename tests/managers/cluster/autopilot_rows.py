"""Rows of test_conditions about the raft autopilot."""

from typing import Any

from tests import gen
from tests.managers.cluster.passes import Row

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)


def with_condition(applied: bool, reason: str) -> gen.Cluster:
    status: dict[str, Any] = {"applied": applied, "reason": reason, "message": "as it says"}
    return OLD.with_status(adminOps={"autopilot": status})


AUTOPILOT_ROWS = {
    "there is no raft cluster to set": Row(
        gen.cluster(), gen.world(), "AutopilotConfigured=Unknown NotInitialized"
    ),
    "nobody looked at the autopilot": Row(
        OLD, FINE, "AutopilotConfigured=Unknown AutopilotUnknown"
    ),
    "the autopilot is as asked": Row(
        with_condition(True, "AutopilotApplied"), FINE, "AutopilotConfigured=True AutopilotApplied"
    ),
    "the autopilot may not be set": Row(
        with_condition(False, "AutopilotRefused"),
        FINE,
        "AutopilotConfigured=False AutopilotRefused",
    ),
}
