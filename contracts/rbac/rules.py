"""The rights of the operator and its provisioner at the API server, as tables. Pure.

The manifests, the Roles in the namespaces of tenants and docs/security.md are generated from them.
Called by `baoctl.generate` and by managers.tenancy. Semantics: Kubernetes API reference,
rbac.authorization.k8s.io/v1 PolicyRule. e2e/rbac_minimal fails for a right that no scenario needs,
and for a missing right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from contracts.api.group import GROUP
from contracts.naming.installation import CONTROLLER, DELEGATE, PROVISIONER
from contracts.optional_kinds import GATEWAY_API
from runtime.leader.shard import SHARDS_MAX, lease_of_shard

Reads = Literal["watch", "poll"]
"""How the operator reads the objects of a namespace: with list and watch, or each by name."""

CORE = ""
APPS = "apps"
BATCH = "batch"
NETWORKING = "networking.k8s.io"
POLICY = "policy"
RBAC = "rbac.authorization.k8s.io"
EVENTS = "events.k8s.io"
COORDINATION = "coordination.k8s.io"

_MIRRORED = frozenset({"list", "watch"})
OWNED_VERBS = ("get", "list", "watch", "create", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Right:
    """One rule, and the reason for it."""

    why: str
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def rule(self) -> dict[str, Any]:
        """Return the right as a PolicyRule."""
        body: dict[str, Any] = {"apiGroups": [self.group], "resources": list(self.resources)}
        if self.names:
            body["resourceNames"] = list(self.names)
        return {**body, "verbs": list(self.verbs)}


OWN_KINDS: tuple[Right, ...] = (
    Right(
        "The operator watches clusters, backups and restores in every mode.",
        GROUP,
        ("openbaobackups", "openbaoclusters", "openbaorestores"),
        ("list", "watch"),
    ),
)
"""In the watched namespaces; in multi-tenant mode everywhere."""

OWN_WRITES: tuple[Right, ...] = (
    Right(
        "The operator reads the current object before an action that must not happen twice. A Job "
        "reads its own backup or restore.",
        GROUP,
        ("openbaobackups", "openbaoclusters", "openbaorestores"),
        ("get",),
    ),
    Right(
        "The operator sets finalizers, and updates the annotations of completed requests.",
        GROUP,
        ("openbaoclusters", "openbaorestores"),
        ("patch",),
    ),
    Right(
        "The operator writes the status of clusters, backups and restores.",
        GROUP,
        ("openbaobackups/status", "openbaoclusters/status", "openbaorestores/status"),
        ("patch",),
    ),
    Right(
        "A Job reads and writes the status of its own backup or restore. The operator must hold "
        "the rights that it grants to Jobs.",
        GROUP,
        ("openbaobackups/status", "openbaorestores/status"),
        ("get",),
    ),
    Right(
        "Owner references with blockOwnerDeletion need the right to set finalizers on the owner.",
        GROUP,
        ("openbaobackups/finalizers", "openbaoclusters/finalizers", "openbaorestores/finalizers"),
        ("update",),
    ),
    Right(
        "The operator creates scheduled backups, and deletes old backups that it created.",
        GROUP,
        ("openbaobackups",),
        ("create", "delete"),
    ),
    Right(
        "A restore with a clusterTemplate creates its cluster, and deletes it if it is Disposable.",
        GROUP,
        ("openbaoclusters",),
        ("create", "delete"),
    ),
)
"""Within a namespace."""

OBJECTS: tuple[Right, ...] = (
    Right(
        "The operator applies the objects of a cluster, and deletes obsolete objects.",
        CORE,
        ("configmaps", "services", "serviceaccounts"),
        OWNED_VERBS,
    ),
    Right("The servers run in StatefulSets.", APPS, ("statefulsets",), OWNED_VERBS),
    Right(
        "The operator manages the Ingress and the NetworkPolicies of a cluster.",
        NETWORKING,
        ("ingresses", "networkpolicies"),
        OWNED_VERBS,
    ),
    Right(
        "A PodDisruptionBudget protects the quorum while nodes are drained.",
        POLICY,
        ("poddisruptionbudgets",),
        OWNED_VERBS,
    ),
    Right("Servers and Jobs have their own Roles.", RBAC, ("roles", "rolebindings"), OWNED_VERBS),
    Right(
        "The operator replaces pods one at a time. It must hold the verbs that it grants to the "
        "servers in their Role.",
        CORE,
        ("pods",),
        ("get", "list", "watch", "patch", "update", "delete"),
    ),
    Right(
        "The operator evicts ready servers, so that the PodDisruptionBudget applies.",
        CORE,
        ("pods/eviction",),
        ("create",),
    ),
    Right(
        "An ephemeral container makes a running server reload changed files.",
        CORE,
        ("pods/ephemeralcontainers",),
        ("patch",),
    ),
    Right(
        "The operator creates the PVCs that servers share, resizes PVCs, and marks the PVCs of "
        "removed servers. It deletes PVCs only with deletionPolicy DeletePVCs or DeleteAll.",
        CORE,
        ("persistentvolumeclaims",),
        OWNED_VERBS,
    ),
    Right(
        "Backups, restores, restore tests and steps of upgrades run in Jobs. The operator reads "
        "each Job by name, and deletes a Job that does not start.",
        BATCH,
        ("jobs",),
        ("get", "create", "patch", "delete"),
    ),
    Right("The operator records events.", EVENTS, ("events",), ("create",)),
    Right(
        "The operator creates routes and TLS policies for a Gateway, always in the namespace of "
        "the cluster.",
        GATEWAY_API,
        ("backendtlspolicies", "httproutes", "tlsroutes"),
        OWNED_VERBS,
    ),
    Right(
        "The operator checks the Gateway that a cluster references. It reads the Gateway by name "
        "and never changes it.",
        GATEWAY_API,
        ("gateways",),
        ("get",),
    ),
    Right("Metrics for Prometheus.", "monitoring.coreos.com", ("servicemonitors",), OWNED_VERBS),
)
"""Within a namespace; `as_read` narrows them for polling."""

SECRETS: tuple[Right, ...] = (
    Right(
        "The operator reads and writes Secrets by name, and never lists or watches them.",
        CORE,
        ("secrets",),
        ("get", "create", "patch"),
    ),
)
"""Within a namespace without the Roles of a tenant, which name each Secret."""

DEFINITIONS_WATCHED = Right(
    "The operator watches the definitions of optional kinds, each by name.",
    "apiextensions.k8s.io",
    ("customresourcedefinitions",),
    ("list", "watch"),
    names=(
        "backendtlspolicies.gateway.networking.k8s.io",
        "httproutes.gateway.networking.k8s.io",
        "servicemonitors.monitoring.coreos.com",
        "tlsroutes.gateway.networking.k8s.io",
    ),
)
DEFINITIONS_POLLED = replace(
    DEFINITIONS_WATCHED,
    why="The operator periodically reads the definitions of optional kinds, each by name.",
    verbs=("get",),
)
"""In multi-tenant mode, which watches only our own kinds in all namespaces."""

SURROUNDINGS: tuple[Right, ...] = (
    Right(
        "The operator checks whether the GatewayClass is accepted. It reads the GatewayClass by "
        "name.",
        GATEWAY_API,
        ("gatewayclasses",),
        ("get",),
    ),
)
"""For cluster-scoped objects."""

API_ENDPOINTS = Right(
    "The NetworkPolicies contain the addresses behind the Service of the API server. The operator "
    "reads the one object that the API server writes, by name, and never lists.",
    "discovery.k8s.io",
    ("endpointslices",),
    ("get",),
    names=("kubernetes",),
)

OWNERS_CHANGED: tuple[Right, ...] = (
    Right(
        "Key Secrets that are kept after the deletion of a cluster lose their owner, and the next "
        "cluster of that name becomes their owner. If the API server runs the admission plugin "
        "OwnerReferencesPermissionEnforcement (as OpenShift does), this change requires the right "
        "to delete the Secret. The operator does not delete these Secrets.",
        CORE,
        ("secrets",),
        ("delete",),
    ),
)
"""Only if the API server requires it: see tests/integration/test_owner_references.py."""

TENANTS_SEEN: tuple[Right, ...] = (
    Right(
        "Tenants determine in which namespaces the operator may work, and with which Secrets. The "
        "operator watches tenants and never writes them.",
        GROUP,
        ("openbaotenants",),
        ("list", "watch"),
    ),
)
"""Everywhere, in multi-tenant mode."""

LEASES: tuple[Right, ...] = (
    Right("The first replica creates the Lease.", COORDINATION, ("leases",), ("create",)),
    Right(
        "The replicas use the Lease for leader election.",
        COORDINATION,
        ("leases",),
        ("get", "update"),
        names=("openbao-operator",),
    ),
)
"""In the operator's own namespace."""

