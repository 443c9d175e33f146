"""What users may do: ClusterRoles that join the usual ones, and one for each delegated verb.

Uses contracts.rbac.rules and the tables of this package. Called by `baoctl.generate admission`.
Semantics: Kubernetes API reference, rbac.authorization.k8s.io/v1 ClusterRole, aggregation by label.
"""

from dataclasses import dataclass
from typing import Any, Final

from contracts.admission.datacenters import NODE_ACCESS, OBJECT_KINDS
from contracts.admission.managed_objects import MAINTAIN
from contracts.admission.policy import PART_OF, PREFIX
from contracts.admission.verb_gated_fields import RESTORE, VERBS, Verb
from contracts.api.group import BACKUPS, CLUSTERS, GROUP, RESTORES, TENANTS
from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from contracts.optional_kinds import GATEWAY_API
from contracts.rbac.rules import CORE, NETWORKING, Right, rules

_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_WRITES = ("create", "update", "patch", "delete", "deletecollection")
_READS = ("get", "list", "watch")
STORAGE = "storage.k8s.io"


@dataclass(frozen=True, slots=True)
class UserRole:
    """A ClusterRole without its prefix, and the usual ClusterRoles that take its rules over."""

    name: str
    why: str
    rights: tuple[Right, ...]
    joins: tuple[str, ...] = ()
    prefix: str = PREFIX

    def to_object(self) -> dict[str, Any]:
        """The ClusterRole as it is applied."""
        labels = {PART_OF: "openbao-operator", **{_AGGREGATE + one: "true" for one in self.joins}}
        return {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": self.prefix + self.name, "labels": labels},
            "rules": rules(self.rights),
        }


_CLUSTERS = CLUSTERS.plural
_OWN = tuple(sorted(kind.plural for kind in (BACKUPS, CLUSTERS, RESTORES)))

USUAL: Final = (
    UserRole(
        "view",
        "Whoever may look at a namespace sees its clusters, backups and restores.",
        (
            Right("See them.", GROUP, _OWN, _READS),
            Right("See how they are.", GROUP, tuple(f"{one}/status" for one in _OWN), ("get",)),
        ),
        ("view", "edit", "admin"),
    ),
    UserRole(
        "edit",
        "Whoever may write into a namespace keeps its clusters, backups and restores. Their status "
        "is the operator's, and a restore needs the verb restore besides.",
        (
            Right("Keep them.", GROUP, _OWN, _WRITES),
            Right("Scale them.", GROUP, (f"{_CLUSTERS}/scale",), ("get", "update", "patch")),
        ),
        ("edit", "admin"),
    ),
    UserRole(
        "admin",
        "Whoever owns a namespace may have it prepared for clusters.",
        (
            Right("Keep tenants.", GROUP, (TENANTS.plural,), (*_READS, *_WRITES)),
            Right("See how they are.", GROUP, (f"{TENANTS.plural}/status",), ("get",)),
        ),
        ("admin",),
    ),
)
"""They join the ClusterRoles view, edit and admin that every cluster has."""


_EVERY_VERB = (*_READS, *_WRITES)
_STATUS = Right("See how they are.", GROUP, (f"{_CLUSTERS}/status",), ("get",))

FORMER: Final = tuple(
    UserRole(name, why, (Right(why, GROUP, (_CLUSTERS,), verbs), _STATUS), prefix="")
    for name, why, verbs in (
        ("openbaocluster-admin-role", "Keep clusters, for bindings that are older.", _EVERY_VERB),
        ("openbaocluster-editor-role", "The same, by its other name.", _EVERY_VERB),
        ("openbaocluster-viewer-role", "See clusters, for bindings that are older.", _READS),
    )
)
"""The names that ClusterRoles of the public Go operator have, so that bindings keep their effect.
No wildcard, and no more than the usual roles grant."""


_DATACENTER_KINDS = tuple(sorted(kind.plural for kind in (DATACENTERS, SERVICE_SETS)))
_WORKLOADS = WORKLOADS.plural

PLATFORM: Final = (
    UserRole(
        "datacenter-view",
        "Whoever may look at the platform sees datacenters, and what became of their services.",
        (
            Right("See them.", GROUP, tuple(sorted((*_DATACENTER_KINDS, _WORKLOADS))), _READS),
            Right(
                "See how they are.",
                GROUP,
                (f"{_WORKLOADS}/status", f"{DATACENTERS.plural}/status"),
                ("get",),
            ),
        ),
    ),
    UserRole(
        "datacenter-admin",
        "Whoever runs the platform says which services a datacenter gets, and so runs pods in "
        "nearly every namespace. Only the operator writes BootstrapWorkloads.",
        (Right("Keep them.", GROUP, _DATACENTER_KINDS, (*_READS, *_WRITES)),),
    ),
    *(
        UserRole(
            verb.role, verb.why, (Right(verb.why, GROUP, (DATACENTERS.plural,), (verb.name,)),)
        )
        for verb in (NODE_ACCESS, OBJECT_KINDS)
    ),
)
"""They join nothing, for tenants have nothing to do with datacenters."""


def _verb(verb: Verb) -> UserRole:
    return UserRole(verb.role, verb.why, (Right(verb.why, GROUP, (_CLUSTERS,), (verb.name,)),))


def _use(name: str, group: str, resources: tuple[str, ...], why: str) -> UserRole:
    return UserRole(f"use-{name}", why, (Right(why, group, resources, ("use",)),))


DELEGATED: Final = (
    *map(_verb, (*VERBS, MAINTAIN, RESTORE)),
    _use("service-accounts", CORE, ("serviceaccounts",), "Name ServiceAccounts in a cluster."),
    _use("volume-claims", CORE, ("persistentvolumeclaims",), "Name volume claims in a cluster."),
    _use(
        "secrets",
        CORE,
        ("secrets", "configmaps"),
        "Name Secrets and ConfigMaps in a cluster without reading them.",
    ),
    _use("gateways", GATEWAY_API, ("gateways",), "Name Gateways; bind it where they are."),
    _use("ingress-classes", NETWORKING, ("ingressclasses",), "Name IngressClasses."),
    _use("storage-classes", STORAGE, ("storageclasses",), "Name StorageClasses."),
)
"""They join nothing: an administrator binds them to whom they trust with it."""
