"""The informers of the measurement: clusters, pods and Services."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from runtime.builtin_kinds import POD, SERVICE
from runtime.cache.informers import InformerSet
from runtime.cache.selection import Selection
from runtime.types import Object, ObjectKey, key_of, labels_of, uid_of

CONDITIONS = ("Available", "RaftMembershipReady")


@dataclass(slots=True)
class ServiceChanges:
    """Monotonic times of the last change of a Service, by cluster."""

    last: dict[str, float] = field(default_factory=dict)

    def on_add(self, obj: Object, _: bool) -> None:
        """Ignore: the initial state."""

    def on_update(self, _: Object, new: Object) -> None:
        """Record the time."""
        self.last[labels_of(new).get(labels.CLUSTER, "")] = time.monotonic()

    def on_delete(self, _: Object) -> None:
        """Ignore."""

    def on_resync(self, _: Object) -> None:
        """Ignore."""


class View:
    """Informers of the objects that show the progress of a phase."""

    def __init__(self, informers: InformerSet, replicas: int) -> None:
        self._replicas = replicas
        self.clusters = informers.informer(Selection(CLUSTERS, fields=("status",)))
        self.pods = informers.informer(
            Selection(POD, label_selector=labels.CLUSTER, fields=("status.conditions",))
        )
        services = informers.informer(Selection(SERVICE, label_selector=labels.CLUSTER))
        self.changes = ServiceChanges()
        services.add_handler(self.changes)

    def settled(self) -> int:
        """Count the clusters that are Available with all their servers and voters."""
        return sum(map(self._is_settled, self.clusters.list()))

    def ready_pods(self) -> dict[ObjectKey, str]:
        """Return the UIDs of pods that are ready."""
        return {key_of(pod): uid_of(pod) for pod in self.pods.list() if _holds(pod, "Ready")}

    def _is_settled(self, cluster: Object) -> bool:
        status = cluster.get("status") or {}
        return status.get("readyReplicas") == self._replicas and all(
            _holds(cluster, kind) for kind in CONDITIONS
        )


def _holds(obj: Object, condition: str) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(entry["type"] == condition and entry["status"] == "True" for entry in conditions)
