"""Builds the pod template of a shared service. Pure.

It complies with the Pod Security Standard "restricted". A service may request two exceptions if
spec.nodeAccess of its datacenter allows them: root without capabilities, and read-only directories
of the node.

Called by managers.datacenter.provider.objects. Sidecars are native sidecar containers (init
containers with restartPolicy Always, Kubernetes 1.29), so that they start in order and never keep a
pod from completing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from contracts.api.meta import thaw
from contracts.builders.pod_part import PodPart
from contracts.datacenter import names
from contracts.datacenter.container_files import ConfigFile, Volume
from contracts.datacenter.dependencies import container_order
from contracts.datacenter.service_spec import (
    BootstrapService,
    EnvVar,
    HealthCheck,
    ServiceContainer,
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
    user_labels = labels.users_own(service.labels)
    # This label is reserved for the servers and Jobs of clusters.
    user_labels.pop(labels.MANAGED_BY, None)
    selector = names.selector_labels(datacenter.name, service.name)
    metadata: Object = {"labels": {**user_labels, **selector}}
    if annotations:
        metadata["annotations"] = annotations
    name = names.object_name(datacenter.name, service.name)
    return {"metadata": metadata, "spec": _spec(service, name, vault.pod_part(vaults))}


def config_files(service: BootstrapService) -> dict[str, str]:
    """Return the files of all containers, as the data of one ConfigMap."""
    return {
        file_key(container, file): file.content
        for container in service.services
        for file in container.config_files
    }


def file_key(container: ServiceContainer, file: ConfigFile) -> str:
    """Return the ConfigMap key of a file: paths may have characters that keys may not."""
    return names.file_key(container.name, file.path)


def volumes_by_name(service: BootstrapService) -> dict[str, Volume]:
    """Return each volume once, in the order of the containers, with its size if one has it."""
    volumes: dict[str, Volume] = {}
    for container in service.services:
        for volume in container.volumes:
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
        "imagePullSecrets": [
            image_pull_secret.to_object() for image_pull_secret in service.image_pull_secrets
        ],
        "nodeSelector": thaw(service.node_selector),
        "tolerations": [toleration.to_object() for toleration in service.tolerations],
        "initContainers": [
            _container(container, vault_part) for container in container_order(service)
        ],
        "containers": [
            _container(container, vault_part)
            for container in service.services
            if container.role == "Main"
        ],
        "volumes": [*_volumes(service, name), *map(dict, vault_part.volumes)],
    }


def _pod_security(user: int | None) -> Object:
    context: Object = {"runAsNonRoot": user != 0, "seccompProfile": {"type": "RuntimeDefault"}}
    if user is not None:
        # Otherwise only root could write to a volume.
        context |= {"runAsUser": user, "fsGroup": user, "fsGroupChangePolicy": "OnRootMismatch"}
    return context


def _container(container: ServiceContainer, vault_part: PodPart) -> Object:
    body: Object = {
        "name": container.name,
        "image": container.image,
        "command": list(container.command),
        "args": list(container.args),
        "env": list(_environment(container, vault_part)),
        "ports": [
            {"name": port.name, "containerPort": port.port, "protocol": port.protocol}
            for port in container.ports
        ],
        "resources": container.resources.to_object() if container.resources else {},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": _mounts(container, vault_part),
    }
    if container.role == "Sidecar":
        body["restartPolicy"] = "Always"
    if container.health_check is not None and container.role != "Init":
        body |= _probes(container.health_check)
    return body


def _environment(container: ServiceContainer, vault_part: PodPart) -> Iterator[Object]:
    """Yield our variables first, so that those of the user may refer to or override them."""
    user_variables = {variable.name for variable in container.env}
    yield from (dict(ours) for ours in vault_part.env if ours["name"] not in user_variables)
    yield from map(_variable, container.env)


def _variable(variable: EnvVar) -> Object:
    if variable.secret is None:
        return {"name": variable.name, "value": variable.value or ""}
    return {
        "name": variable.name,
        "valueFrom": {"secretKeyRef": variable.secret.to_object()},
    }


def _mounts(container: ServiceContainer, vault_part: PodPart) -> Items:
    mounts: Items = [
        {
            "name": volume.name,
            "mountPath": volume.mount_path,
            # The API server omits false here.
            **({"readOnly": True} if volume.read_only or volume.kind == "HostPath" else {}),
        }
        for volume in container.volumes
    ]
    mounts += [
        {"name": _secret_volume(secret.name), "mountPath": secret.mount_path, "readOnly": True}
        for secret in container.secrets
    ]
    mounts += [
        {
            "name": FILES_VOLUME,
            "mountPath": file.path,
            # One mount per file: a directory would hide other files of the image.
            "subPath": file_key(container, file),
            "readOnly": True,
        }
        for file in container.config_files
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
            # With type Directory a missing directory fails the pod, and is not created.
            source = {"path": volume.host_path, "type": "Directory"}
            yield {"name": volume.name, "hostPath": source}
    secrets = dict.fromkeys(
        reference.name for container in service.services for reference in container.secrets
    )
    for secret in secrets:
        yield {"name": _secret_volume(secret), "secret": {"secretName": secret}}
    if config_files(service):
        yield {"name": FILES_VOLUME, "configMap": {"name": names.files_config_map(name)}}


def _secret_volume(secret: str) -> str:
    return _SECRET_VOLUME + sha256(secret.encode()).hexdigest()[:_DIGITS]


def _probes(check: HealthCheck) -> dict[str, Object]:
    probe: Object = {
        **_probe_handler(check),
        "periodSeconds": check.period_seconds,
        "timeoutSeconds": check.timeout_seconds,
        "failureThreshold": check.failure_threshold,
    }
    if check.initial_delay_seconds:
        # The API server omits 0 here.
        probe["initialDelaySeconds"] = check.initial_delay_seconds
    return {"readinessProbe": probe, **({"livenessProbe": probe} if check.restart else {})}


def _probe_handler(check: HealthCheck) -> Mapping[str, Any]:
    if check.http_path is not None:
        return {"httpGet": {"path": check.http_path, "port": check.port}}
    if check.port is not None:
        return {"tcpSocket": {"port": check.port}}
    return {"exec": {"command": list(check.command)}}