LEASES_OF_SHARDS: tuple[Right, ...] = (
    Right(
        "The replicas use the Lease of each shard for leader election.",
        COORDINATION,
        ("leases",),
        ("get", "update"),
        names=tuple(lease_of_shard("openbao-operator", index) for index in range(SHARDS_MAX)),
    ),
)
"""In the operator's own namespace, if the clusters are divided into shards."""

OWN_TOKENS: tuple[Right, ...] = (
    Right(
        "The operator logs in to OpenBao with tokens of its own ServiceAccount. Each token is "
        "valid for the servers of one cluster only, and no token is stored.",
        CORE,
        ("serviceaccounts/token",),
        ("create",),
        names=(CONTROLLER,),
    ),
)
"""In the operator's own namespace."""

OWN_POD: tuple[Right, ...] = (
    Right("The operator reads the image that it runs from its own pod.", CORE, ("pods",), ("get",)),
    Right("Leader election records events.", EVENTS, ("events",), ("create",)),
)
"""In the operator's own namespace, for modes without these rights in all namespaces."""


TENANTS: tuple[Right, ...] = (
    Right(
        "The provisioner watches tenants and sets their finalizer.",
        GROUP,
        ("openbaotenants",),
        ("list", "watch", "patch"),
    ),
    Right(
        "The provisioner writes the status of tenants.",
        GROUP,
        ("openbaotenants/status",),
        ("patch",),
    ),
    Right(
        "The provisioner watches clusters, because it grants access only to the Secrets that they "
        "reference.",
        GROUP,
        ("openbaoclusters",),
        ("list", "watch"),
    ),
    Right(
        "The provisioner checks that the namespace of a tenant exists, and sets its Pod Security "
        "labels.",
        CORE,
        ("namespaces",),
        ("get", "patch"),
    ),
)
"""Of the provisioner, everywhere."""

