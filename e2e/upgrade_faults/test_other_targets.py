"""Refused target versions, and a change of the target during an upgrade."""

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, ApiError
from e2e.harness.manifests import STEADFAST
from e2e.harness.operator import Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters
from e2e.harness.stopped_upgrade import uids
from e2e.harness.upgrade_history import image_of
from e2e.harness.upgrades import Requests, change, recorded
from e2e.harness.waiting import throughout
from e2e.rig import Rig
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.builtin_kinds import STATEFUL_SET

NAME = "target"
FIRST, SECOND, THIRD, FOURTH = OPENBAO_UPGRADES
UNTOUCHED_SECONDS = 5.0


@pytest.fixture(scope="module")
def cluster(
    rig: Rig, api: Api, make_namespace: MakeNamespace, reloading_operator: Operator
) -> Cluster:
    """Three voters that were upgraded to the second version."""
    rig.load_openbao(OPENBAO_UPGRADES)
    made = steady_voters(
        api, make_namespace(), NAME, version=OPENBAO_UPGRADES[0], configuration=STEADFAST
    )
    with recorded(made) as record:
        change(made, {"version": SECOND})
        record.await_finished(SECOND)
    return made


def test_an_older_version_is_refused_by_the_api_server(cluster: Cluster) -> None:
    with pytest.raises(ApiError) as caught:
        cluster.api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": {"version": FIRST}})
    assert caught.value.code == 422
    assert "older" in str(caught.value)


def test_a_tag_of_another_version_is_refused_and_nothing_changes(
    cluster: Cluster, requests: Requests
) -> None:
    requests.settle(cluster)
    before, template = uids(cluster), generation(cluster)
    change(cluster, {"version": THIRD, "image": openbao_reference(FOURTH)})
    condition = cluster.await_condition("Upgrading", "False", "ImageVersionMismatch", seconds=20.0)
    print(f"\n  {condition['message']}")
    throughout("no pod changes", lambda: uids(cluster) == before, UNTOUCHED_SECONDS)
    assert generation(cluster) == template
    status = cluster.live()["status"]
    assert "upgrade" not in status
    assert "operationLock" not in status
    assert status["release"]["version"] == SECOND
    change(cluster, {"version": SECOND, "image": None})
    requests.settle(cluster)
    assert uids(cluster) == before


@pytest.mark.timeout(300)
def test_a_target_that_changes_midway_is_reached(cluster: Cluster, requests: Requests) -> None:
    requests.settle(cluster)
    with recorded(cluster) as record, ServiceWriter(cluster, reads_back=True) as writer:
        change(cluster, {"version": THIRD})
        record.await_first_touch()
        change(cluster, {"version": FOURTH})
        seconds = record.await_finished(FOURTH)
        history = record.history
    print(f"\n  {seconds:.1f} s since the second change: {' '.join(history.replaced())}")
    assert {image_of(pod) for pod in cluster.pods()} == {openbao_reference(FOURTH)}
    # The server that was being replaced may be replaced twice, the others once.
    assert len(history.replaced()) in (3, 4)
    assert set(history.replaced()) == {names.pod(NAME, number) for number in range(3)}
    assert len(history.leaders()) == 2
    assert writer.lost() == []
    assert writer.missed == []


def generation(cluster: Cluster) -> int:
    """Return the generation of the StatefulSet."""
    live = cluster.api.get(STATEFUL_SET, cluster.namespace, NAME)
    return int(live["metadata"]["generation"])
