"""Addresses of the metadata servers from which a Job gets the workload identity of its pod. Pure.

Called by managers.backup, managers.restore and managers.restore_test, which open these addresses
only to the pod of that Job. Sources: AWS (IMDS, credentials of containers, EKS Pod Identity),
Google (network policies and Workload Identity Federation for GKE), Azure (IMDS). The requests of
the store library are in baoctl.jobs.store.settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from contracts.api.cluster.snapshot_store import BackupTarget, Provider, WorkloadIdentity


@dataclass(frozen=True, slots=True)
class MetadataAddress:
    """An address at which a cloud provides credentials, and its TCP ports."""

    address: str
    ports: tuple[int, ...] = (80,)


ADDRESSES: Final[Mapping[Provider, tuple[MetadataAddress, ...]]] = {
    "s3": (
        MetadataAddress("169.254.169.254"),
        MetadataAddress("fd00:ec2::254"),
        # Container credentials: ECS, and the agent of EKS Pod Identity.
        MetadataAddress("169.254.170.2"),
        MetadataAddress("169.254.170.23"),
        MetadataAddress("fd00:ec2::23"),
    ),
    "gcs": (
        # The second port is for Dataplane V2, which evaluates policies after the redirection.
        MetadataAddress("169.254.169.254", (80, 8080)),
        # Without Dataplane V2, packets are redirected here before policies are evaluated.
        MetadataAddress("169.254.169.252", (987, 988)),
    ),
    "azure": (MetadataAddress("169.254.169.254"),),
    "pvc": (),
}

AWS_ROLE: Final = "eks.amazonaws.com/role-arn"
AZURE_USE: Final = "azure.workload.identity/use"


def metadata_addresses(target: BackupTarget) -> tuple[MetadataAddress, ...]:
    """Return the metadata addresses that the Jobs of a store need; none if they have credentials.

    A Secret, an AWS role and an Azure token need no metadata server.
    """
    if target.credentials_secret_ref is not None or target.role_arn is not None:
        return ()
    if _has_token(target.workload_identity) or _is_emulator(target):
        return ()
    return ADDRESSES[target.provider]


def _has_token(identity: WorkloadIdentity | None) -> bool:
    """Return whether the webhook of a cloud mounts a token for its public token service."""
    if identity is None:
        return False
    annotations = identity.service_account_annotations or {}
    pod_labels = identity.pod_labels or {}
    return AWS_ROLE in annotations or pod_labels.get(AZURE_USE) == "true"


def _is_emulator(target: BackupTarget) -> bool:
    """Return whether the store is an emulator without a login: Google itself only uses https."""
    return target.provider == "gcs" and (target.endpoint or "").lower().startswith("http://")
