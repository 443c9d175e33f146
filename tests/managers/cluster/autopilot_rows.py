"""What the conditions say of raft's autopilot: rows of test_conditions."""

from typing import Any

from runtime.outcome import Done, Outcome
from tests import gen

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)


def told(applied: bool, reason: str) -> gen.Cluster:
    status: dict[str, Any] = {"applied": applied, "reason": reason, "message": "as it says"}
    return OLD.having(adminOps={"autopilot": status})


AUTOPILOT_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "there is no raft cluster to set": (
        gen.cluster(),
        gen.world(),
        Done(),
        "AutopilotConfigured",
        "Unknown NotInitialized",
    ),
    "nobody looked at the autopilot": (
        OLD,
        FINE,
        Done(),
        "AutopilotConfigured",
        "Unknown AutopilotUnknown",
    ),
    "the autopilot is as asked": (
        told(True, "AutopilotApplied"),
        FINE,
        Done(),
        "AutopilotConfigured",
        "True AutopilotApplied",
    ),
    "the autopilot may not be set": (
        told(False, "AutopilotRefused"),
        FINE,
        Done(),
        "AutopilotConfigured",
        "False AutopilotRefused",
    ),
}
