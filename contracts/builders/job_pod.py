"""The pod of a job: one container of the operator's own image, and its volumes. Pure.

Called by contracts.builders.job. Every limit is set, because quotas require it. The container
writes only to volumes that end with the pod. It gets its input as variables and its secrets as
files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.builders.api_token_volume import api_token_volume
from contracts.builders.job_store import SECRET_MODE, projected_token
from contracts.builders.pod_part import PodPart
from contracts.builders.security_context import container_security, pod_security
from contracts.jobs.env import CA_PATH, JOB_UID, JWT_PATH, POD_NAME, POD_UID, TOKEN_PATH, Env
from contracts.jobs.template import JobTemplate
from contracts.naming import labels, mount_paths

CONTAINER: Final = "executor"
PROGRAM: Final = ("python3", "-m", "baoctl", "job")
JOB_UID_LABEL = "batch.kubernetes.io/controller-uid"
# Time to remove a partial upload.
GRACE_SECONDS = 30

MIB = 1024 * 1024
# Upload buffers that fit into the default memory.
_BUFFERS_MIB = 32
_MEMORY_REQUEST_MIB = 128
_MEMORY_LIMIT_MIB = 512
_CPU_REQUEST = "100m"
# Reading, hashing and TLS use at most two cores.
_CPU_LIMIT = "2"
_TMP_MIB = 64
_LOGS_MIB = 64

TMP_VOLUME = "tmp"
AUTHORITY_VOLUME = "server-ca"
LOGIN_VOLUME = "login-token"
TOKEN_VOLUME = "token"  # noqa: S105  the name of a volume
API_VOLUME = "api-token"

# A sidecar proxy in the pod of a job never ends, and breaks the TLS to the servers. A user who
# needs a proxy requests it in workloadIdentity.podLabels.
MESH_LABELS: Mapping[str, str] = {"sidecar.istio.io/inject": "false"}
MESH_ANNOTATIONS: Mapping[str, str] = {
    "consul.hashicorp.com/connect-inject": "false",
    "kuma.io/sidecar-injection": "disabled",
    "linkerd.io/inject": "disabled",
}
# A Job that runs once must not move to another node.
STAY_ANNOTATIONS: Mapping[str, str] = {
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    "karpenter.sh/do-not-disrupt": "true",
}


def pod_labels(target: BackupTarget) -> Mapping[str, str]:
    """Return the labels of the pod: those of the spec for workload identity, and our own."""
    identity = target.workload_identity
    requested = (identity.pod_labels if identity else None) or {}
    return {**MESH_LABELS, **labels.users_own(requested)}


def pod_spec(
    template: JobTemplate, container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Build the pod of a container; the pod never restarts."""
    security = pod_security(fixed_ids=template.fixed_ids)
    if template.confined:
        security["appArmorProfile"] = {"type": "RuntimeDefault"}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "serviceAccountName": template.account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": security,
        **template.nodes,
        "containers": [dict(container)],
        "volumes": [*map(dict, volumes)],
    }
    if template.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in template.pull_secrets]
    return spec


def job_container(
    image: str, mode: str, whole: PodPart, resources: Mapping[str, Any]
) -> dict[str, Any]:
    """Build the container; `mode` is the argument of `baoctl job`."""
    return {
        "name": CONTAINER,
        "image": image,
        "command": [*PROGRAM],
        "args": [mode],
        "env": [*map(dict, whole.env)],
        "resources": dict(resources),
        "securityContext": container_security(),
        # The operator uses the report of the job; this shows users the log after a crash.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [*map(dict, whole.mounts)],
    }


def job_pod_part(template: JobTemplate, env: Env, *, reports: bool = True) -> PodPart:
    """Build the part that every job has: variables, a login, and a writable folder.

    `reports`: also the token of its ServiceAccount, with which it writes its result to a status.
    """
    parts = [_api_server()] if reports else []
    parts.append(_scratch(TMP_VOLUME, mount_paths.TMP, _TMP_MIB))
    if template.authority is not None:
        # The Secret of the CA may also contain its private key, so mount only one entry.
        name, key = template.authority.secret, template.authority.key
        parts.append(_entry(AUTHORITY_VOLUME, name, key, CA_PATH))
    if template.login.role:
        volume = projected_token(LOGIN_VOLUME, _file(JWT_PATH), template.audience)
        parts.append(_files(volume, JWT_PATH))
    else:
        token = template.login.token_secret
        parts.append(_entry(TOKEN_VOLUME, token, "token", TOKEN_PATH))
    return PodPart.merged((PodPart(env=tuple(_environment(env))), *parts))


def scratch_part(volume: str, path: str, mib: int) -> PodPart:
    """Build an emptyDir with a limit of `mib` MiB."""
    return _scratch(volume, path, mib)


def job_resources(target: BackupTarget, *, scratch: int = 0, sure: bool = True) -> Any:
    """Build requests and limits. `scratch` in MiB; `sure`: the node must have that much free."""
    more = max(0, target.part_size * target.concurrency // MIB - _BUFFERS_MIB)
    return _resources(more, scratch, scratch if sure else 0)


def plain_resources() -> Any:
    """Build requests and limits of a job that moves no data."""
    return _resources(0, 0, 0)


def _resources(more: int, scratch: int, sure: int) -> Any:
    disk = _TMP_MIB + _LOGS_MIB
    return {
        "requests": {
            "cpu": _CPU_REQUEST,
            "memory": f"{_MEMORY_REQUEST_MIB + more}Mi",
            "ephemeral-storage": f"{disk + sure}Mi",
        },
        "limits": {
            "cpu": _CPU_LIMIT,
            "memory": f"{_MEMORY_LIMIT_MIB + 2 * more}Mi",
            "ephemeral-storage": f"{disk + scratch}Mi",
        },
    }


def _environment(env: Env) -> list[Mapping[str, Any]]:
    variables: list[Mapping[str, Any]] = [
        {"name": "HOME", "value": mount_paths.TMP},
        _downward(POD_NAME, "metadata.name"),
        _downward(POD_UID, "metadata.uid"),
        _downward(JOB_UID, f"metadata.labels['{JOB_UID_LABEL}']"),
    ]
    # The kubelet replaces $(NAME) in a value, and $$ by one dollar.
    variables += [
        {"name": name, "value": value.replace("$", "$$")}
        for name, value in sorted(env.to_environment().items())
    ]
    return variables


def _downward(variable: str, path: str) -> Mapping[str, Any]:
    return {"name": variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _api_server() -> PodPart:
    mount = {"name": API_VOLUME, "mountPath": mount_paths.API_TOKEN, "readOnly": True}
    return PodPart(mounts=(mount,), volumes=(api_token_volume(API_VOLUME),))


def _scratch(volume: str, path: str, mib: int) -> PodPart:
    return PodPart(
        mounts=({"name": volume, "mountPath": path},),
        volumes=({"name": volume, "emptyDir": {"sizeLimit": f"{mib}Mi"}},),
    )


def _entry(volume: str, secret: str, key: str, path: str) -> PodPart:
    """Build the mount of one entry of a Secret as one file."""
    items = [{"key": key, "path": _file(path)}]
    source = {"secretName": secret, "items": items, "defaultMode": SECRET_MODE}
    return _files({"name": volume, "secret": source}, path)


def _files(volume: Mapping[str, Any], path: str) -> PodPart:
    folder = path.rpartition("/")[0]
    mount = {"name": volume["name"], "mountPath": folder, "readOnly": True}
    return PodPart(mounts=(mount,), volumes=(volume,))


def _file(path: str) -> str:
    return path.rpartition("/")[2]
