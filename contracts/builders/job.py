"""The Jobs that run the operator's own image: backup, restore, and restore test. Pure.

Called by managers.backup, managers.restore and managers.restore_test; managers.jobs adds the owner
reference. A Job runs its program once, in one pod that never restarts, because the effect of a
second run on the data is unknown. Semantics: Kubernetes API reference, batch/v1 JobSpec and core/v1
PodSpec.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.cluster.status_errors import SNAPSHOT_MAX
from contracts.builders.job_pod import (
    MESH_ANNOTATIONS,
    MIB,
    STAY_ANNOTATIONS,
    job_container,
    job_pod_part,
    job_resources,
    pod_labels,
    pod_spec,
    scratch_part,
)
from contracts.builders.job_store import store_part
from contracts.builders.pod_part import PodPart
from contracts.jobs.env import BackupEnv, RestoreEnv, TestEnv
from contracts.jobs.template import JobTemplate
from contracts.naming import labels, names
from runtime.builtin_kinds import JOB
from runtime.types import Object

Mode = Literal["backup", "restore", "restore-test"]
"""The argument of `baoctl job`, and the component label of the Job (`labels.JOBS`)."""

# A snapshot of the largest size at 3 MiB/s, and the start of the pod.
BACKUP_SECONDS = 3600
TEST_SECONDS = 3600
# Half an hour for the preparation, ten minutes for the upload to the server.
RESTORE_SECONDS = 2400

SCRATCH_VOLUME = "scratch"


class ServerSidecar(Protocol):
    """The server for a restore test: a native sidecar, which ends with the pod."""

    @property
    def container(self) -> Mapping[str, Any]:
        """The container, with restartPolicy Always."""
        ...

    @property
    def volumes(self) -> Sequence[Mapping[str, Any]]:
        """Its volumes, with names that differ from those of the job container."""
        ...

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations of the pod."""
        ...

    @property
    def pull_secrets(self) -> Sequence[str]:
        """Names of the pull secrets for its image."""
        ...


def backup_job(
    template: JobTemplate,
    target: BackupTarget,
    env: BackupEnv,
    more_labels: Mapping[str, str] | None = None,
) -> Object:
    """Build the Job of one backup; `more_labels` are additional labels of the Job."""
    parts = (job_pod_part(template, env), store_part(target, read_only=False))
    shape = _Shape("backup", names.run_job("backup", env.run.name), BACKUP_SECONDS, env.key)
    job = _job(template, target, shape, parts, job_resources(target))
    job["metadata"]["labels"] = {**(more_labels or {}), **job["metadata"]["labels"]}
    return job


def restore_job(template: JobTemplate, target: BackupTarget, env: RestoreEnv) -> Object:
    """Build the Job of one restore, which verifies the whole snapshot before it sends it."""
    shape = _Shape("restore", names.run_job("restore", env.run.name), RESTORE_SECONDS, env.key)
    room = scratch_mib(env.expected_size)
    parts = (
        job_pod_part(template, env),
        store_part(target, read_only=True),
        scratch_part(SCRATCH_VOLUME, env.scratch_path, room),
    )
    sure = env.expected_size > 0
    return _job(template, target, shape, parts, job_resources(target, scratch=room, sure=sure))


def restore_test_job(
    template: JobTemplate, target: BackupTarget, env: TestEnv, server: ServerSidecar
) -> Object:
    """Build the Job that restores a snapshot into its own server, within its pod.

    The container needs no CA: it connects to that server over the loopback of the pod.
    """
    shape = _Shape("restore-test", names.run_job("test", env.run.name), TEST_SECONDS, env.key)
    secrets = tuple(dict.fromkeys((*template.pull_secrets, *server.pull_secrets)))
    template = dataclasses.replace(template, authority=None, pull_secrets=secrets)
    room = scratch_mib(env.expected_size)
    parts = (
        job_pod_part(template, env),
        store_part(target, read_only=True),
        scratch_part(SCRATCH_VOLUME, env.scratch_path, room),
    )
    sure = env.expected_size > 0
    job = _job(template, target, shape, parts, job_resources(target, scratch=room, sure=sure))
    pod = job["spec"]["template"]
    pod["metadata"]["annotations"] |= server.annotations
    pod["spec"]["volumes"] += map(dict, server.volumes)
    pod["spec"]["initContainers"] = [dict(server.container)]
    return job


def scratch_mib(size: int) -> int:
    """Return the MiB of disk for a snapshot of `size` bytes; 0: for the largest snapshot."""
    return (size or SNAPSHOT_MAX) * 11 // 10 // MIB + 64


@dataclass(frozen=True, slots=True)
class _Shape:
    """The differences between the kinds of Jobs."""

    mode: Mode
    name: str
    seconds: int
    """activeDeadlineSeconds."""
    key: str
    """Key of the snapshot."""


def _job(
    template: JobTemplate,
    target: BackupTarget,
    shape: _Shape,
    parts: tuple[PodPart, ...],
    resources: Mapping[str, Any],
) -> Object:
    own = labels.component(template.cluster, shape.mode)
    annotations = {labels.BACKUP_KEY: shape.key}
    whole = PodPart.merged(parts)
    container = job_container(template.image, shape.mode, whole, resources)
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "name": shape.name,
            "namespace": template.namespace,
            "labels": own,
            "annotations": annotations,
        },
        "spec": {
            "activeDeadlineSeconds": shape.seconds,
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            # No second pod while the first one may still run.
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {
                    "labels": {**pod_labels(target), **own},
                    "annotations": {**MESH_ANNOTATIONS, **STAY_ANNOTATIONS, **annotations},
                },
                "spec": pod_spec(template, container, whole.volumes),
            },
        },
    }
