"""What the operator and its provisioner may do at the API server, as tables: the manifests, the
Role of a tenant's namespace and docs/security.md are made of them. Pure.

Called by `baoctl.generate` and by managers.tenancy. Semantics: Kubernetes API reference,
rbac.authorization.k8s.io/v1 PolicyRule. A right that no scenario needs is a bug, and so is one
that a scenario lacks (e2e/rbac_minimal).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from contracts.api.group import GROUP
from contracts.optional_kinds import GATEWAY_API
from runtime.leader.shard import SHARDS_MAX, lease_of_shard

Reads = Literal["watch", "poll"]
"""How objects of a namespace are read: mirrored by list and watch, or one by one, by name."""

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
    """One rule, and why it is there."""

    why: str
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def rule(self) -> dict[str, Any]:
        """The right as a PolicyRule."""
        body: dict[str, Any] = {"apiGroups": [self.group], "resources": list(self.resources)}
        if self.names:
            body["resourceNames"] = list(self.names)
        return {**body, "verbs": list(self.verbs)}


OWN_KINDS: tuple[Right, ...] = (
    Right(
        "Clusters, backups and restores are watched, in every mode.",
        GROUP,
        ("openbaobackups", "openbaoclusters", "openbaorestores"),
        ("list", "watch"),
    ),
)
"""In the watched namespaces; in multi-tenant mode everywhere."""

OWN_WRITES: tuple[Right, ...] = (
    Right(
        "A fresh look before what must not happen twice; a job looks at its own run as well.",
        GROUP,
        ("openbaobackups", "openbaoclusters", "openbaorestores"),
        ("get",),
    ),
    Right(
        "Finalizers, and orders by annotation that were carried out.",
        GROUP,
        ("openbaoclusters", "openbaorestores"),
        ("patch",),
    ),
    Right(
        "What the operator says of a cluster, a backup or a restore.",
        GROUP,
        ("openbaobackups/status", "openbaoclusters/status", "openbaorestores/status"),
        ("patch",),
    ),
    Right(
        "A job reads and writes the status of its own backup or restore, and nobody may grant what "
        "they do not hold.",
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
        "A backup for each time of the schedule; what it made itself goes when there are many.",
        GROUP,
        ("openbaobackups",),
        ("create", "delete"),
    ),
    Right(
        "A restore with a clusterTemplate makes its cluster, and deletes it when it is Disposable.",
        GROUP,
        ("openbaoclusters",),
        ("create", "delete"),
    ),
)
"""Within a namespace."""

OBJECTS: tuple[Right, ...] = (
    Right(
        "Children, by owned apply: create, patch, delete by prune.",
        CORE,
        ("configmaps", "services", "serviceaccounts"),
        OWNED_VERBS,
    ),
    Right("The servers.", APPS, ("statefulsets",), OWNED_VERBS),
    Right("Who may call the servers.", NETWORKING, ("ingresses", "networkpolicies"), OWNED_VERBS),
    Right("The quorum while nodes are drained.", POLICY, ("poddisruptionbudgets",), OWNED_VERBS),
    Right("What the servers themselves may do.", RBAC, ("roles", "rolebindings"), OWNED_VERBS),
    Right(
        "Pods are replaced one at a time; the servers' own Role may not exceed these verbs.",
        CORE,
        ("pods",),
        ("get", "list", "watch", "patch", "update", "delete"),
    ),
    Right(
        "A ready server is taken away through the disruption budget, as a drain does it.",
        CORE,
        ("pods/eviction",),
        ("create",),
    ),
    Right(
        "A running server is told to read changed files again by a container beside it.",
        CORE,
        ("pods/ephemeralcontainers",),
        ("patch",),
    ),
    Right(
        "Volumes go only with deletionPolicy DeletePVCs or DeleteAll; those that servers share are "
        "made and read by name; a volume grows, and one of a removed server is marked.",
        CORE,
        ("persistentvolumeclaims",),
        OWNED_VERBS,
    ),
    Right(
        "Backups, restores, their tests and the steps of upgrades run in Jobs, each looked at by "
        "its name; one that never starts is taken back.",
        BATCH,
        ("jobs",),
        ("get", "create", "patch", "delete"),
    ),
    Right("What happened, told to people.", EVENTS, ("events",), ("create",)),
    Right(
        "Ways in through a Gateway, always in the namespace of the cluster.",
        GATEWAY_API,
        ("backendtlspolicies", "httproutes", "tlsroutes"),
        OWNED_VERBS,
    ),
    Right(
        "Whether the Gateway that a cluster names fits: read by name, never written.",
        GATEWAY_API,
        ("gateways",),
        ("get",),
    ),
    Right("Metrics for Prometheus.", "monitoring.coreos.com", ("servicemonitors",), OWNED_VERBS),
)
"""Within a namespace; `as_read` narrows them to what polling needs."""

SECRETS: tuple[Right, ...] = (
    Right(
        "Secrets are read and written by name, never listed and never watched.",
        CORE,
        ("secrets",),
        ("get", "create", "patch"),
    ),
)
"""Within a namespace, where no tenant Role names each Secret."""

DEFINITIONS_WATCHED = Right(
    "Kinds that need not be there: their definitions are watched, each by its name alone.",
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
    why="Kinds that need not be there: their definitions are read now and then, each by its name.",
    verbs=("get",),
)
"""In multi-tenant mode, where nothing but our own kinds is watched everywhere."""

SURROUNDINGS: tuple[Right, ...] = (
    Right(
        "Whether the class of a Gateway is accepted: read by name.",
        GATEWAY_API,
        ("gatewayclasses",),
        ("get",),
    ),
)
"""Outside of every namespace, or the same for all."""

API_ENDPOINTS = Right(
    "Where the API server listens behind its Service, for the NetworkPolicies: the one object of "
    "this name that the API server writes, never a list.",
    "discovery.k8s.io",
    ("endpointslices",),
    ("get",),
    names=("kubernetes",),
)

OWNERS_CHANGED: tuple[Right, ...] = (
    Right(
        "Keys that a deleted cluster leaves behind lose their owner, and the next cluster of its "
        "name becomes their owner. Where the API server runs OwnerReferencesPermissionEnforcement "
        "(OpenShift does) that takes the right to delete the Secret; none is ever deleted.",
        CORE,
        ("secrets",),
        ("delete",),
    ),
)
"""Only where the API server asks for it: see tests/integration/test_owner_references.py."""

TENANTS_SEEN: tuple[Right, ...] = (
    Right(
        "Which namespaces are open, and for which Secrets: watched, never written.",
        GROUP,
        ("openbaotenants",),
        ("list", "watch"),
    ),
)
"""Everywhere, in multi-tenant mode."""

LEASES: tuple[Right, ...] = (
    Right("The first to start makes the lease.", COORDINATION, ("leases",), ("create",)),
    Right(
        "Who leads, and until when.",
        COORDINATION,
        ("leases",),
        ("get", "update"),
        names=("openbao-operator",),
    ),
)
"""In the operator's own namespace."""

