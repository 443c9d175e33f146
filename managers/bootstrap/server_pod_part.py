"""The volumes and the metrics port of the pod that the server configuration requires. Pure.

Called by `managers.cluster.resolve.resolve`; `managers.bootstrap.audit_storage` plans the PVC.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.api.cluster.audit import AuditFileStorage
from contracts.api.cluster.spec import ClusterSpec
from contracts.api.values.pod_paths import is_below
from contracts.builders.pod_part import PodPart
from contracts.hcl.stanzas import metrics_port
from contracts.naming import mount_paths, names
from contracts.naming.ports import Port
from contracts.records.resolved import AuditVolume

METRICS_PORT_NAME = "metrics"


def audit_volume(cluster: str, storage: AuditFileStorage | None) -> AuditVolume | None:
    """Resolve the settings of the volume for audit files, once per reconcile."""
    if storage is None:
        return None
    if storage.mode == "ExistingPVC":
        return AuditVolume(storage.existing_claim_name or "", False, storage.mount_path)
    return AuditVolume(
        names.audit_claim(cluster),
        managed=True,
        mount_path=storage.mount_path,
        size=storage.size or "",
        storage_class=storage.storage_class_name,
    )


def _is_below(file: str, *folders: str) -> bool:
    return any(is_below(file, folder) for folder in folders)


def server_part(spec: ClusterSpec, volume: AuditVolume | None) -> PodPart:
    """Return the mounts, volumes and ports; only for directories that the server writes to."""
    mounts: list[Mapping[str, Any]] = []
    volumes: list[Mapping[str, Any]] = []

    def mount(name: str, path: str, source: Mapping[str, Any]) -> None:
        mounts.append({"name": name, "mountPath": path})
        volumes.append({"name": name, **source})

    logging = spec.configuration.logging
    files = [] if logging is None else [path for path in (logging.file, logging.pid_file) if path]
    if files:
        mount("logs", mount_paths.LOGS, {"emptyDir": {}})
    audit = (volume.mount_path,) if volume is not None else ()
    scratch_files = [path for path in files if not _is_below(path, *audit)]
    if any(_is_below(path, mount_paths.SYSTEM_LOGS) for path in scratch_files):
        mounts.append({"name": "logs", "mountPath": mount_paths.SYSTEM_LOGS})
    # Only if plugins are downloaded: the mount would hide the plugins in the server image.
    if any(plugin.image for plugin in spec.plugins):
        mount("plugins", mount_paths.PLUGINS, {"emptyDir": {}})
    if volume is not None:
        claim = {"persistentVolumeClaim": {"claimName": volume.claim}}
        mount("audit", volume.mount_path, claim)
    number = metrics_port(spec.observability)
    ports = () if number is None else (Port(METRICS_PORT_NAME, number).container_port(),)
    return PodPart(mounts=tuple(mounts), volumes=tuple(volumes), ports=ports)
