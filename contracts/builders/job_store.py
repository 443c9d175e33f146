"""The access of a job to the snapshot store: variables, files and volumes. Pure.

Called by managers.backup, managers.restore, managers.restore_test and contracts.builders.job. All
referenced Secrets and PVCs are in the namespace of the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.builders.pod_part import PodPart
from contracts.jobs.env import CREDENTIALS_PATH, VOLUME_PATH, WEB_IDENTITY_PATH, StoreEnv
from contracts.jobs.template import JobTemplate

# Audience of the token service of AWS (IAM: OIDC providers for workloads).
CLOUD_AUDIENCE = "sts.amazonaws.com"
TOKEN_SECONDS = 3600
# Readable for the group of the pod (fsGroup): the user of the container does not own the file.
SECRET_MODE = 0o440
CREDENTIALS_VOLUME = "store-credentials"
SNAPSHOTS_VOLUME = "snapshots"
CLOUD_TOKEN_VOLUME = "cloud-token"  # noqa: S105  the name of a volume


def store_env(target: BackupTarget, template: JobTemplate) -> StoreEnv:
    """Return the variables of the store, with the paths of its files in the pod."""
    azure = target.azure
    return StoreEnv(
        provider=target.provider,
        bucket=target.bucket,
        endpoint=target.endpoint or "",
        path_prefix=target.path_prefix or "",
        region=target.region or "",
        use_path_style=target.use_path_style,
        insecure_skip_verify=target.insecure_skip_verify,
        part_size=target.part_size,
        concurrency=target.concurrency,
        azure_account=(azure.storage_account if azure else None) or "",
        azure_container=(azure.container if azure else None) or "",
        role_arn=target.role_arn or "",
        web_identity_path=WEB_IDENTITY_PATH if target.role_arn else "",
        credentials_path=CREDENTIALS_PATH if target.credentials_secret_ref else "",
        volume_path=VOLUME_PATH if target.pvc else "",
        forbidden=template.forbidden,
    )


def store_part(target: BackupTarget, *, read_only: bool) -> PodPart:
    """Build the volumes and mounts of the store; `read_only` for jobs that write no snapshot."""
    mounts: list[Mapping[str, Any]] = []
    volumes: list[Mapping[str, Any]] = []
    if target.credentials_secret_ref is not None:
        secret = {"secretName": target.credentials_secret_ref.name, "defaultMode": SECRET_MODE}
        volumes.append({"name": CREDENTIALS_VOLUME, "secret": secret})
        mounts.append({"name": CREDENTIALS_VOLUME, "mountPath": CREDENTIALS_PATH, "readOnly": True})
    if target.role_arn is not None:
        folder, _, file = WEB_IDENTITY_PATH.rpartition("/")
        volumes.append(projected_token(CLOUD_TOKEN_VOLUME, file, CLOUD_AUDIENCE))
        mounts.append({"name": CLOUD_TOKEN_VOLUME, "mountPath": folder, "readOnly": True})
    if target.pvc is not None:
        claim = {"claimName": target.pvc.claim_name}
        volumes.append({"name": SNAPSHOTS_VOLUME, "persistentVolumeClaim": claim})
        mount = {"name": SNAPSHOTS_VOLUME, "mountPath": VOLUME_PATH}
        # The mount, not the volume: some drivers cannot attach it read-only and writable.
        mounts.append({**mount, "readOnly": True} if read_only else mount)
    return PodPart(mounts=tuple(mounts), volumes=tuple(volumes))


def projected_token(volume: str, file: str, audience: str) -> dict[str, Any]:
    """Build a volume with a token of the pod's account for one audience; the kubelet renews it."""
    token = {"path": file, "audience": audience, "expirationSeconds": TOKEN_SECONDS}
    return {"name": volume, "projected": {"sources": [{"serviceAccountToken": token}]}}