AS_DELEGATE: tuple[Right, ...] = (
    Right(
        "The provisioner writes Roles and limits as the delegate, so that the API server checks "
        "that it grants no rights that the delegate does not hold.",
        CORE,
        ("serviceaccounts",),
        ("impersonate",),
        names=(DELEGATE,),
    ),
    Right(
        "The provisioner checks that the ServiceAccounts of the controller and of the delegate "
        "exist.",
        CORE,
        ("serviceaccounts",),
        ("get",),
    ),
    Right("The first replica creates the Lease.", COORDINATION, ("leases",), ("create",)),
    Right(
        "The replicas use the Lease for leader election.",
        COORDINATION,
        ("leases",),
        ("get", "update"),
        names=(PROVISIONER,),
    ),
    Right("Leader election records events.", EVENTS, ("events",), ("create",)),
)
"""Of the provisioner, in the operator's own namespace."""

BOUNDS: tuple[Right, ...] = (
    Right(
        "The provisioner writes the ResourceQuota of a tenant's namespace.",
        CORE,
        ("resourcequotas",),
        ("get", "create", "patch", "delete"),
        names=("openbao-operator-tenant-quota",),
    ),
    Right(
        "The provisioner writes the LimitRange of a tenant's namespace, with defaults for "
        "containers.",
        CORE,
        ("limitranges",),
        ("get", "create", "patch", "delete"),
        names=("openbao-operator-tenant-limits",),
    ),
)
"""Of the delegate, everywhere, for objects besides Roles. For a Role it holds the same rights."""


def as_mirrored(rights: Iterable[Right]) -> tuple[Right, ...]:
    """Return the complement of `as_read`: the verbs for a watch that polling does not need."""
    narrowed = (
        replace(right, verbs=tuple(verb for verb in right.verbs if verb in _MIRRORED))
        for right in rights
    )
    return tuple(right for right in narrowed if right.verbs)


def as_read(rights: Iterable[Right], reads: Reads) -> tuple[Right, ...]:
    """Narrow rights to how objects are read: without list and watch for polling."""
    if reads == "watch":
        return tuple(rights)
    narrowed = (
        replace(right, verbs=tuple(verb for verb in right.verbs if verb not in _MIRRORED))
        for right in rights
    )
    return tuple(right for right in narrowed if right.verbs)


def rules(rights: Iterable[Right]) -> list[dict[str, Any]]:
    """Return the rights as the `rules` of a Role or ClusterRole, in their order."""
    return [right.rule() for right in rights]