LEASES_OF_SHARDS: tuple[Right, ...] = (
    Right(
        "Who leads a shard, and until when.",
        COORDINATION,
        ("leases",),
        ("get", "update"),
        names=tuple(lease_of_shard("openbao-operator", index) for index in range(SHARDS_MAX)),
    ),
)
"""In the operator's own namespace, where the clusters are divided into shards."""

OWN_TOKENS: tuple[Right, ...] = (
    Right(
        "Tokens of the operator's own ServiceAccount, each for the servers of one cluster alone: "
        "with them it logs in to OpenBao. Nothing is stored.",
        CORE,
        ("serviceaccounts/token",),
        ("create",),
        names=("openbao-operator-controller",),
    ),
)
"""In the operator's own namespace."""

OWN_POD: tuple[Right, ...] = (
    Right("From which image this process runs.", CORE, ("pods",), ("get",)),
    Right("Who leads from now on, told to people.", EVENTS, ("events",), ("create",)),
)
"""In the operator's own namespace, where no rights in all namespaces cover it."""


TENANTS: tuple[Right, ...] = (
    Right(
        "Which namespaces are to be opened; the finalizer of a tenant.",
        GROUP,
        ("openbaotenants",),
        ("list", "watch", "patch"),
    ),
    Right("What is said of a tenant.", GROUP, ("openbaotenants/status",), ("patch",)),
    Right(
        "Which Secrets a cluster names, so that the controller may use these and no others.",
        GROUP,
        ("openbaoclusters",),
        ("list", "watch"),
    ),
    Right(
        "Whether the namespace of a tenant is there, and its Pod Security labels.",
        CORE,
        ("namespaces",),
        ("get", "patch"),
    ),
)
"""Of the provisioner, everywhere."""

AS_DELEGATE: tuple[Right, ...] = (
    Right(
        "Roles and bounds are written as the delegate, so that the API server itself checks that "
        "no more is granted than the delegate holds.",
        CORE,
        ("serviceaccounts",),
        ("impersonate",),
        names=("openbao-operator-provisioner-delegate",),
    ),
    Right(
        "Whether the accounts of the controller and of the delegate are there.",
        CORE,
        ("serviceaccounts",),
        ("get",),
    ),
    Right("The first to start makes the lease.", COORDINATION, ("leases",), ("create",)),
    Right(
        "Who leads, and until when.",
        COORDINATION,
        ("leases",),
        ("get", "update"),
        names=("openbao-operator-provisioner",),
    ),
    Right("Who leads from now on, told to people.", EVENTS, ("events",), ("create",)),
)
"""Of the provisioner, in the operator's own namespace."""

BOUNDS: tuple[Right, ...] = (
    Right(
        "The bounds of a tenant's namespace.",
        CORE,
        ("resourcequotas",),
        ("get", "create", "patch", "delete"),
        names=("openbao-operator-tenant-quota",),
    ),
    Right(
        "The defaults of containers in a tenant's namespace.",
        CORE,
        ("limitranges",),
        ("get", "create", "patch", "delete"),
        names=("openbao-operator-tenant-limits",),
    ),
)
"""Of the delegate, everywhere: what it writes besides Roles, for which it holds their rights."""


def as_mirrored(rights: Iterable[Right]) -> tuple[Right, ...]:
    """The other part of `as_read`: what watching needs and polling does not."""
    narrowed = (
        replace(right, verbs=tuple(verb for verb in right.verbs if verb in _MIRRORED))
        for right in rights
    )
    return tuple(right for right in narrowed if right.verbs)


def as_read(rights: Iterable[Right], reads: Reads) -> tuple[Right, ...]:
    """Narrow rights to a way of reading: without list and watch where objects are polled."""
    if reads == "watch":
        return tuple(rights)
    narrowed = (
        replace(right, verbs=tuple(verb for verb in right.verbs if verb not in _MIRRORED))
        for right in rights
    )
    return tuple(right for right in narrowed if right.verbs)


def rules(rights: Iterable[Right]) -> list[dict[str, Any]]:
    """The rights as the `rules` of a Role or ClusterRole, in their order."""
    return [right.rule() for right in rights]
