"""What is told of upgrades while the operator decides nothing about them. Rows of test_conditions.

With a decision: tests/managers/upgrade/test_condition.py.
"""

from typing import Any

from runtime.outcome import Done, Outcome, Wait
from tests import gen

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
AWAY = FINE.with_pods(FINE.pods[0], FINE.pods[1])
FAILED = {"reason": "PodNotReady", "message": "x-2 is not back", "at": "2030-01-01T00:00:00Z"}


def upgrading(**told: Any) -> gen.Cluster:
    return OLD.having(upgrade={"targetVersion": "2.5.5", "fromVersion": "2.4.0", **told})


# sentence: (cluster, world, outcome of the pass, condition, "status reason")
UPGRADE_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "a pause found an upgrade on its way": (
        upgrading(phase="Rolling").wanting(paused=True),
        FINE, Done(), "Upgrading", "Unknown Paused",
    ),
    "an upgrade that stopped": (
        upgrading(failure=FAILED), FINE, Done(), "Degraded", "True PodNotReady",
    ),
    "one that goes on is nothing wrong": (
        upgrading(phase="Rolling"), FINE, Done(), "Degraded", "False Ready",
    ),
    "a server that is away for an upgrade": (
        upgrading(phase="Rolling"), AWAY, Wait("UpgradeInProgress", "one of three"),
        "Degraded", "False Ready",
    ),
    "a server that is away while an upgrade waits": (
        OLD, AWAY, Wait("ClusterNotReady", "two of three"), "Degraded", "True NotReady",
    ),
}  # fmt: skip
