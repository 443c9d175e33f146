"""A cluster of three hibernates twice and wakes with its data; once with fewer replicas."""

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.harness.audit import AuditLog, tally, writes
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.service_writer import ServiceWriter
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.harness.writing import may_write
from runtime.builtin_kinds import PVC, SERVICE, STATEFUL_SET
from runtime.types import Resource, uid_of

NAME = "sleepy"
STOP_SECONDS = 60.0
WAKE_SECONDS = 90.0
QUIET_SECONDS = 20.0


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """Three servers that are voters, with a client that may write."""
    namespace = make_namespace()
    requests = (key_value_engine(), *client_login(namespace))
    api.create(CLUSTERS, manifest(namespace, NAME, replicas=3, selfInit=self_init(*requests)))
    cluster = Cluster(api, namespace, NAME)
    may_write(cluster)
    cluster.await_available(120.0)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return cluster


@pytest.fixture(scope="module")
def writer(cluster: Cluster) -> ServiceWriter:
    """A client that wrote for a while."""
    with ServiceWriter(cluster) as client:
        until("the server acknowledges twenty writes", lambda: len(client.acknowledged) >= 20, 20.0)
    return client


def test_every_server_stops_and_all_other_objects_are_kept(
    cluster: Cluster, writer: ServiceWriter
) -> None:
    claims, services = uids(cluster, PVC), uids(cluster, SERVICE)
    watch = Stopwatch()
    change(cluster, hibernate=True)
    cluster.await_condition("Hibernated", reason="Hibernated", seconds=STOP_SECONDS)
    print(f"  {watch.seconds:.1f} s: hibernated")
    assert cluster.pods() == []
    for kind, status, reason in (
        ("Ready", "False", "Hibernated"),
        ("Available", "False", "Hibernated"),
        ("Reconciling", "False", "Ready"),
        ("Stalled", "False", "Ready"),
        ("Degraded", "False", "Ready"),
        ("OpenBaoSealed", "Unknown", "Hibernated"),
        ("OpenBaoLeader", "Unknown", "Hibernated"),
        ("RaftMembershipReady", "Unknown", "Hibernated"),
    ):
        assert cluster.condition(kind, status, reason), f"{kind}:\n{cluster.describe()}"
    assert "operation" not in cluster.live()["status"]
    assert (uids(cluster, PVC), uids(cluster, SERVICE)) == (claims, services)


def test_a_hibernated_cluster_gets_no_writes(
    cluster: Cluster, audit: AuditLog, controller: Identity
) -> None:
    mark = audit.mark()
    throughout("no pod exists", lambda: cluster.pods() == [], QUIET_SECONDS, every=1.0)
    own_writes = [
        entry
        for entry in writes(audit.since(mark, controller.user))
        if entry.namespace == cluster.namespace
    ]
    assert not own_writes, tally(own_writes)


def test_a_cluster_resumes_with_its_data_and_voters(
    cluster: Cluster, writer: ServiceWriter
) -> None:
    watch = Stopwatch()
    change(cluster, hibernate=False)
    cluster.await_condition("Reconciling", reason="Waking", seconds=10.0)
    cluster.await_available(WAKE_SECONDS)
    print(f"  {watch.seconds:.1f} s: awake")
    assert cluster.live()["status"].get("operation") is None
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    assert [
        condition for condition in cluster.conditions() if condition["type"] == "Hibernated"
    ] == []
    assert writer.lost() == []


def test_all_hibernated_servers_resume_even_if_fewer_are_requested(
    cluster: Cluster, writer: ServiceWriter
) -> None:
    change(cluster, hibernate=True)
    until("the StatefulSet has no replicas", lambda: replicas(cluster) == 0, 20.0, every=0.02)
    cluster.await_condition("Hibernated", reason="Hibernated", seconds=STOP_SECONDS)
    change(cluster, replicas=1)
    cluster.await_condition("Ready", "False", "Hibernated")
    assert replicas(cluster) == 0
    change(cluster, hibernate=False)
    until("the StatefulSet has three replicas", lambda: replicas(cluster) == 3, 20.0, every=0.02)
    until(
        "all three servers are ready",
        lambda: len(cluster.ready_pods()) == 3,
        WAKE_SECONDS,
        every=0.1,
    )
    assert writer.lost() == []


def change(cluster: Cluster, **spec: object) -> None:
    """Merge fields into the spec."""
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, {"spec": spec})


def replicas(cluster: Cluster) -> int:
    """Return the replicas in the spec of the StatefulSet."""
    return int(cluster.api.get(STATEFUL_SET, cluster.namespace, cluster.name)["spec"]["replicas"])


def uids(cluster: Cluster, resource: Resource) -> set[str]:
    """Return the uids of all objects of a kind that belong to the cluster."""
    selector = f"{labels.CLUSTER}={cluster.name}"
    objects = cluster.api.list(resource, cluster.namespace, selector)
    return {uid_of(obj) for obj in objects}
