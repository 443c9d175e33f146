"""The Job that validates green before its promotion, with an image of the user. Pure.

It has no token for the API server, no login to OpenBao and no data of the cluster except its name.
It writes only to a small /tmp. It is created suspended and resumed after its UID is recorded, so
that a crash of the operator never runs it twice. It is kept after its end as evidence of its
result. Semantics: Kubernetes API reference, batch/v1 JobSpec (`suspend`: no pod is created, and the
deadline starts at the resumption).
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
    """One run of a hook: the receipt that identifies it, and the settings of its pod."""

    cluster: str
    namespace: str
    name: str
    """Name of the Job."""
    operation_id: str
    green_revision: str
    spec_hash: str
    image: str
    """Reference for the pod: with the verified digest if a policy requires verification."""
    pull_secrets: tuple[str, ...] = ()
    fixed_ids: bool = True
    """The operator sets user and group; False on OpenShift."""
    nodes: Mapping[str, Any] = field(default_factory=dict)
    """nodeSelector and tolerations, as in a PodSpec."""


class Receipt(Protocol):
    """The fields that identify one run: those of a HookRun, or of the status."""

    @property
    def operation_id(self) -> str:
        """Id of the upgrade."""

    @property
    def green_revision(self) -> str:
        """Revision that it validates."""

    @property
    def spec_hash(self) -> str:
        """Hash of the hook."""


def _annotations(run: Receipt) -> Mapping[str, str]:
    return {
        OPERATION_ID: run.operation_id,
        GREEN_REVISION: run.green_revision,
        SPEC_HASH: run.spec_hash,
    }


def hook_job(run: HookRun, hook: PrePromotionHook) -> Object:
    """Build the suspended Job of one run; managers.jobs adds the owner reference."""
    own, annotations = labels.component(run.cluster, _PART), _annotations(run)
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "name": run.name,
            "namespace": run.namespace,
            "labels": own,
            "annotations": dict(annotations),
        },
        "spec": {
            "suspend": True,
            "activeDeadlineSeconds": hook.timeout_seconds,
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            # No second pod while the first one may still run.
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {
                    "labels": {**MESH_LABELS, **own},
                    "annotations": {**MESH_ANNOTATIONS, **STAY_ANNOTATIONS, **annotations},
                },
                "spec": _pod(run, hook),
            },
        },
    }


def belongs(job: Object, run: Receipt) -> bool:
    """Return whether a live Job is that of this run, by its annotations."""
    annotations = job["metadata"].get("annotations") or {}
    return all(annotations.get(key) == value for key, value in _annotations(run).items())


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
    # The kubelet replaces $(NAME), and $$ by one dollar: escape dollars to keep the user's text.
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
