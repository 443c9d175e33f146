"""Volume expansion of three servers, under a load of ten writes per second."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.audit import AuditLog, refusals, tally, writes
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.service_writer import ServiceWriter, steady_voters, write_without_loss
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.rig.storage import PROVISIONER, storage_class
from e2e.storage_growth.volumes import (
    OfflineDriver,
    capacities,
    claims,
    fingerprints,
    requested_sizes,
)
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.types import Resource, uid_of

NAME = "growing"
RIGID = "rigid"
STORAGE_CLASS = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
CANNOT = "the storageclass that provisions the pvc must support resize"
GAP_SECONDS = 5.0
GROWN_WITHIN = 30.0
ROLLED_WITHIN = 240.0


@pytest.fixture(scope="module")
def operator(launcher: Launcher, audit: AuditLog, controller: Identity) -> Iterator[Operator]:
    """One operator for the scenario; only an expansion that the StorageClass forbids is refused."""
    mark = audit.mark()
    started = launcher.start(controller, NO_ELECTION)
    yield started
    assert started.alive, started.tail()
    requests = [
        entry for entry in audit.since(mark, controller.user) if CANNOT not in entry.message
    ]
    assert not (no := refusals(requests)), "\n".join(map(str, no))


@pytest.fixture(scope="module")
def cluster(api: Api, operator: Operator, make_namespace: MakeNamespace) -> Cluster:
    """Three servers with volumes of 1Gi, and a client that may write."""
    return steady_voters(api, make_namespace(), NAME, storage={"size": "1Gi"})


@pytest.fixture
def writer(cluster: Cluster) -> Iterator[ServiceWriter]:
    """A client that writes throughout the test; no acknowledged write may be lost."""
    yield from write_without_loss(cluster, GAP_SECONDS)


def live_set(cluster: Cluster) -> Object | None:
    """Return the StatefulSet, if it exists."""
    return cluster.api.find(STATEFUL_SET, cluster.namespace, names.stateful_set(cluster.name))


def template_size(cluster: Cluster) -> str:
    """Return the size in the claim template of the StatefulSet, "" if it does not exist."""
    live = live_set(cluster)
    if live is None:
        return ""
    claim = live["spec"]["volumeClaimTemplates"][0]["spec"]
    return str(claim["resources"]["requests"]["storage"])


@pytest.mark.timeout(300)
def test_volumes_are_expanded_and_no_pod_is_replaced(
    cluster: Cluster, writer: ServiceWriter, audit: AuditLog, controller: Identity
) -> None:
    before, set_before = fingerprints(cluster), live_set(cluster)
    assert set_before is not None
    mark, watch = audit.mark(), Stopwatch()
    change = {"spec": {"storage": {"size": "2Gi"}}}
    cluster.api.patch(CLUSTERS, cluster.namespace, NAME, change)
    until("all volumes are expanded", lambda: capacities(cluster) == {"2Gi"}, GROWN_WITHIN)
    print(f"\n  {watch.seconds:.1f} s: all volumes have 2Gi")
    grown = "the claim template has the new size"
    until(grown, lambda: template_size(cluster) == "2Gi", GROWN_WITHIN)
    cluster.await_condition("StorageConfigured", reason="StorageClassDefaulted")
    cluster.await_available(GROWN_WITHIN)
    print(f"  {watch.seconds:.1f} s: Available again")
    entries = audit.since(mark, controller.user)
    print(f"  requests: {tally([e for e in entries if e.namespace == cluster.namespace])}")
    print(f"  writes: {len(writes(entries))}")
    assert uid_of(live_set(cluster) or {}) != uid_of(set_before)

    def is_adopted() -> bool:
        owners = {
            pod["metadata"]["ownerReferences"][0]["uid"]
            for pod in cluster.pods()
            if pod["metadata"].get("ownerReferences")
        }
        return owners == {uid_of(live_set(cluster) or {})}

    until("the new StatefulSet owns the pods", is_adopted, 30.0)
    throughout("no pod is replaced or restarted", lambda: fingerprints(cluster) == before, 10.0)
    assert writer.leader_changes == 0


@pytest.mark.timeout(400)
def test_offline_expansion_replaces_one_pod_at_a_time(
    cluster: Cluster, writer: ServiceWriter
) -> None:
    before = fingerprints(cluster)
    leader = str((cluster.leader() or {})["metadata"]["name"])
    newest = max(str(pod["metadata"]["creationTimestamp"]) for pod in cluster.pods())
    since = datetime.fromisoformat(newest) + timedelta(seconds=1)
    left, order = {name: uid for name, (uid, _) in before.items()}, list[str]()
    watch = Stopwatch()
    with OfflineDriver(cluster, since):
        cluster.await_condition("StorageConfigured", "False", "StorageResizing")

        def all_new() -> bool:
            pods = cluster.pods()
            assert len(cluster.ready_pods()) >= 2
            there = {uid_of(pod) for pod in pods}
            for name in [name for name, uid in left.items() if uid not in there]:
                order.append(name)
                del left[name]
            return not left

        until("all pods are new", all_new, ROLLED_WITHIN)
        cluster.await_condition("StorageConfigured", reason="StorageClassDefaulted")
        cluster.await_available(90.0)
    print(f"  {watch.seconds:.1f} s: replaced in this order: {', '.join(order)}")
    assert order[-1] == leader
    assert writer.leader_changes == 1
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")


@pytest.mark.timeout(300)
def test_a_lost_volume_is_reported_and_its_replacement_is_filled(
    cluster: Cluster, writer: ServiceWriter
) -> None:
    leader = str((cluster.leader() or {})["metadata"]["name"])
    victim = next(name for name in fingerprints(cluster) if name != leader)
    claim = f"{names.DATA_VOLUME}-{victim}"
    (cluster_id,) = cluster.cluster_ids()
    lost = uid_of(cluster.api.get(PVC, cluster.namespace, claim))
    cluster.api.delete(PVC, cluster.namespace, claim)
    condition = cluster.await_condition("StorageConfigured", "False", "VolumeLost")
    assert victim in condition["message"]
    cluster.await_condition("Stalled", "True", "VolumeLost")
    watch = Stopwatch()
    cluster.api.delete(POD, cluster.namespace, victim)

    def is_renewed() -> bool:
        pvc = cluster.api.find(PVC, cluster.namespace, claim)
        return pvc is not None and uid_of(pvc) != lost

    until("a new PVC exists", is_renewed, 90.0)
    cluster.await_condition("StorageConfigured", reason="StorageClassDefaulted")
    cluster.await_available(90.0)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    print(f"\n  {watch.seconds:.1f} s: {victim} is a voter again, with an empty volume")
    assert requested_sizes(cluster) == {"2Gi"}
    assert cluster.cluster_ids() == {cluster_id}
    assert writer.leader_changes == 0


@pytest.mark.timeout(300)
def test_a_storage_class_without_expansion_is_reported(
    api: Api, operator: Operator, namespace: str, audit: AuditLog, controller: Identity
) -> None:
    body = storage_class()
    body["metadata"] = {"name": RIGID}
    body["allowVolumeExpansion"] = False
    assert body["provisioner"] == PROVISIONER
    api.create(STORAGE_CLASS, body)
    try:
        storage = {"size": "64Mi", "storageClassName": RIGID}
        api.create(CLUSTERS, manifest(namespace, "stiff", storage=storage))
        cluster = Cluster(api, namespace, "stiff")
        cluster.await_available()
        cluster.await_condition("StorageConfigured", reason="StorageClassConfigured")
        mark = audit.mark()
        api.patch(CLUSTERS, namespace, "stiff", {"spec": {"storage": {"size": "128Mi"}}})
        condition = cluster.await_condition(
            "StorageConfigured", "False", "StorageResizeNotSupported"
        )
        print(f"\n  {condition['message']}")
        assert RIGID in condition["message"]
        cluster.await_condition("Stalled", "True", "StorageResizeNotSupported")
        cluster.await_condition("Available")
        throughout("no PVC is changed", lambda: requested_sizes(cluster) == {"64Mi"}, 8.0)
        requests = [
            entry
            for entry in audit.since(mark, controller.user)
            if entry.resource == PVC.plural and entry.writes
        ]
        assert [entry.code for entry in requests] == [403]
        assert len(claims(cluster)) == 1
    finally:
        api.delete(STORAGE_CLASS, None, RIGID)
