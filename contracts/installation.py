"""The rights of each ServiceAccount in each mode. Pure.

The manifests of deploy/rbac and the table of docs/security.md are generated from these tables. Uses
contracts.rbac.rules. Called by baoctl.generate.rbac, which writes the files. Semantics: Kubernetes
API reference, rbac.authorization.k8s.io/v1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from contracts.admission.installed import ADMISSION_SEEN, PARAMETERS_SEEN
from contracts.naming.installation import CONTROLLER, DELEGATE, PROVISIONER
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

RoleScope = Literal["everywhere", "own namespace", "bound elsewhere"]
"""Scope of a role: the whole Kubernetes cluster, the operator's namespace, or each namespace with a
binding."""


@dataclass(frozen=True, slots=True)
class Role:
    """A Role or ClusterRole: its name, its ServiceAccount, its scope and its purpose."""

    name: str
    account: str
    scope: RoleScope
    purpose: str
    rights: tuple[Right, ...]


@dataclass(frozen=True, slots=True)
class RbacManifest:
    """A folder of deploy/rbac: the roles of one part of an installation."""

    name: str
    purpose: str
    roles: tuple[Role, ...]


OWN_NAMESPACE = RbacManifest(
    "own-namespace",
    "What the operator needs in its own namespace, in every mode.",
    (
        Role(
            "openbao-operator-leader-election",
            CONTROLLER,
            "own namespace",
            "Leader election between the replicas.",
            LEASES,
        ),
        Role(
            "openbao-operator-tokens",
            CONTROLLER,
            "own namespace",
            "Login of the operator to OpenBao.",
            OWN_TOKENS,
        ),
    ),
)
CLUSTER_WIDE = RbacManifest(
    "cluster-wide",
    "Manages clusters in all namespaces.",
    (
        Role(
            "openbao-operator",
            CONTROLLER,
            "everywhere",
            "Management of clusters in all namespaces.",
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
# Rights in the operator's namespace, besides the lease, for the modes without cluster-wide rights.
_OWN_POD = Role(
    "openbao-operator-own-pod",
    CONTROLLER,
    "own namespace",
    "The operator's own pod, events, and the parameters of the admission policies.",
    (*OWN_POD, *PARAMETERS_SEEN),
)
NAMESPACES = RbacManifest(
    "namespaces",
    "Manages clusters in selected namespaces.",
    (
        Role(
            "openbao-operator-namespace",
            CONTROLLER,
            "bound elsewhere",
            "Management of clusters in one namespace. Bind it in each namespace of "
            "WATCH_NAMESPACE.",
            (*OWN_KINDS, *OWN_WRITES, *OBJECTS, *SECRETS),
        ),
        Role(
            "openbao-operator",
            CONTROLLER,
            "everywhere",
            "Read access to objects outside of these namespaces.",
            (DEFINITIONS_WATCHED, *SURROUNDINGS, *ADMISSION_SEEN, API_ENDPOINTS),
        ),
        _OWN_POD,
    ),
)
MULTI_TENANT = RbacManifest(
    "multi-tenant",
    "Manages clusters in the namespaces of tenants. The Roles of the provisioner grant all other "
    "rights.",
    (
        Role(
            "openbao-operator",
            CONTROLLER,
            "everywhere",
            "Read access to clusters and tenants in all namespaces.",
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
    "Prepares the namespaces of tenants. The provisioner can grant rights but cannot use them.",
    (
        Role(
            PROVISIONER,
            PROVISIONER,
            "everywhere",
            "Tenants, clusters and namespaces, but no objects in the namespaces.",
            TENANTS,
        ),
        Role(
            PROVISIONER,
            PROVISIONER,
            "own namespace",
            "Impersonation of the delegate, and leader election between the replicas.",
            AS_DELEGATE,
        ),
        Role(
            DELEGATE,
            DELEGATE,
            "everywhere",
            "The rights that the provisioner can grant: the account that grants a right must hold "
            "it. No process runs with this account.",
            (*as_read(OWN_WRITES + OBJECTS, "poll"), *SECRETS, *BOUNDS),
        ),
    ),
)
TENANT_WATCH = RbacManifest(
    "tenant-watch",
    "Additional rights of the delegate if TENANT_READS is watch.",
    (
        Role(
            "openbao-operator-provisioner-delegate-watch",
            DELEGATE,
            "everywhere",
            "The verbs list and watch that can be granted in a namespace, never for Secrets.",
            as_mirrored(OWN_WRITES + OBJECTS),
        ),
    ),
)
OWNER_REFERENCES = RbacManifest(
    "owner-references",
    "Required in addition if the API server runs OwnerReferencesPermissionEnforcement, as "
    "OpenShift does.",
    (
        Role(
            "openbao-operator-owner-references",
            CONTROLLER,
            "everywhere",
            "Deletion of clusters with deletionPolicy Retain.",
            OWNERS_CHANGED,
        ),
    ),
)
SHARDS = RbacManifest(
    "shards",
    "Required in addition if the clusters are divided into shards.",
    (
        Role(
            "openbao-operator-shards",
            CONTROLLER,
            "own namespace",
            "Leader election of each shard.",
            LEASES_OF_SHARDS,
        ),
    ),
)
DATACENTERS = RbacManifest(
    "datacenters",
    "Required in addition to cluster-wide if the operator manages datacenters.",
    (
        Role(
            "openbao-operator-datacenters",
            CONTROLLER,
            "everywhere",
            "The shared services of datacenters, in the namespaces that the datacenters name.",
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
