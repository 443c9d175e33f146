"""The data PVCs of a cluster, and a storage driver that needs a new pod for an expansion."""

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from contracts.naming import labels, names
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Object
from e2e.rig.kube import Kube
from runtime.builtin_kinds import PVC
from runtime.types import uid_of

PENDING = "FileSystemResizePending"
_POLL_SECONDS = 0.2


def claims(cluster: Cluster) -> list[Object]:
    """Return the data PVCs, sorted by name."""
    selector = f"{labels.CLUSTER}={cluster.name}"
    pvcs = cluster.api.list(PVC, cluster.namespace, selector)
    return sorted(pvcs, key=lambda claim: str(claim["metadata"]["name"]))


def capacities(cluster: Cluster) -> set[str]:
    """Return the capacities of the data PVCs."""
    return {
        ((claim.get("status") or {}).get("capacity") or {}).get("storage", "")
        for claim in claims(cluster)
    }


def requested_sizes(cluster: Cluster) -> set[str]:
    """Return the requested sizes of the data PVCs."""
    return {claim["spec"]["resources"]["requests"]["storage"] for claim in claims(cluster)}


def fingerprints(cluster: Cluster) -> dict[str, tuple[str, int]]:
    """Return UID and restarts of each pod, by name."""
    return {
        str(pod["metadata"]["name"]): (
            uid_of(pod),
            int(pod["status"]["containerStatuses"][0]["restartCount"]),
        )
        for pod in cluster.pods()
    }


class OfflineDriver:
    """Sets FileSystemResizePending on every data PVC, and removes it once the pod is replaced.

    The kubelet does the same with a driver that cannot expand a mounted volume. Use as a context
    manager.
    """

    def __init__(self, cluster: Cluster, since: datetime) -> None:
        self._cluster = cluster
        self._kube = Kube.from_kubeconfig(cluster.api.rig.kubeconfig, "e2e")
        self._since = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        file_fingerprints, leader = fingerprints(cluster), cluster.leader()
        leads = str(leader["metadata"]["name"]) if leader else ""
        # The leader's PVC last: the operator acts on the first PVC that it observes. A leader that
        # is the only server to replace would step down immediately, and its successor again later.
        self._first = {
            name: file_fingerprints[name][0]
            for name in sorted(file_fingerprints, key=lambda it: it == leads)
        }
        self._waiting: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "OfflineDriver":
        condition = {
            "type": PENDING,
            "status": "True",
            "lastTransitionTime": self._since,
            "message": "Waiting for user to (re-)start a pod to finish file system resize",
        }
        for pod in self._first:
            self._set_status(pod, {"conditions": [condition]})
            self._waiting.add(pod)
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        self._thread.join(10.0)

    def _run(self) -> None:
        while not self._stop.wait(_POLL_SECONDS):
            for pod in self._cluster.pods():
                name = str(pod["metadata"]["name"])
                started = (pod.get("status") or {}).get("podIP")
                if name in self._waiting and started and uid_of(pod) != self._first[name]:
                    self._set_status(name, {"conditions": []})
                    self._waiting.discard(name)

    def _set_status(self, pod: str, status: Mapping[str, Any]) -> None:
        claim = f"{names.DATA_VOLUME}-{pod}"
        self._kube.patch(f"{PVC.path(self._cluster.namespace, claim)}/status", {"status": status})
