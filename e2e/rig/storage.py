"""The storage objects of the rig and their rules; used by the provisioner. No I/O."""

from decimal import Decimal
from pathlib import Path

from e2e.rig.kube import Object
from e2e.rig.layout import NODE_NAME

PROVISIONER = "rig.openbao.org/folder"
STORAGE_CLASS = "rig"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def quantity(text: str) -> Decimal:
    """Parse a Kubernetes quantity: 1Gi, 500M, 1e9, 1536Mi."""
    if text[-2:] in _BINARY:
        return Decimal(text[:-2]) * (1 << _BINARY[text[-2:]])
    if text[-1:] in _DECIMAL:
        return Decimal(text[:-1]).scaleb(_DECIMAL[text[-1:]])
    return Decimal(text)


def storage_class() -> Object:
    """Return the default class of the rig."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": True,
    }


def volume(claim: Object, kind: Object, folder: Path) -> Object:
    """Return the PersistentVolume for a claim of a class, bound to it by UID."""
    meta, spec = claim["metadata"], claim["spec"]
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE_NAME]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pvc-{meta['uid']}", "annotations": {PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": kind.get("reclaimPolicy", "Delete"),
            "storageClassName": kind["metadata"]["name"],
            "local": {"path": str(folder / f"pvc-{meta['uid']}")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"],
                "name": meta["name"],
                "uid": meta["uid"],
            },
        },
    }


def wants_volume(claim: Object, kind: Object) -> bool:
    """Whether the claim is ready to be provisioned: it does not wait for the scheduler."""
    if kind.get("provisioner") != PROVISIONER or claim["spec"].get("volumeMode") == "Block":
        return False
    chosen = _SELECTED_NODE in claim["metadata"].get("annotations", {})
    return chosen or kind.get("volumeBindingMode") != "WaitForFirstConsumer"


def requested_expansion(claim: Object) -> str | None:
    """Return the requested size of a bound claim if it exceeds the capacity."""
    requested = claim["spec"]["resources"]["requests"]["storage"]
    granted = claim.get("status", {}).get("capacity", {}).get("storage")
    if granted is None or quantity(requested) <= quantity(granted):
        return None
    return str(requested)
