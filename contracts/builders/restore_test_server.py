"""The server of a restore test: a sidecar of the job's pod that only this pod can reach. Pure.

Built from the live StatefulSet of the cluster: it has the verified image, and every key and
variable of the seal. Called by managers.restore_test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts.builders.security_context import container_security
from contracts.hcl.restore_test_server import NODE_ID, is_local_seal, restore_test_config
from contracts.naming import mount_paths
from runtime.types import Object

SERVER = "openbao"
CONFIG_ANNOTATION = "openbao.org/restore-test-config"
RESOLVER_ANNOTATION = "openbao.org/restore-test-resolver"
NO_NAMES = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
"""A resolver that does not exist: a restored server revokes expired leases and rotates credentials
that are due, and must not reach the databases and clouds in its data."""
RESOLVER = "/etc/resolv.conf"

RESOURCES: Mapping[str, Any] = {
    "requests": {"cpu": "100m", "memory": "256Mi"},
    "limits": {"cpu": "2", "memory": "2Gi"},
}
"""For servers without resources in the spec; a quota rejects a pod without resources."""

_CONFIG_VOLUME = "throw-away-config"
_KEPT = frozenset({mount_paths.UNSEAL, mount_paths.SEAL_CREDENTIALS})
_DROPPED = frozenset(
    {
        mount_paths.CONFIG,
        mount_paths.INIT,
        mount_paths.ROOT_TOKEN,
        mount_paths.TLS,
        mount_paths.ACME_CA,
        mount_paths.ACME_CACHE,
        mount_paths.API_TOKEN,
    }
)
# Variables that identify a server of the cluster.
_OWN = frozenset(
    {
        "BAO_K8S_POD_NAME",
        "BAO_K8S_NAMESPACE",
        "BAO_RAFT_NODE_ID",
        "BAO_API_ADDR",
        "BAO_CLUSTER_ADDR",
    }
)


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The parts of a pod that run the server.

    `container` is a native sidecar (Kubernetes >= 1.29): it runs with the containers and ends after
    them. `annotations` are those of the pod.
    """

    container: Mapping[str, Any]
    volumes: tuple[Mapping[str, Any], ...]
    annotations: Mapping[str, str]
    pull_secrets: tuple[str, ...] = ()


def restore_test_sidecar(stateful_set: Object, config: str) -> Sidecar:
    """Build the sidecar; `config` is config.hcl of the cluster.

    Raises ValueError if the StatefulSet has no server container, or the file has no seal.
    """
    pod: Mapping[str, Any] = stateful_set["spec"]["template"]["spec"]
    containers = pod["containers"]
    server = next((container for container in containers if container["name"] == SERVER), None)
    if server is None:
        raise ValueError(f"StatefulSet {stateful_set['metadata']['name']} has no server")
    sources = {volume["name"]: volume for volume in pod.get("volumes") or ()}
    mounts, volumes = _folders(server, sources)
    annotations = {CONFIG_ANNOTATION: restore_test_config(config)}
    items = [_file("config.hcl", CONFIG_ANNOTATION)]
    mounts.append({"name": _CONFIG_VOLUME, "mountPath": mount_paths.CONFIG, "readOnly": True})
    if is_local_seal(config):
        annotations[RESOLVER_ANNOTATION] = NO_NAMES
        items.append(_file("resolv.conf", RESOLVER_ANNOTATION))
        mount = {"mountPath": RESOLVER, "subPath": "resolv.conf", "readOnly": True}
        mounts.append({"name": _CONFIG_VOLUME, **mount})
    volumes.append({"name": _CONFIG_VOLUME, "downwardAPI": {"items": items}})
    container = {
        "name": SERVER,
        "image": server["image"],
        "command": ["bao", "server", f"-config={mount_paths.CONFIG}/config.hcl"],
        "restartPolicy": "Always",
        "env": _environment(server),
        "securityContext": server.get("securityContext") or container_security(),
        "volumeMounts": mounts,
        "resources": server.get("resources") or RESOURCES,
    }
    secrets = tuple(secret["name"] for secret in pod.get("imagePullSecrets") or ())
    return Sidecar(container, tuple(volumes), annotations, secrets)


def _folders(
    server: Mapping[str, Any], sources: Mapping[str, Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[Mapping[str, Any]]]:
    """Build the mounts of the seal keys, and an emptyDir for each folder that a server writes.

    Folders of audit files too: a restored server stays sealed if it cannot open an audit device.
    """
    mounts: list[dict[str, Any]] = []
    volumes: dict[str, Mapping[str, Any]] = {}
    # The volumes of claim templates are only in the mounts.
    for mount in server.get("volumeMounts") or ():
        path, name = mount["mountPath"], mount["name"]
        if path in _DROPPED:
            continue
        if path in _KEPT:
            mounts.append(dict(mount))
            volumes[name] = sources[name]
        else:
            mounts.append({"name": f"throw-away-{name}", "mountPath": path})
            volumes[f"throw-away-{name}"] = {"name": f"throw-away-{name}", "emptyDir": {}}
    return mounts, [*volumes.values()]


def _environment(server: Mapping[str, Any]) -> list[dict[str, Any]]:
    inherited = [dict(item) for item in server.get("env") or () if item["name"] not in _OWN]
    own = {"BAO_RAFT_NODE_ID": NODE_ID, "KUBERNETES_SERVICE_HOST": ""}
    return [*inherited, *({"name": name, "value": value} for name, value in own.items())]


def _file(path: str, annotation: str) -> dict[str, Any]:
    return {"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{annotation}']"}}
