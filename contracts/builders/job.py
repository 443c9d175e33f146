"""The Jobs that run the operator's own image: backup, restore, and the test of a backup. Pure.

Called by managers.backup, managers.restore and managers.restore_test; managers.jobs adds the owner
reference. A Job runs its program once, in one pod that is never restarted: the effect of a second
start on data is unknown. Semantics: Kubernetes API reference, batch/v1 JobSpec and core/v1 PodSpec.
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
"""The argument of `baoctl job`, and what the Job is a part of (`labels.JOBS`)."""

# A snapshot of the largest size at 3 MiB/s, and the start of the pod.
BACKUP_SECONDS = 3600
TEST_SECONDS = 3600
# Half an hour to prepare, ten minutes for the server to take it.
RESTORE_SECONDS = 2400

SCRATCH_VOLUME = "scratch"


class ServerSidecar(Protocol):
    """The server that a test restores into: a native sidecar, which ends with the pod."""

    @property
    def container(self) -> Mapping[str, Any]:
        """The container, with restartPolicy Always."""
        ...

    @property
    def volumes(self) -> Sequence[Mapping[str, Any]]:
        """Its volumes, of names that no executor has."""
        ...

    @property
    def annotations(self) -> Mapping[str, str]:
        """Of the pod."""
        ...

    @property
    def pull_secrets(self) -> Sequence[str]:
        """Names of Secrets for its image."""
        ...


def backup_job(
    template: JobTemplate,
    target: BackupTarget,
    env: BackupEnv,
    more_labels: Mapping[str, str] | None = None,
) -> Object:
    """Build the Job of one backup; `more_labels` are labels of the Job besides our own."""
    parts = (job_pod_part(template, env), store_part(target, read_only=False))
    shape = _Shape("backup", names.run_job("backup", env.run.name), BACKUP_SECONDS, env.key)
    job = _job(template, target, shape, parts, job_resources(target))
    job["metadata"]["labels"] = {**(more_labels or {}), **job["metadata"]["labels"]}
    return job


def restore_job(template: JobTemplate, target: BackupTarget, env: RestoreEnv) -> Object:
    """Build the Job of one restore: the whole snapshot is fetched and checked before it is sent."""
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
    """Build the Job that restores a snapshot into a server of its own, within its pod.

    The container trusts no CA: it connects to that server over the loopback of the pod.
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
    """MiB that a snapshot of `size` bytes takes on a disk; that of the largest one, if 0."""
    return (size or SNAPSHOT_MAX) * 11 // 10 // MIB + 64


@dataclass(frozen=True, slots=True)
class _Shape:
    """What tells one Job from another."""

    mode: Mode
    name: str
    seconds: int
    """After which Kubernetes ends it."""
    key: str
    """Of the snapshot."""


def _job(
    template: JobTemplate,
    target: BackupTarget,
    shape: _Shape,
    parts: tuple[PodPart, ...],
    resources: Mapping[str, Any],
) -> Object:
    own = labels.component(template.cluster, shape.mode)
    notes = {labels.BACKUP_KEY: shape.key}
    whole = PodPart.merged(parts)
    container = job_container(template.image, shape.mode, whole, resources)
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "name": shape.name,
            "namespace": template.namespace,
            "labels": own,
            "annotations": notes,
        },
        "spec": {
            "activeDeadlineSeconds": shape.seconds,
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            # No second pod while the first one may still work.
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {
                    "labels": {**pod_labels(target), **own},
                    "annotations": {**MESH_ANNOTATIONS, **STAY_ANNOTATIONS, **notes},
                },
                "spec": pod_spec(template, container, whole.volumes),
            },
        },
    }
