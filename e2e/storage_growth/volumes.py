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
_LOOK = 0.2


def claims(cluster: Cluster) -> list[Object]:
    """Return the data volume claims by name."""
    selector = f"{labels.CLUSTER}={cluster.name}"
    found = cluster.api.list(PVC, cluster.namespace, selector)
    return sorted(found, key=lambda claim: str(claim["metadata"]["name"]))


def capacities(cluster: Cluster) -> set[str]:
    """Return the sizes that the volumes have."""
    return {
        ((claim.get("status") or {}).get("capacity") or {}).get("storage", "")
        for claim in claims(cluster)
    }


def requested(cluster: Cluster) -> set[str]:
    """Return the sizes that the claims ask for."""
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
    """Says of every claim that its file system waits, and takes that back in a newer pod.

    So does the kubelet for a driver that cannot grow what is mounted. Use as a context manager.
    """

    def __init__(self, cluster: Cluster, since: datetime) -> None:
        self._cluster = cluster
        self._kube = Kube.from_kubeconfig(cluster.api.rig.kubeconfig, "e2e")
        self._since = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        found, leader = fingerprints(cluster), cluster.leader()
        leads = str(leader["metadata"]["name"]) if leader else ""
        # The leader's volume last: the operator acts on the first that it hears of, and a leader
        # that is the only one to need a new pod hands over at once, and its successor once more.
        self._first = {name: found[name][0] for name in sorted(found, key=lambda it: it == leads)}
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
            self._say(pod, {"conditions": [condition]})
            self._waiting.add(pod)
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        self._thread.join(10.0)

    def _run(self) -> None:
        while not self._stop.wait(_LOOK):
            for pod in self._cluster.pods():
                name = str(pod["metadata"]["name"])
                started = (pod.get("status") or {}).get("podIP")
                if name in self._waiting and started and uid_of(pod) != self._first[name]:
                    self._say(name, {"conditions": []})
                    self._waiting.discard(name)

    def _say(self, pod: str, status: Mapping[str, Any]) -> None:
        claim = f"{names.DATA_VOLUME}-{pod}"
        self._kube.patch(f"{PVC.path(self._cluster.namespace, claim)}/status", {"status": status})
