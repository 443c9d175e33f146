"""Builds the pod template of a shared service. Pure.

It meets Pod Security Standard "restricted", except for what spec.nodeAccess of its datacenter
allows and the service asks for: root without capabilities, and read-only folders of the node.

Called by managers.datacenter.provider.objects. Sidecars are native ones (init containers that are
restarted; Kubernetes 1.29), so that they start in order and never keep a pod from completing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from contracts.api.meta import thaw
from contracts.builders.pod_part import PodPart
from contracts.datacenter import names
from contracts.datacenter.container_files import ConfigFile, Volume
from contracts.datacenter.dependencies import part_order
from contracts.datacenter.service_spec import (
    BootstrapService,
    HealthCheck,
    ServicePart,
    Variable,
)
from contracts.datacenter.workload_records import ServiceRecord, Vault
from contracts.naming import labels
from managers.datacenter.provider import vault
from runtime.apply.intent import digest
from runtime.types import Object

# User volumes cannot have such a name: theirs begin with a letter.
FILES_VOLUME: Final = "0-files"
_SECRET_VOLUME: Final = "0-secret-"  # noqa: S105  the beginning of the name of a volume
_DIGITS: Final = 16
# Explicit although it is the default: without it the API server restores the former name
# (from spec.serviceAccount, its deprecated copy; kubernetes/kubernetes 108208).
_NO_ACCOUNT: Final = "default"

Items = list[dict[str, Any]]


def pod_template(record: ServiceRecord, vaults: tuple[Vault, ...]) -> Object:
    """Build the pod template of a record; `vaults`: those that its containers use."""
    datacenter, service = record.datacenter, record.desired.service
    annotations = labels.users_own(service.annotations)
    files = config_files(service)
    if files:
        annotations[names.FILES] = digest(files)
    if record.desired.redeploy:
        annotations[names.REDEPLOY] = record.desired.redeploy
    users = labels.users_own(service.labels)
    # This label marks servers and jobs of clusters.
    users.pop(labels.MANAGED_BY, None)
    metadata: Object = {"labels": {**users, **names.marks(datacenter.name, service.name)}}
    if annotations:
        metadata["annotations"] = annotations
    name = names.child(datacenter.name, service.name)
    return {"metadata": metadata, "spec": _spec(service, name, vault.pod_part(vaults))}


def config_files(service: BootstrapService) -> dict[str, str]:
    """Return the files of all containers, as the data of one ConfigMap."""
    return {
        file_key(part, file): file.content
        for part in service.services
        for file in part.config_files
    }


def file_key(part: ServicePart, file: ConfigFile) -> str:
    """Return the ConfigMap key of a file: paths may have characters that keys may not."""
    return names.file_key(part.name, file.path)


def volumes_by_name(service: BootstrapService) -> dict[str, Volume]:
    """Return each volume once, in the order of the containers; one with a size is preferred."""
    volumes: dict[str, Volume] = {}
    for part in service.services:
        for volume in part.volumes:
            previous = volumes.get(volume.name)
            if previous is None or (previous.size is None and volume.size is not None):
                volumes[volume.name] = volume
    return volumes


def _spec(service: BootstrapService, name: str, vault_part: PodPart) -> Object:
    account = service.service_account_name
    return {
        "serviceAccountName": account or _NO_ACCOUNT,
        "automountServiceAccountToken": account is not None,
        "enableServiceLinks": False,
        "securityContext": _pod_security(service.run_as_user),
        "imagePullSecrets": [one.to_object() for one in service.image_pull_secrets],
        "nodeSelector": thaw(service.node_selector),
        "tolerations": [one.to_object() for one in service.tolerations],
        "initContainers": [_container(part, vault_part) for part in part_order(service)],
        "containers": [
            _container(part, vault_part) for part in service.services if part.role == "Main"
        ],
        "volumes": [*_volumes(service, name), *map(dict, vault_part.volumes)],
    }


def _pod_security(user: int | None) -> Object:
    chosen: Object = {"runAsNonRoot": user != 0, "seccompProfile": {"type": "RuntimeDefault"}}
    if user is not None:
        # Otherwise only root could write to a volume.
        chosen |= {"runAsUser": user, "fsGroup": user, "fsGroupChangePolicy": "OnRootMismatch"}
    return chosen


def _container(part: ServicePart, vault_part: PodPart) -> Object:
    container: Object = {
        "name": part.name,
        "image": part.image,
        "command": list(part.command),
        "args": list(part.args),
        "env": list(_environment(part, vault_part)),
        "ports": [
            {"name": port.name, "containerPort": port.port, "protocol": port.protocol}
            for port in part.ports
        ],
        "resources": part.resources.to_object() if part.resources else {},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": _mounts(part, vault_part),
    }
    if part.role == "Sidecar":
        container["restartPolicy"] = "Always"
    if part.health_check is not None and part.role != "Init":
        container |= _probes(part.health_check)
    return container


def _environment(part: ServicePart, vault_part: PodPart) -> Iterator[Object]:
    """Yield ours first, so that user variables may refer to them; those override ours."""
    chosen = {variable.name for variable in part.env}
    yield from (dict(ours) for ours in vault_part.env if ours["name"] not in chosen)
    yield from map(_variable, part.env)


def _variable(variable: Variable) -> Object:
    if variable.secret is None:
        return {"name": variable.name, "value": variable.value or ""}
    return {
        "name": variable.name,
        "valueFrom": {"secretKeyRef": variable.secret.to_object()},
    }


def _mounts(part: ServicePart, vault_part: PodPart) -> Items:
    mounts: Items = [
        {
            "name": volume.name,
            "mountPath": volume.mount_path,
            # The API server stores no false here.
            **({"readOnly": True} if volume.read_only or volume.kind == "HostPath" else {}),
        }
        for volume in part.volumes
    ]
    mounts += [
        {"name": _secret_volume(one.name), "mountPath": one.mount_path, "readOnly": True}
        for one in part.secrets
    ]
    mounts += [
        {
            "name": FILES_VOLUME,
            "mountPath": file.path,
            # File by file: a directory would hide other files of the image.
            "subPath": file_key(part, file),
            "readOnly": True,
        }
        for file in part.config_files
    ]
    paths = {mount["mountPath"].rstrip("/") for mount in mounts}
    return mounts + [dict(ours) for ours in vault_part.mounts if ours["mountPath"] not in paths]


def _volumes(service: BootstrapService, name: str) -> Iterator[Object]:
    """Yield the pod volumes; Persistent ones come from the claims of the StatefulSet."""
    for volume in volumes_by_name(service).values():
        if volume.kind == "EmptyDir":
            limit = {"sizeLimit": volume.size} if volume.size else {}
            yield {"name": volume.name, "emptyDir": limit}
        elif volume.kind == "HostPath":
            # Directory: a missing one fails the pod, and nobody creates it on the node.
            source = {"path": volume.host_path, "type": "Directory"}
            yield {"name": volume.name, "hostPath": source}
    secrets = dict.fromkeys(one.name for part in service.services for one in part.secrets)
    for secret in secrets:
        yield {"name": _secret_volume(secret), "secret": {"secretName": secret}}
    if config_files(service):
        yield {"name": FILES_VOLUME, "configMap": {"name": names.files_config_map(name)}}


def _secret_volume(secret: str) -> str:
    return _SECRET_VOLUME + sha256(secret.encode()).hexdigest()[:_DIGITS]


def _probes(check: HealthCheck) -> dict[str, Object]:
    probe: Object = {
        **_question(check),
        "periodSeconds": check.period_seconds,
        "timeoutSeconds": check.timeout_seconds,
        "failureThreshold": check.failure_threshold,
    }
    if check.initial_delay_seconds:
        # The API server stores no 0 here.
        probe["initialDelaySeconds"] = check.initial_delay_seconds
    return {"readinessProbe": probe, **({"livenessProbe": probe} if check.restart else {})}


def _question(check: HealthCheck) -> Mapping[str, Any]:
    if check.http_path is not None:
        return {"httpGet": {"path": check.http_path, "port": check.port}}
    if check.port is not None:
        return {"tcpSocket": {"port": check.port}}
    return {"exec": {"command": list(check.command)}}
