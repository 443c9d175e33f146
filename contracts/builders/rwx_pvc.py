"""A PVC that all servers of a cluster mount."""

from __future__ import annotations

from contracts.naming import labels
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import PVC
from runtime.types import Object

SHARED_MODE = "ReadWriteMany"


def rwx_pvc(owner: Owner, name: str, size: str, storage_class: str | None) -> Object:
    """Build a PVC that all servers of a cluster mount, and that outlives the cluster.

    It has no owner reference; an annotation contains the UID of its owner.
    """
    spec: Object = {"accessModes": [SHARED_MODE], "resources": {"requests": {"storage": size}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {
        "apiVersion": PVC.api_version,
        "kind": PVC.kind,
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": labels.base(owner.name),
            "annotations": {labels.OWNER_UID: owner.uid},
        },
        "spec": spec,
    }
