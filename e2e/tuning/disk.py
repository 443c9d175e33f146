"""Volumes on the disk of this machine; those of the rig are in memory, where a sync is free."""

from pathlib import Path

from contracts.naming import names
from e2e.harness.clusters import Cluster
from e2e.rig.layout import NODE_NAME
from runtime.types import Object, Resource

STORAGE_CLASS = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
VOLUME = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
DISK = "disk"
SIZE = "1Gi"


def make_disk_volumes(cluster: Cluster, servers: int, folder: Path) -> list[str]:
    """Make a volume for each server of a cluster that does not exist yet; return their names."""
    cluster.api.create(STORAGE_CLASS, disk_class())
    paths = []
    for ordinal in range(servers):
        path = folder / str(ordinal)
        path.mkdir()
        volume = disk_volume(cluster, ordinal, path)
        cluster.api.create(VOLUME, volume)
        paths.append(str(volume["metadata"]["name"]))
    return paths


def disk_class() -> Object:
    """Return a StorageClass without a dynamic provisioner."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": DISK},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "Immediate",
    }


def disk_volume(cluster: Cluster, ordinal: int, path: Path) -> Object:
    """Return the PersistentVolume of a server."""
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE_NAME]}
    claim = {"namespace": cluster.namespace, "name": names.data_claim(cluster.name, ordinal)}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{DISK}{ordinal}"},
        "spec": {
            "capacity": {"storage": SIZE},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": DISK,
            "local": {"path": str(path)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim},
        },
    }
