"""The life cycles of two clusters, in which the operator needs all its permissions.

`bao` has one server and gets every change. `three` requests three servers that no node can run: it
has the objects of a cluster of several servers, without the time to start them.
"""

from functools import partial
from typing import Any

from contracts import owned_kinds
from contracts.api.group import BACKUPS, CLUSTERS
from contracts.naming import labels, names
from contracts.optional_kinds import BACKEND_TLS_POLICY, HTTP_ROUTE, SERVICE_MONITOR, TLS_ROUTE
from e2e.harness import gateway_api
from e2e.harness.backups import SELDOM, Run, backups_of, restore, trigger
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.waiting import until
from managers.backup.schedule_plan import FAILED_KEPT
from managers.context.context import MARKS
from runtime.builtin_kinds import (
    CONFIG_MAP,
    INGRESS,
    NETWORK_POLICY,
    POD,
    PVC,
    ROLE_BINDING,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from runtime.types import Resource, annotations_of, labels_of, uid_of

NAME, OTHER, PUBLIC = "bao", "three", "public"
SNAPSHOTS, FRESH, KEY, OLD = "snapshots", "fresh", "copied-key", "old"
VOLUME = {"provider": "pvc", "bucket": "all", "pvc": {"claimName": SNAPSHOTS}}
EDGE = {"podSelector": {"matchLabels": {"app": "edge"}}}
NOWHERE = {"nodeSelector": {"no-such": "node"}}
HTTP, TLS, POLICY, MONITOR = (
    kind.resources[0] for kind in (HTTP_ROUTE, TLS_ROUTE, BACKEND_TLS_POLICY, SERVICE_MONITOR)
)
# Kinds whose objects are created, repaired, and deleted when the desired state lacks them.
PRUNED: tuple[Resource, ...] = (*owned_kinds.PRUNED, HTTP, TLS, POLICY, MONITOR)
OWNED: tuple[Resource, ...] = (*PRUNED, STATEFUL_SET)
_GROUP = "rbac.authorization.k8s.io"
# The smallest body of each kind that the API server accepts.
_BODIES: dict[Resource, Object] = {
    INGRESS: {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 1}}}}},
    NETWORK_POLICY: {"spec": {"podSelector": {}}},
    ROLE_BINDING: {"roleRef": {"apiGroup": _GROUP, "kind": "Role", "name": "x"}},
    SERVICE: {"spec": {"ports": [{"port": 1}]}},
    POLICY: {
        "spec": {
            "targetRefs": [{"group": "", "kind": "Service", "name": "x"}],
            "validation": {"hostname": "x.example.com", "wellKnownCACertificates": "System"},
        }
    },
    HTTP: {"spec": {}},
    TLS: {
        "spec": {
            "hostnames": ["x.example.com"],
            "rules": [{"backendRefs": [{"name": "x", "port": 1}]}],
        }
    },
}


def gateway(**more: Any) -> Object:
    """spec.gateway for the Gateway `public`."""
    gateway = {"enabled": True, "hostname": "bao.example.com", "gatewayRef": {"name": PUBLIC}}
    return {**gateway, **more}


def make(api: Api, namespace: str) -> tuple[Cluster, Cluster]:
    """Create both clusters, with every setting that is possible at creation."""
    gateway_api.make_gateway(api, namespace, PUBLIC)
    api.create(
        CLUSTERS,
        manifest(
            namespace,
            NAME,
            selfInit=self_init(key_value_engine()),
            gateway=gateway(),
            ingress={"enabled": True, "host": "bao.example.com"},
            network={"trustedIngressPeers": [EDGE]},
            observability={"metrics": {"enabled": True, "serviceMonitor": {"enabled": True}}},
            auditFileStorage={"mode": "ManagedPVC", "size": "16Mi"},
            backup={"schedule": SELDOM, "target": VOLUME},
        ),
    )
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}
    api.create(PVC, {"metadata": {"name": SNAPSHOTS, "namespace": namespace}, "spec": claim})
    other = manifest(
        namespace, OTHER, replicas=3, gateway=gateway(tlsPassthrough=True), scheduling=NOWHERE
    )
    api.create(CLUSTERS, other)
    return Cluster(api, namespace, NAME), Cluster(api, namespace, OTHER)


