"""The pod of one server.

No wrapper, no shell, no init container: the server reads its node id and addresses from the
environment (BAO_RAFT_NODE_ID, BAO_API_ADDR, BAO_CLUSTER_ADDR; OpenBao 2.4.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.builders.api_token_volume import api_token_volume
from contracts.builders.pod_part import PodPart
from contracts.builders.security_context import LOW_PORTS, container_security, pod_security
from contracts.naming import labels, mount_paths, names
from contracts.naming.ports import API, CLUSTER
from contracts.records.resolved import Resolved
from managers.workload.objects.probes import probes
from managers.workload.objects.scheduling import scheduling_fields

CONTAINER = "openbao"
INIT_VOLUME = "init"
ROOT_TOKEN_VOLUME = "root-token"  # noqa: S105  the name of a volume
# The server drains requests for up to 90 s (max_request_duration) before it gives up leadership.
GRACE_SECONDS = 120
SECRET_MODE = 0o440


def pod_template(
    resolved: Resolved, *, digest: str, reload: str, first_boot: bool
) -> dict[str, Any]:
    """Build the template.

    `first_boot` adds the self-init configuration, which initializes a new cluster; only the
    first pod of a cluster without data may have it.
    """
    metadata = {
        "labels": {**resolved.pod.labels, **resolved.pool.pod_labels},
        "annotations": {
            **resolved.pod.annotations,
            # Running servers cache data from before the restore in memory.
            **({labels.RESTORE_REVISION: resolved.restore_uid} if resolved.restore_uid else {}),
            labels.TEMPLATE_HASH: digest,
            labels.RELOAD_HASH: reload,
        },
    }
    return {"metadata": metadata, "spec": _spec(resolved, first_boot=first_boot)}


def _spec(resolved: Resolved, *, first_boot: bool) -> dict[str, Any]:
    base = _base(resolved, first_boot=first_boot)
    whole = PodPart.merged((base, *resolved.pod.parts))
    spec: dict[str, Any] = {
        "serviceAccountName": resolved.service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": _security(resolved),
        **scheduling_fields(resolved.pod.scheduling, resolved.pool.selector),
        "containers": [_container(resolved, whole, first_boot=first_boot)],
        "volumes": [*map(dict, whole.volumes)],
    }
    if resolved.pod.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in resolved.pod.pull_secrets]
    return spec


def _security(resolved: Resolved) -> dict[str, Any]:
    security = {**pod_security(fixed_ids=resolved.pod.fixed_ids), **resolved.pod.security}
    if resolved.tls.mode == "ACME":
        sysctls = security.get("sysctls") or ()
        user_sysctls = [sysctl for sysctl in sysctls if sysctl["name"] != LOW_PORTS["name"]]
        security["sysctls"] = [*user_sysctls, LOW_PORTS]
    return security


def _base(resolved: Resolved, *, first_boot: bool) -> PodPart:
    """Return the part that every pod has, before any feature adds to it."""
    return PodPart(
        env=tuple(_environment(resolved)),
        mounts=tuple(_mounts(first_boot=first_boot)),
        volumes=tuple(_volumes(resolved, first_boot=first_boot)),
        ports=(API.container_port(), CLUSTER.container_port()),
    )


def server_mounts(resolved: Resolved) -> tuple[Mapping[str, Any], ...]:
    """Return the mounts of the server container once data exists: the same in every pool."""
    return PodPart.merged((_base(resolved, first_boot=False), *resolved.pod.parts)).mounts


def _container(resolved: Resolved, whole: PodPart, *, first_boot: bool) -> dict[str, Any]:
    command = ["bao", "server", f"-config={mount_paths.CONFIG}/config.hcl"]
    if first_boot:
        command.append(f"-config={mount_paths.INIT}")
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": resolved.pod.image,
        "command": command,
        "env": [*map(dict, whole.env)],
        "ports": [*map(dict, whole.ports)],
        "securityContext": container_security(),
        "volumeMounts": [*map(dict, whole.mounts)],
        **probes(resolved.tls),
    }
    if first_boot:
        # The kubelet reports the end of the log: it shows whether the self-init failed.
        container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    if resolved.pod.resources:
        container["resources"] = dict(resolved.pod.resources)
    return container


def _environment(resolved: Resolved) -> list[dict[str, Any]]:
    host = f"$(BAO_K8S_POD_NAME).{names.headless_service(resolved.name)}.{resolved.namespace}.svc"
    return [
        # First: later values refer to it.
        {
            "name": "BAO_K8S_POD_NAME",
            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
        },
        {"name": "BAO_K8S_NAMESPACE", "value": resolved.namespace},
        {"name": "BAO_RAFT_NODE_ID", "value": "$(BAO_K8S_POD_NAME)"},
        {"name": "BAO_API_ADDR", "value": f"https://{host}:{API.number}"},
        {"name": "BAO_CLUSTER_ADDR", "value": f"https://{host}:{CLUSTER.number}"},
        {"name": "HOME", "value": mount_paths.TMP},
    ]


def _mounts(*, first_boot: bool) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [
        {"name": "config", "mountPath": mount_paths.CONFIG, "readOnly": True},
        {"name": "api-token", "mountPath": mount_paths.API_TOKEN, "readOnly": True},
        {"name": names.DATA_VOLUME, "mountPath": mount_paths.DATA},
        {"name": "tmp", "mountPath": mount_paths.TMP},
    ]
    if first_boot:
        mounts.append({"name": INIT_VOLUME, "mountPath": mount_paths.INIT, "readOnly": True})
        mounts.append(
            {"name": ROOT_TOKEN_VOLUME, "mountPath": mount_paths.ROOT_TOKEN, "readOnly": True}
        )
    return mounts


def _volumes(resolved: Resolved, *, first_boot: bool) -> list[dict[str, Any]]:
    cluster = resolved.name
    volumes: list[dict[str, Any]] = [
        {"name": "config", "configMap": {"name": resolved.pool.config_map}},
        api_token_volume("api-token"),
        {"name": "tmp", "emptyDir": {}},
    ]
    if first_boot:
        # Both are optional, because both are deleted once the cluster is initialized and this pod
        # must still be able to restart: the kubelet then empties the folders.
        volumes.append(
            {
                "name": INIT_VOLUME,
                "configMap": {"name": names.self_init_config_map(cluster), "optional": True},
            }
        )
        volumes.append(_secret(ROOT_TOKEN_VOLUME, names.root_token_secret(cluster), optional=True))
    return volumes


def _secret(volume: str, secret: str, *, optional: bool = False) -> dict[str, Any]:
    source: dict[str, Any] = {"secretName": secret, "defaultMode": SECRET_MODE}
    if optional:
        source["optional"] = True
    return {"name": volume, "secret": source}
