"""An upgrade can be reverted to the former version until a leader stepped down."""

from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import violations
from tests.contracts.api.clusters import cluster_object

UPGRADE = {"targetVersion": "2.5.0", "fromVersion": "2.4.0"}


def upgrade_request(version: str, **upgrade: Any) -> tuple[OpenBaoCluster, OpenBaoCluster]:
    status = {"currentVersion": "2.4.0", "upgrade": {**UPGRADE, **upgrade}}
    new, old = (
        OpenBaoCluster.from_object({**cluster_object(version=item), "status": status})
        for item in (version, "2.5.0")
    )
    return new, old


@pytest.mark.parametrize("version", ["2.4.0", "v2.4.0"])
def test_the_former_version_is_accepted(version: str) -> None:
    assert violations(*upgrade_request(version)) == ()


@pytest.mark.parametrize(
    ("version", "upgrade"),
    [("2.4.1", {}), ("2.4.0", {"lastStepDownTime": "2030-01-01T00:00:00Z"})],
    ids=["another older one", "a leader stepped down"],
)
def test_another_older_version_is_refused(version: str, upgrade: dict[str, Any]) -> None:
    assert [violation.field for violation in violations(*upgrade_request(version, **upgrade))] == [
        "spec.version"
    ]
