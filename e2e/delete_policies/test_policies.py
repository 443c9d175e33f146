"""Deletion with each policy, during a first boot, and with the namespace."""

import os
import signal
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.harness.audit import AuditLog
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.harness.server_process import server_pid
from e2e.harness.waiting import Stopwatch, until
from runtime.builtin_kinds import EVENT, NAMESPACE, POD, PVC, STATEFUL_SET
from runtime.types import is_terminating

GONE_WITHIN = 90.0
NAMESPACE_GONE_WITHIN = 60.0
# Thirty seconds for the pods to end, a recheck, and more for a busy machine.
FINALIZER_GONE_WITHIN = 45.0
# Name of a cluster: its policy.
DELETED = {"first": "DeletePVCs", "second": "DeleteAll"}
MIXED = {"keeps": "Retain", "drops": "DeleteAll"}


def clusters_of(api: Api, namespace: str, policies: Mapping[str, str]) -> list[Cluster]:
    """Create clusters of one server, and wait until all are Available."""
    for name, policy in policies.items():
        api.create(CLUSTERS, manifest(namespace, name, deletionPolicy=policy))
    clusters = [Cluster(api, namespace, name) for name in policies]
    for cluster in clusters:
        cluster.await_available()
    return clusters


def await_gone(cluster: Cluster, kept: AbstractSet[tuple[str, str]] = frozenset()) -> None:
    """Wait until the cluster and all its objects but these are deleted."""
    watch = Stopwatch()
    until("the cluster is gone", lambda: cluster.find() is None, GONE_WITHIN)
    gone = "all objects of the cluster are deleted"
    until(gone, lambda: cluster.belongings() == kept, GONE_WITHIN)
    print(f"\n{cluster.name}: deleted after {watch.seconds:.1f} s")


def test_volumes_are_deleted_after_the_last_server(
    api: Api, operator: Operator, audit: AuditLog, controller: Identity, namespace: str
) -> None:
    """A volume with the labels of the cluster and another UID, as after Retain, is kept."""
    clusters = clusters_of(api, namespace, DELETED)
    # After the first boot: a new cluster with a volume of another one would wait for a user.
    earlier = names.data_claim("second", 3)
    api.create(PVC, earlier_volume(namespace, "second", earlier))
    mark = audit.mark()
    for cluster in clusters:
        api.delete(CLUSTERS, namespace, cluster.name)
    for cluster, kept in zip(clusters, (set(), {(PVC.kind, earlier)}), strict=True):
        await_gone(cluster, kept)
    assert not is_terminating(api.get(PVC, namespace, earlier))

    def is_reported() -> bool:
        found = [one for one in api.list(EVENT, namespace) if one["reason"] == "VolumesKept"]
        return any(earlier in str(one["note"]) for one in found)

    until("an event names the volume", is_reported, 20.0)
    deletes = [e for e in audit.since(mark) if e.namespace == namespace and e.verb == "delete"]
    for cluster in clusters:
        claim, pod = names.data_claim(cluster.name, 0), names.pod(cluster.name, 0)
        (claim_deleted,) = [e.at for e in deletes if e.name == claim and e.user == controller.user]
        # kubelet deletes a pod from the API when its last process has ended.
        ended = [e.at for e in deletes if e.name == pod and e.user.startswith("system:node:")]
        assert ended
        assert max(ended) < claim_deleted


def test_a_cluster_can_be_deleted_during_its_first_boot(
    api: Api, operator: Operator, namespace: str
) -> None:
    api.create(CLUSTERS, manifest(namespace, "early", selfInit=self_init(key_value_engine())))
    cluster = Cluster(api, namespace, "early")
    created = "the StatefulSet is created"
    until(created, lambda: api.find(STATEFUL_SET, namespace, names.stateful_set("early")), 30.0)
    api.delete(CLUSTERS, namespace, "early")
    await_gone(cluster)


def test_a_namespace_with_clusters_can_be_deleted(
    api: Api, operator: Operator, namespace: str
) -> None:
    clusters_of(api, namespace, MIXED)
    watch = Stopwatch()
    api.delete(NAMESPACE, None, namespace)
    gone = "the namespace is gone"
    until(gone, lambda: api.find(NAMESPACE, None, namespace) is None, NAMESPACE_GONE_WITHIN)
    print(f"\nnamespace gone after {watch.seconds:.1f} s")


def test_attack_t20_a_hanging_server_blocks_neither_cluster_nor_namespace(
    api: Api, operator: Operator, namespace: str
) -> None:
    """The grace period of its pod is two minutes, and a hanging server would use all of it."""
    (cluster,) = clusters_of(api, namespace, {"hangs": "DeletePVCs"})
    server = server_pid(namespace, names.pod("hangs", 0))
    assert server is not None
    watch = Stopwatch()
    os.kill(server, signal.SIGSTOP)
    try:
        api.delete(CLUSTERS, namespace, "hangs")

        def is_reported() -> bool:
            return any(
                "hangs-0 still run" in condition["message"] for condition in cluster.conditions()
            )

        until("the status names the pod", is_reported, 20.0)
        until("the cluster is gone", lambda: cluster.find() is None, FINALIZER_GONE_WITHIN)
        print(f"\n{watch.seconds:.1f} s: the cluster is gone, its server hangs")
        claim = api.get(PVC, namespace, names.data_claim("hangs", 0))
        assert is_terminating(claim)
        assert api.find(POD, namespace, names.pod("hangs", 0)) is not None
        # Since Kubernetes 1.34, pods are deleted before all other objects of a namespace.
        api.delete(NAMESPACE, None, namespace)
    finally:
        # As the kubelet does after the grace period.
        os.kill(server, signal.SIGKILL)
    gone = "the namespace is gone"
    until(gone, lambda: api.find(NAMESPACE, None, namespace) is None, NAMESPACE_GONE_WITHIN)
    print(f"{watch.seconds:.1f} s: the namespace is gone")


def earlier_volume(namespace: str, cluster: str, name: str) -> Object:
    """Return a PVC as an earlier cluster with the same name leaves it."""
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels.base(cluster),
            "annotations": {labels.OWNER_UID: "00000000-0000-0000-0000-000000000000"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "64Mi"}},
        },
    }
