"""The condition CloudUnsealIdentityReady. Pure; called by managers.cluster.conditions.

Whether a key service really lets a server in is known to that service alone; this says what the
spec gives the servers to prove themselves with.
"""

from __future__ import annotations

from contracts.api.cluster import ClusterSpec
from contracts.conditions import Finding
from contracts.observed import Observed
from managers.bootstrap.seal_prerequisites import problems

CLOUD_SEALS = frozenset({"awskms", "azurekeyvault", "gcpckms", "ocikms"})
# What each cloud reads on a ServiceAccount or on a pod to give the pod an identity.
IDENTITY_MARKS = (
    "eks.amazonaws.com/role-arn",
    "iam.gke.io/gcp-service-account",
    "azure.workload.identity/client-id",
)


def unseal_identity(spec: ClusterSpec, observed: Observed) -> Finding | None:
    """Judge by what the spec gives; None for other seals than those of a cloud."""
    kind = "CloudUnsealIdentityReady"
    name = spec.unseal.secret_name
    if spec.unseal.type not in CLOUD_SEALS:
        return None
    if name is not None:
        wrong = problems(spec.unseal, observed.secrets.get(name))
        if wrong:
            return Finding(kind, "False", "CredentialsSecretMissing", wrong[0])
        told = f"The servers use the credentials of Secret {name}"
        return Finding(kind, "True", "CredentialsSecretConfigured", told)
    account = spec.service_account
    marks = (account.annotations if account else None) or {}
    found = next((mark for mark in IDENTITY_MARKS if marks.get(mark)), None)
    if found is not None:
        told = f"spec.serviceAccount.annotations: {found} is {marks[found]}"
        return Finding(kind, "True", "WorkloadIdentityConfigured", told)
    return Finding(
        kind,
        "Unknown",
        "AmbientIdentityAssumed",
        "Neither spec.unseal.credentialsSecretRef nor an annotation of the ServiceAccount says who "
        "the servers are: they use what their node gives them, if it does",
    )
