"""Condition CloudUnsealIdentityReady, and the message for servers that stay sealed.

Pure. Called by managers.cluster.status.conditions and server_conditions. The condition reports
which credentials the spec gives to the servers. Whether the key service accepts them is unknown.
"""

from __future__ import annotations

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.conditions.condition import ConditionUpdate
from contracts.naming import names
from contracts.records.observed import Observed
from contracts.unseal_keys import KeyRing
from managers.bootstrap.seal.keys import ServerEvidence, live_ring, secret_of, stored_keys
from managers.bootstrap.seal.prerequisites import problems

CLOUD_SEALS = frozenset({"awskms", "azurekeyvault", "gcpckms", "ocikms"})
GUIDE = 'The steps are in docs/seals.md, "Which key opens my data"'
# Annotations of a ServiceAccount by which a cloud assigns an identity to its pods.
IDENTITY_ANNOTATIONS = (
    "eks.amazonaws.com/role-arn",
    "iam.gke.io/gcp-service-account",
    "azure.workload.identity/client-id",
)


def why_sealed(cluster: OpenBaoCluster, observed: Observed) -> str:
    """Return a message if all servers of a static seal are sealed, with the next step; else "".

    Every server is sealed for a moment after its start, so the message contains a time limit.
    """
    unseal, name = cluster.spec.unseal, cluster.metadata.name
    servers = ServerEvidence.of(observed, initialized=True)
    if unseal.type != "static" or not servers.all_sealed:
        return ""
    status_keys = cluster.status.unseal.keys if cluster.status.unseal else ""
    ring = live_ring(servers, status_keys)
    if ring is None:
        return ""
    key_ids = " or ".join(key.id for key in ring.keys)
    problem = (
        f"If this persists for more than a minute, no server can unseal with the key {key_ids}"
    )
    if unseal.secret_name is not None:
        return (
            f"{problem}: keep that key in Secret {unseal.secret_name}, and set currentKey and "
            "currentKeyID of spec.unseal.static to the key with which the data was sealed"
        )
    newer = next((key for key in stored_keys(name, unseal, observed, ring)), None)
    if newer is not None and newer.generation > ring.newest:
        if unseal.static_key().current_key_id == newer.id:
            return f"{problem}: new pods also get the key {newer.id}"
        secret = secret_of(name, newer, None)
        return (
            f"{problem}, and Secret {secret} contains a newer key: set "
            f"spec.unseal.static.currentKeyID to {newer.id}"
        )
    after, before = _missing(name, ring, observed)
    return f"{problem}: restore {after} from a backup of Secrets{before}. {GUIDE}"


def _missing(cluster: str, ring: KeyRing, observed: Observed) -> tuple[str, str]:
    """Return the Secret of the key after the ring, and that of the key before it if missing."""
    after = f"Secret {names.unseal_key_secret(cluster, ring.newest + 1)}"
    oldest = min(key.generation for key in ring.keys)
    before = names.unseal_key_secret(cluster, oldest - 1) if oldest > 1 else ""
    if ring.other is not None or not before or before in observed.secrets:
        return after, ""
    return after, f", or else Secret {before}"


def unseal_identity(spec: ClusterSpec, observed: Observed) -> ConditionUpdate | None:
    """Return the condition CloudUnsealIdentityReady; None for seals without a cloud."""
    kind = "CloudUnsealIdentityReady"
    name = spec.unseal.secret_name
    if spec.unseal.type not in CLOUD_SEALS:
        return None
    if name is not None:
        violations = problems(spec.unseal, observed.secrets.get(name))
        if violations:
            return ConditionUpdate(kind, "False", "CredentialsSecretMissing", violations[0])
        message = f"The servers use the credentials of Secret {name}"
        return ConditionUpdate(kind, "True", "CredentialsSecretConfigured", message)
    account = spec.service_account
    annotations = (account.annotations if account else None) or {}
    annotation = next((key for key in IDENTITY_ANNOTATIONS if annotations.get(key)), None)
    if annotation is not None:
        message = f"spec.serviceAccount.annotations: {annotation} is {annotations[annotation]}"
        return ConditionUpdate(kind, "True", "WorkloadIdentityConfigured", message)
    return ConditionUpdate(
        kind,
        "Unknown",
        "AmbientIdentityAssumed",
        "Neither spec.unseal.credentialsSecretRef nor an annotation of the ServiceAccount gives "
        "the servers an identity: they use that of their node, if it has one",
    )
