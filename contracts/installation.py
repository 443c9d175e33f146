"""Which ServiceAccount holds which rights in which mode: the manifests of deploy/rbac are these
tables, and so is the table of docs/security.md. Pure.

Uses contracts.rbac.rules. Called by baoctl.generate.rbac, which writes the files. Semantics:
Kubernetes API reference, rbac.authorization.k8s.io/v1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from contracts.admission.installed import ADMISSION_SEEN, PARAMETERS_SEEN
from contracts.rbac.rules import (
    API_ENDPOINTS,
    AS_DELEGATE,
    BOUNDS,
    DEFINITIONS_POLLED,
    DEFINITIONS_WATCHED,
    LEASES,
    LEASES_OF_SHARDS,
    OBJECTS,
    OWN_KINDS,
    OWN_POD,
    OWN_TOKENS,
    OWN_WRITES,
    OWNERS_CHANGED,
    SECRETS,
    SURROUNDINGS,
    TENANTS,
    TENANTS_SEEN,
    Right,
    as_mirrored,
    as_read,
)
from contracts.rbac.rules_datacenters import DATACENTERS as FOR_DATACENTERS

NAMESPACE = "openbao-operator-system"
CONTROLLER = "openbao-operator-controller"
PROVISIONER = "openbao-operator-provisioner"
DELEGATE = "openbao-operator-provisioner-delegate"

Reach = Literal["everywhere", "own namespace", "bound elsewhere"]
"""Where a role holds: in the whole cluster, in the operator's namespace, or in each namespace with
a binding."""


@dataclass(frozen=True, slots=True)
class Held:
    """A Role or ClusterRole: its name, who holds it, where, and what for."""

    name: str
    account: str
    reach: Reach
    purpose: str
    rights: tuple[Right, ...]


@dataclass(frozen=True, slots=True)
class RbacManifest:
    """A folder of deploy/rbac: what an installation of this kind takes."""

    name: str
    purpose: str
    roles: tuple[Held, ...]


OWN_NAMESPACE = RbacManifest(
    "own-namespace",
    "What the operator needs in its own namespace, in every mode.",
    (
        Held(
            "openbao-operator-leader-election",
            CONTROLLER,
            "own namespace",
            "One of several replicas leads.",
            LEASES,
        ),
        Held(
            "openbao-operator-tokens",
            CONTROLLER,
            "own namespace",
            "The login of the operator in OpenBao.",
            OWN_TOKENS,
        ),
    ),
)
CLUSTER_WIDE = RbacManifest(
    "cluster-wide",
    "Clusters of every namespace.",
    (
        Held(
            "openbao-operator",
            CONTROLLER,
            "everywhere",
            "All that the controller does with clusters of every namespace.",
            (
                *OWN_KINDS,
                *OWN_WRITES,
                *OBJECTS,
                *SECRETS,
                DEFINITIONS_WATCHED,
                *SURROUNDINGS,
                *ADMISSION_SEEN,
                API_ENDPOINTS,
            ),
        ),
    ),
)
# What the modes without cluster-wide rights need in the operator's namespace besides the lease.
_OWN_POD = Held(
    "openbao-operator-own-pod",
    CONTROLLER,
    "own namespace",
    "What rights in every namespace would cover.",
    (*OWN_POD, *PARAMETERS_SEEN),
)
NAMESPACES = RbacManifest(
    "namespaces",
    "Clusters of the namespaces that somebody names.",
    (
        Held(
            "openbao-operator-namespace",
            CONTROLLER,
            "bound elsewhere",
            "All that the controller does in one namespace: bind it in each of WATCH_NAMESPACE.",
            (*OWN_KINDS, *OWN_WRITES, *OBJECTS, *SECRETS),
        ),
        Held(
            "openbao-operator",
            CONTROLLER,
            "everywhere",
            "What lies outside of every namespace; nothing of it can be written.",
            (DEFINITIONS_WATCHED, *SURROUNDINGS, *ADMISSION_SEEN, API_ENDPOINTS),
        ),
        _OWN_POD,
    ),
)
MULTI_TENANT = RbacManifest(
    "multi-tenant",
    "Clusters of the namespaces that the provisioner opens: everything else is in its Roles.",
    (
        Held(
            "openbao-operator",
            CONTROLLER,
            "everywhere",
            "Clusters and tenants are seen everywhere; nothing of them can be written.",
            (
                *OWN_KINDS,
                *TENANTS_SEEN,
                DEFINITIONS_POLLED,
                *SURROUNDINGS,
                *ADMISSION_SEEN,
                API_ENDPOINTS,
            ),
        ),
        _OWN_POD,
    ),
)
PROVISIONING = RbacManifest(
    "provisioner",
    "Opens namespaces for tenants: may grant, and may use nothing of it.",
    (
        Held(
            "openbao-operator-provisioner",
            PROVISIONER,
            "everywhere",
            "Tenants, clusters and namespaces, and nothing in them.",
            TENANTS,
        ),
        Held(
            "openbao-operator-provisioner",
            PROVISIONER,
            "own namespace",
            "As whom it writes, and one of several replicas leads.",
            AS_DELEGATE,
        ),
        Held(
            "openbao-operator-provisioner-delegate",
            DELEGATE,
            "everywhere",
            "What may be granted, since nobody may grant what they do not hold. No process runs "
            "with this account.",
            (*as_read(OWN_WRITES + OBJECTS, "poll"), *SECRETS, *BOUNDS),
        ),
    ),
)
TENANT_WATCH = RbacManifest(
    "tenant-watch",
    "What the delegate needs besides, where TENANT_READS is watch.",
    (
        Held(
            "openbao-operator-provisioner-delegate-watch",
            DELEGATE,
            "everywhere",
            "Lists and watches that may be granted within a namespace; never of Secrets.",
            as_mirrored(OWN_WRITES + OBJECTS),
        ),
    ),
)
OWNER_REFERENCES = RbacManifest(
    "owner-references",
    "In addition, where the API server runs OwnerReferencesPermissionEnforcement, as OpenShift.",
    (
        Held(
            "openbao-operator-owner-references",
            CONTROLLER,
            "everywhere",
            "Without it a cluster with deletionPolicy Retain cannot be deleted there.",
            OWNERS_CHANGED,
        ),
    ),
)
SHARDS = RbacManifest(
    "shards",
    "In addition, where the clusters are divided into shards.",
    (
        Held(
            "openbao-operator-shards",
            CONTROLLER,
            "own namespace",
            "Each shard has a leader of its own.",
            LEASES_OF_SHARDS,
        ),
    ),
)
DATACENTERS = RbacManifest(
    "datacenters",
    "In addition to cluster-wide, where the operator looks after datacenters.",
    (
        Held(
            "openbao-operator-datacenters",
            CONTROLLER,
            "everywhere",
            "The shared services of datacenters, in the namespaces that these name.",
            FOR_DATACENTERS,
        ),
    ),
)
PARTS: tuple[RbacManifest, ...] = (
    OWN_NAMESPACE,
    CLUSTER_WIDE,
    NAMESPACES,
    MULTI_TENANT,
    PROVISIONING,
    TENANT_WATCH,
    OWNER_REFERENCES,
    SHARDS,
    DATACENTERS,
)
