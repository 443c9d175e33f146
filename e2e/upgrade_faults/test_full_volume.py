"""A full volume: its server is not healthy in the new version, and the others keep serving."""

import pytest

from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.demo.objects import name_of
from e2e.harness.clusters import Cluster
from e2e.harness.full_volume import full_volume
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import STEADFAST
from e2e.harness.operator import Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.stopped_upgrade import POD_DEADLINE, uids, upgrade_of
from e2e.harness.upgrade_history import image_of
from e2e.harness.upgrades import Requests, change, move_lead, recorded
from e2e.harness.waiting import until
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.types import uid_of

NAME = "full"
TARGET = OPENBAO_UPGRADES[1]
VICTIM = names.pod(NAME, 2)
# A server without free space may not start, or may start and never catch up.
REASONS = ("PodNotReady", "HealthCheckFailed")


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, impatient: Operator) -> Cluster:
    """Three voters; the first leads, so that the last is replaced first."""
    made = steady_voters(
        api, make_namespace(), NAME, version=OPENBAO_UPGRADES[0], configuration=STEADFAST
    )
    move_lead(made, 0)
    return made


@pytest.mark.timeout(400)
def test_it_stops_there_and_continues_once_space_is_free(
    cluster: Cluster, requests: Requests
) -> None:
    requests.settle(cluster)
    before = uids(cluster)
    with full_volume(cluster, VICTIM) as volume, ServiceWriter(cluster) as writer:
        change(cluster, {"version": TARGET})
        failure = until(
            "the upgrade fails", lambda: upgrade_of(cluster).get("failure"), POD_DEADLINE + 60.0
        )
        print(f"\n  {failure['reason']}: {failure['message']}\n  {writer.describe()}")
        assert failure["reason"] in REASONS
        assert VICTIM in failure["message"]
        kept = {name_of(pod) for pod in cluster.pods() if uid_of(pod) in before}
        assert kept == {names.pod(NAME, 0), names.pod(NAME, 1)}
        assert writer.leader_changes == 0
        volume.make_room()
        with recorded(cluster) as record:
            change(cluster, {"upgrade": {"requests": {"retry": "there-is-room"}}})
            print(f"  finished after {record.await_finished(TARGET):.1f} s")
    assert {image_of(pod) for pod in cluster.pods()} == {openbao_reference(TARGET)}
    assert writer.lost() == []