def change(cluster: Cluster, **spec: Any) -> None:
    """Merge fields into the spec."""
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, {"spec": spec})


def repaired_objects(*clusters: Cluster) -> list[tuple[Resource, Object]]:
    """Return the objects that the operator repairs, at least one of each kind."""
    objects = [
        (resource, live)
        for cluster in clusters
        for resource in OWNED
        for live in cluster.api.list(
            resource, cluster.namespace, f"{labels.CLUSTER}={cluster.name}"
        )
    ]
    assert {resource for resource, _ in objects} == set(OWNED)
    return objects


def repair_edits(*clusters: Cluster) -> None:
    """Edit every object of the clusters, and wait until each edit is reverted."""
    _change_label(clusters, labels.NAME, "somebody-else")


def restore_labels(*clusters: Cluster) -> None:
    """Remove the label that the operator selects in its watches, and wait until it is restored.

    The caches lose each object: the operator tries to create it, gets a conflict, and reads it.
    """
    _change_label(clusters, labels.MANAGED_BY, None)


def _change_label(clusters: tuple[Cluster, ...], label: str, value: str | None) -> None:
    api, namespace = clusters[0].api, clusters[0].namespace
    objects = repaired_objects(*clusters)
    for resource, live in objects:
        change = {"metadata": {"labels": {label: value}}}
        api.patch(resource, namespace, live["metadata"]["name"], change)

    def unreverted_labels() -> list[str]:
        return [
            f"{resource} {name}"
            for resource, live in objects
            for name in [live["metadata"]["name"]]
            if labels_of(api.get(resource, namespace, name)) != labels_of(live)
        ]

    until("every label is restored", lambda: not unreverted_labels(), 20.0, every=0.5)


def delete_leftovers(cluster: Cluster) -> None:
    """Create a leftover object of each kind, as of an earlier version of the operator."""
    api, namespace = cluster.api, cluster.namespace
    example = api.get(CONFIG_MAP, namespace, names.config_map(cluster.name))["metadata"]
    uid = uid_of(cluster.live())
    metadata = {
        "name": "left-behind",
        "namespace": namespace,
        "labels": example["labels"],
        "annotations": {MARKS.owner_uid: uid},
        "ownerReferences": example["ownerReferences"],
    }
    for resource in PRUNED:
        api.create(resource, {"metadata": metadata, **_BODIES.get(resource, {})})

    def unpruned_objects() -> list[str]:
        return [
            str(resource) for resource in PRUNED if api.find(resource, namespace, "left-behind")
        ]

    # Change the spec, so that a reconcile starts immediately.
    change(cluster, network={"dnsNamespace": "kube-system"})
    until("the leftover objects are deleted", lambda: not unpruned_objects(), 20.0, every=0.5)


def renew_certificate(cluster: Cluster) -> None:
    """Request another name in the certificate."""
    api, where = cluster.api, (SECRET, cluster.namespace, names.tls_server_secret(cluster.name))
    before = api.get(*where)
    change(cluster, tls={"enabled": True, "extraSANs": ["other.example.com"]})
    until("the certificate is renewed", lambda: api.get(*where)["data"] != before["data"], 20.0)


def annotate_and_reload(cluster: Cluster) -> None:
    """Enable maintenance, and change a setting that a server reloads."""
    (pod,) = cluster.pods()
    change(cluster, maintenance={"enabled": True}, configuration={"logLevel": "debug"})
    where = (POD, cluster.namespace, pod["metadata"]["name"])
    api = cluster.api

    def is_reloaded() -> bool:
        live = api.get(*where)
        marked = labels.MAINTENANCE in annotations_of(live)
        return marked and bool(live["spec"].get("ephemeralContainers"))

    until("the pod is annotated and reloaded", is_reloaded, 40.0)
    change(cluster, maintenance=None)


