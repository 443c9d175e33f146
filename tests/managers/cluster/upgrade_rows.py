"""Rows of test_conditions about upgrades without an upgrade decision.

With a decision: tests/managers/upgrade/test_condition.py.
"""

from typing import Any

from runtime.outcome import Wait
from tests import gen
from tests.managers.cluster.passes import Row

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
AWAY = FINE.with_pods(FINE.pods[0], FINE.pods[1])
FAILED = {"reason": "PodNotReady", "message": "x-2 is not back", "at": "2030-01-01T00:00:00Z"}


def upgrading(**told: Any) -> gen.Cluster:
    return OLD.with_status(upgrade={"targetVersion": "2.5.5", "fromVersion": "2.4.0", **told})


UPGRADE_ROWS = {
    "a pause found an upgrade on its way": Row(
        upgrading(phase="Rolling").with_spec(paused=True), FINE, "Upgrading=Unknown Paused"
    ),
    "an upgrade that stopped": Row(upgrading(failure=FAILED), FINE, "Degraded=True PodNotReady"),
    "one that goes on is nothing wrong": Row(
        upgrading(phase="Rolling"), FINE, "Degraded=False Ready"
    ),
    "a server that is away for an upgrade": Row(
        upgrading(phase="Rolling"),
        AWAY,
        "Degraded=False Ready",
        Wait("UpgradeInProgress", "one of three"),
    ),
    "a server that is away while an upgrade waits": Row(
        OLD, AWAY, "Degraded=True NotReady", Wait("ClusterNotReady", "two of three")
    ),
}
