"""A failed self-init request is reported, and the incomplete cluster is never scaled out."""

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.harness.waiting import throughout
from e2e.rig.versions import OPENBAO_RELEASES
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET

BAD: Object = {
    "name": "no_such_mount",
    "operation": "update",
    "path": "nowhere/at/all",
    "data": {"key": "value"},
}


FAILED_SECONDS = 60.0


@pytest.mark.timeout(400)
def test_a_failed_request_is_reported_and_stops_the_cluster(
    api: Api, operator: Operator, namespace: str
) -> None:
    """From 2.5.3 on such a server fails at its second start; before, it becomes ready."""
    requests = self_init(key_value_engine(), BAD)
    api.create(CLUSTERS, manifest(namespace, "bad", replicas=3, selfInit=requests))
    cluster = Cluster(api, namespace, "bad")
    assert_stops(cluster)
    start_with_empty_volume(cluster, {"selfInit": self_init(key_value_engine()), "replicas": 1})


@pytest.mark.timeout(400)
def test_a_server_without_its_audit_collector_is_not_reported_as_ready(
    api: Api, operator: Operator, namespace: str
) -> None:
    """It exits after the initialization, before the requests; its second start becomes ready."""
    away = {
        "type": "http",
        "path": "away",
        "httpOptions": {"uri": f"http://collector.{namespace}.svc:8080/"},
    }
    requests = self_init(key_value_engine())
    # 2.4.0 has no such audit device.
    newest = OPENBAO_RELEASES[-1]
    api.rig.load_openbao((newest,))
    spec = {"version": newest, "replicas": 1, "selfInit": requests, "audit": [away]}
    api.create(CLUSTERS, manifest(namespace, "audits", **spec))
    cluster = Cluster(api, namespace, "audits")
    assert_stops(cluster)
    start_with_empty_volume(cluster, {"audit": None})


def assert_stops(cluster: Cluster) -> None:
    """Assert that the cluster stays at one server and reports why, also with another pod."""
    api, name = cluster.api, cluster.name
    stalled = cluster.await_condition("Stalled", reason="SelfInitFailed", seconds=FAILED_SECONDS)
    print(f"\n  {stalled['message']}")
    assert names.pod(name, 0) in stalled["message"]
    condition = cluster.condition("OpenBaoInitialized", "False", "SelfInitFailed")
    assert condition is not None, cluster.describe()
    assert cluster.live()["status"]["phase"] == "Failed"

    def stays_alone() -> bool:
        replicas = api.get(STATEFUL_SET, cluster.namespace, name)["spec"]["replicas"]
        stalls = cluster.condition("Stalled", "True", "SelfInitFailed") is not None
        return replicas == 1 and len(cluster.pods()) <= 1 and stalls

    throughout("the cluster has one server and reports the reason", stays_alone, 5.0)
    api.delete(POD, cluster.namespace, names.pod(name, 0))
    throughout("another pod on the same volume changes nothing", stays_alone, 15.0)


def start_with_empty_volume(cluster: Cluster, corrected: Object) -> None:
    """Follow the message: correct the cause, and start with an empty volume."""
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, {"spec": corrected})
    cluster.api.delete(PVC, cluster.namespace, names.data_claim(cluster.name, 0))
    cluster.api.delete(POD, cluster.namespace, names.pod(cluster.name, 0))
    cluster.await_available(120.0)
    assert len(cluster.cluster_ids()) == 1
    assert cluster.operator_token(), "the last request did not run"
