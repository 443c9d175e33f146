"""Reduces the cached pods of servers to the fields that managers.cluster.observe reads.

A pod is the largest object of a cluster, and a cluster has one per server. Pure; used by the
selection of pods in baoctl.controllers.caches.
"""

from __future__ import annotations

from runtime.types import Object

CONTAINER_FIELDS = ("name", "image")


def without_container_details(pod: Object) -> Object:
    """Keep only name and image of each container: no probes, variables and mounts. In place."""
    spec = pod.get("spec")
    containers = spec.get("containers") if isinstance(spec, dict) else None
    if isinstance(spec, dict) and isinstance(containers, list):
        spec["containers"] = [
            {field: container[field] for field in CONTAINER_FIELDS if field in container}
            for container in containers
            if isinstance(container, dict)
        ]
    return pod
