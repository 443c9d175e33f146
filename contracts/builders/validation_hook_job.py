"""The Job that validates green before its promotion: a user's own image. Pure.

It knows nothing of the cluster but its name, has no account at the API server and no login, and
writes only to a small /tmp. It is created suspended and resumed once its UID is recorded, so that
no crash of the operator runs it twice. It is kept after its end, as the evidence of its result.
Semantics: Kubernetes API reference, batch/v1 JobSpec (`suspend`: no pod is made, and the deadline
counts from its resumption).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from contracts.api.cluster.upgrade import PrePromotionHook
from contracts.builders.job_pod import MESH_ANNOTATIONS, MESH_LABELS, STAY_ANNOTATIONS
from contracts.builders.security_context import container_security, pod_security
from contracts.naming import labels, mount_paths
from runtime.builtin_kinds import JOB
from runtime.types import Object

CONTAINER: Final = "hook"
OPERATION_ID: Final = "openbao.org/operation-id"
GREEN_REVISION: Final = "openbao.org/green-revision"
SPEC_HASH: Final = "openbao.org/spec-hash"

_PART: Final = "upgrade"
_TMP_MIB: Final = 64
_GRACE_SECONDS: Final = 30
_RESOURCES: Final[Mapping[str, Any]] = {
    "requests": {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": f"{_TMP_MIB}Mi"},
    "limits": {"cpu": "500m", "memory": "512Mi", "ephemeral-storage": f"{2 * _TMP_MIB}Mi"},
}


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook: the receipt that it belongs to, and where it runs."""

    cluster: str
    namespace: str
    name: str
    """Of the Job."""
    operation_id: str
    green_revision: str
    spec_hash: str
    image: str
    """Reference that is written into the pod: pinned to what was proven, if a policy asks."""
    pull_secrets: tuple[str, ...] = ()
    fixed_ids: bool = True
    """User and group are ours to choose; not on OpenShift."""
    nodes: Mapping[str, Any] = field(default_factory=dict)
    """nodeSelector and tolerations, as a PodSpec has them."""


class Receipt(Protocol):
    """What tells one run from every other one: a HookRun, or what the status says of it."""

    @property
    def operation_id(self) -> str:
        """Id of the upgrade."""

    @property
    def green_revision(self) -> str:
        """Revision that it judges."""

    @property
    def spec_hash(self) -> str:
        """Hash of the hook."""


def _notes(run: Receipt) -> Mapping[str, str]:
    return {
        OPERATION_ID: run.operation_id,
        GREEN_REVISION: run.green_revision,
        SPEC_HASH: run.spec_hash,
    }


def hook_job(run: HookRun, hook: PrePromotionHook) -> Object:
    """Build the Job of one run, suspended; the owner reference is added by managers.jobs."""
    own, notes = labels.component(run.cluster, _PART), _notes(run)
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "name": run.name,
            "namespace": run.namespace,
            "labels": own,
            "annotations": dict(notes),
        },
        "spec": {
            "suspend": True,
            "activeDeadlineSeconds": hook.timeout_seconds,
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            # No second pod while the first one may still work.
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {
                    "labels": {**MESH_LABELS, **own},
                    "annotations": {**MESH_ANNOTATIONS, **STAY_ANNOTATIONS, **notes},
                },
                "spec": _pod(run, hook),
            },
        },
    }


def belongs(job: Object, run: Receipt) -> bool:
    """Whether a Job that was read back is that of this run, by its annotations."""
    annotations = job["metadata"].get("annotations") or {}
    return all(annotations.get(key) == value for key, value in _notes(run).items())


def _pod(run: HookRun, hook: PrePromotionHook) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": run.image,
        "env": [{"name": "HOME", "value": mount_paths.TMP}],
        "resources": dict(_RESOURCES),
        "securityContext": container_security(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "tmp", "mountPath": mount_paths.TMP}],
    }
    # The kubelet replaces $(NAME), and takes two dollars for one: a user's text stays as it is.
    if hook.command:
        container["command"] = [argument.replace("$", "$$") for argument in hook.command]
    if hook.args:
        container["args"] = [argument.replace("$", "$$") for argument in hook.args]
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": pod_security(fixed_ids=run.fixed_ids),
        **run.nodes,
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": f"{_TMP_MIB}Mi"}}],
    }
    if run.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in run.pull_secrets]
    return spec
