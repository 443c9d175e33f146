"""Changes the objects of a running cluster so that they look as another operator creates them.

Selectors have only the base labels, pods lack the labels of this operator, and no object has its
annotations. The servers keep running with their configuration. Used by
e2e/adoption/test_adoption.py while no operator runs.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

from contracts.naming import labels, names
from contracts.owned_kinds import PRUNED
from e2e.demo.objects import Object
from e2e.harness.clusters import Cluster
from e2e.harness.waiting import until
from e2e.rig import Rig
from runtime.builtin_kinds import (
    POD,
    POD_DISRUPTION_BUDGET,
    SERVICE,
    STATEFUL_SET,
)
from runtime.types import uid_of

UNMARKED: Object = {"metadata": {"annotations": {labels.INTENT_HASH: None, labels.OWNER_UID: None}}}
UNLABELED = {labels.COMPONENT: None, labels.WORKLOAD_POOL: None}
SERVERS = {
    "matchLabels": UNLABELED,
    "matchExpressions": [
        {"key": labels.COMPONENT, "operator": "NotIn", "values": list(labels.JOBS)}
    ],
}


@dataclass(frozen=True, slots=True)
class FormerCluster(Cluster):
    """A cluster whose pods may lack the labels of this operator."""

    def pods(self) -> list[Object]:
        """Return the server pods by name. The cluster runs no Jobs."""
        selector = labels.selector_text(labels.base(self.name))
        pods = self.api.list(POD, self.namespace, selector)
        return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))


def make_foreign(rig: Rig, cluster: Cluster) -> None:
    """Change every object of the cluster without ending a pod."""
    api, namespace, name = cluster.api, cluster.namespace, cluster.name
    api.delete(SERVICE, namespace, names.active_service(name))
    for kind in PRUNED:
        for obj in api.list(kind, namespace, f"{labels.CLUSTER}={name}"):
            change = copy.deepcopy(UNMARKED)
            if kind == SERVICE:
                change["spec"] = {"selector": UNLABELED}
            elif kind == POD_DISRUPTION_BUDGET:
                change["spec"] = {"selector": SERVERS}
            elif obj["metadata"]["name"] == names.network_policy(name):
                change["spec"] = {"podSelector": SERVERS}
            api.patch(kind, namespace, obj["metadata"]["name"], change)
    _stateful_set(rig, cluster)


def _stateful_set(rig: Rig, cluster: Cluster) -> None:
    api, namespace, name = cluster.api, cluster.namespace, cluster.name
    live = api.get(STATEFUL_SET, namespace, name)
    rig.kubectl("-n", namespace, "delete", "statefulset", name, "--cascade=orphan")
    for pod in cluster.pods():
        removed = {key: None for key in pod["metadata"].get("annotations", {}) if "openbao" in key}
        change = {"metadata": {"labels": UNLABELED, "annotations": removed}}
        api.patch(POD, namespace, pod["metadata"]["name"], change)
    spec = copy.deepcopy(live["spec"])
    base = labels.base(name)
    spec |= {"selector": {"matchLabels": base}, "podManagementPolicy": "OrderedReady"}
    spec["template"]["metadata"] = {"labels": base, "annotations": {labels.CONFIG_HASH: "0"}}
    for claim in spec["volumeClaimTemplates"]:
        claim["metadata"] = {"name": claim["metadata"]["name"], "labels": base}
        claim.pop("status", None)
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": base,
        "ownerReferences": live["metadata"]["ownerReferences"],
    }
    stateful_set = api.create(STATEFUL_SET, {"metadata": metadata, "spec": spec})
    until(
        "the new StatefulSet owns the pods", lambda: _is_owned(cluster, uid_of(stateful_set)), 30.0
    )


def _is_owned(cluster: Cluster, uid: str) -> bool:
    owners = [pod["metadata"].get("ownerReferences") or [{}] for pod in cluster.pods()]
    live = cluster.api.get(STATEFUL_SET, cluster.namespace, cluster.name)
    current = live.get("status", {}).get("observedGeneration") == live["metadata"]["generation"]
    return current and all(owner[0].get("uid") == uid for owner in owners)
