"""PVCs of the StatefulSets of a cluster, as the API server returns them."""

from __future__ import annotations

from typing import Any

from contracts.naming import labels
from runtime.types import Object
from tests.gen.clusters import NAMESPACE


def claim(
    name: str = "data-x-0", *, size: str = "1Gi", owner: str = "uid-x", **metadata: Any
) -> Object:
    """A bound PVC; `owner` is the UID of its cluster."""
    usual = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-{name}",
        "labels": labels.base("x"),
        "annotations": {labels.OWNER_UID: owner},
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**usual, **metadata},
        "spec": {"resources": {"requests": {"storage": size}}},
        "status": {"phase": "Bound", "capacity": {"storage": size}},
    }
