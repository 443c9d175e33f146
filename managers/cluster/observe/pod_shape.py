"""The shape in which the pods of servers are cached: what managers.cluster.observe reads of them.

A pod is the largest object of a cluster, and a cluster has one per server. Pure; used by the
selection of pods in baoctl.controllers.caches.
"""

from __future__ import annotations

from runtime.types import Object

CONTAINER_FIELDS = ("name", "image")


def without_container_details(pod: Object) -> Object:
    """Keep name and image of each container; probes, variables and mounts go. In place."""
    spec = pod.get("spec")
    containers = spec.get("containers") if isinstance(spec, dict) else None
    if isinstance(spec, dict) and isinstance(containers, list):
        spec["containers"] = [
            {field: one[field] for field in CONTAINER_FIELDS if field in one}
            for one in containers
            if isinstance(one, dict)
        ]
    return pod
