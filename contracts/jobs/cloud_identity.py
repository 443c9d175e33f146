"""Which addresses of a cloud a Job asks for the identity of its pod. Pure.

Called by the reconcilers of runs, which open these addresses to the pod of one Job and to no other.
Sources: AWS (IMDS, credentials of containers, EKS Pod Identity), Google (network policies and
Workload Identity Federation for GKE), Azure (IMDS). What the library of stores asks is in
baoctl.jobs.store.settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from contracts.api.cluster.snapshot_store import BackupTarget, Provider, WorkloadIdentity


@dataclass(frozen=True, slots=True)
class MetadataAddress:
    """An address at which a cloud hands out credentials, and its TCP ports."""

    address: str
    ports: tuple[int, ...] = (80,)


ADDRESSES: Final[Mapping[Provider, tuple[MetadataAddress, ...]]] = {
    "s3": (
        MetadataAddress("169.254.169.254"),
        MetadataAddress("fd00:ec2::254"),
        # Credentials of containers: ECS, and the agent of EKS Pod Identity.
        MetadataAddress("169.254.170.2"),
        MetadataAddress("169.254.170.23"),
        MetadataAddress("fd00:ec2::23"),
    ),
    "gcs": (
        # The second port is that of Dataplane V2, which looks at a packet after its redirection.
        MetadataAddress("169.254.169.254", (80, 8080)),
        # Without Dataplane V2 packets are redirected here before a policy sees them.
        MetadataAddress("169.254.169.252", (987, 988)),
    ),
    "azure": (MetadataAddress("169.254.169.254"),),
    "pvc": (),
}

AWS_ROLE: Final = "eks.amazonaws.com/role-arn"
AZURE_USE: Final = "azure.workload.identity/use"


def metadata_addresses(target: BackupTarget) -> tuple[MetadataAddress, ...]:
    """Return what the Jobs of a store ask for an identity; nothing when they have a login.

    A Secret, a role of AWS and a token for Azure are used without the metadata of the machine.
    """
    if target.credentials_secret_ref is not None or target.role_arn is not None:
        return ()
    if _has_token(target.workload_identity) or _is_emulator(target):
        return ()
    return ADDRESSES[target.provider]


def _has_token(identity: WorkloadIdentity | None) -> bool:
    """Whether the webhook of a cloud mounts a token, which a public token service takes."""
    if identity is None:
        return False
    annotations = identity.service_account_annotations or {}
    pod_labels = identity.pod_labels or {}
    return AWS_ROLE in annotations or pod_labels.get(AZURE_USE) == "true"


def _is_emulator(target: BackupTarget) -> bool:
    """Whether the store is one that asks for no login: Google speaks https alone."""
    return target.provider == "gcs" and (target.endpoint or "").lower().startswith("http://")