def expand_volume(cluster: Cluster) -> None:
    """Expand the volume, for which the StatefulSet is recreated."""
    api, namespace = cluster.api, cluster.namespace
    where = (STATEFUL_SET, namespace, names.stateful_set(cluster.name))
    before = uid_of(api.get(*where))
    change(cluster, storage={"size": "128Mi"})

    def larger() -> bool:
        live = api.find(*where)
        return live is not None and uid_of(live) != before

    until("the StatefulSet is recreated", larger, 30.0)


def restart_pod(cluster: Cluster) -> None:
    """Request a restart."""
    (pod,) = cluster.pods()
    change(cluster, runtime={"restartAt": "now"})

    def new() -> bool:
        pods = cluster.ready_pods()
        return len(pods) == 1 and uid_of(pods[0]) != uid_of(pod)

    until("another pod serves", new, 60.0)


def back_up_and_restore(cluster: Cluster) -> None:
    """Request a snapshot, and restore it; meanwhile old failed backups are deleted."""
    _create_failed_backups(cluster)
    trigger(cluster, "now")
    run = until("the request creates an OpenBaoBackup", lambda: _requested_backup(cluster), 40.0)
    run.await_phase("Completed")
    restore(cluster, "back", {"backup": run.name}).await_phase("Completed")
    until(
        "old failed backups are deleted", lambda: len(_failed_backups(cluster)) <= FAILED_KEPT, 20.0
    )


def restore_into_new_cluster(cluster: Cluster) -> None:
    """Restore the snapshot into a new cluster, which is deleted afterwards."""
    api, namespace = cluster.api, cluster.namespace
    key = api.get(SECRET, namespace, names.unseal_key_secret(cluster.name))
    api.create(
        SECRET,
        {"metadata": {"name": KEY, "namespace": namespace}, "data": key["data"]},
    )
    run = _requested_backup(cluster)
    assert run is not None
    source = {"backup": run.name}
    template = {
        "storage": {"size": "64Mi"},
        "unseal": {"type": "static", "credentialsSecretRef": {"name": KEY}},
    }
    fresh = Cluster(api, namespace, FRESH)
    run = restore(
        fresh, "elsewhere", source, clusterTemplate=template, targetLifecycle="Disposable"
    )
    run.await_phase("Completed", 120.0)
    until("the new cluster is deleted", lambda: fresh.find() is None, 60.0)


def _requested_backup(cluster: Cluster) -> Run | None:
    """Return the requested backup; None while it does not exist."""
    backups = (run for run in backups_of(cluster) if not run.name.startswith(OLD))
    return next(backups, None)


def _create_failed_backups(cluster: Cluster) -> None:
    """Create more failed backups than the operator keeps, with the status that it writes."""
    for number in range(FAILED_KEPT + 2):
        name = f"{OLD}-{number}"
        metadata = {
            "name": name,
            "namespace": cluster.namespace,
            "labels": labels.base(cluster.name),
        }
        cluster.api.create(BACKUPS, {"metadata": metadata, "spec": {"cluster": cluster.name}})
        status = {"phase": "Failed", "counted": True, "completedAt": "2026-01-01T00:00:00Z"}
        cluster.api.patch_status(BACKUPS, cluster.namespace, name, {"status": status})


def _failed_backups(cluster: Cluster) -> list[Run]:
    return [run for run in backups_of(cluster) if run.name.startswith(OLD)]


def delete_clusters(*clusters: Cluster) -> None:
    """Delete the clusters, and wait until all their objects are deleted."""
    for cluster in clusters:
        cluster.api.delete(CLUSTERS, cluster.namespace, cluster.name)
    for cluster in clusters:
        until(f"{cluster.name} is deleted", partial(_is_deleted, cluster), 60.0)


def _is_deleted(cluster: Cluster) -> bool:
    return cluster.find() is None and not cluster.belongings((PVC, STATEFUL_SET))
