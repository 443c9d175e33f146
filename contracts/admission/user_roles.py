"""ClusterRoles for users: aggregated to view, edit and admin, and one for each delegated verb.

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
_EVERY_VERB = (*_READS, *_WRITES)
STORAGE = "storage.k8s.io"


@dataclass(frozen=True, slots=True)
class UserRole:
    """A ClusterRole, its name without the prefix, and the ClusterRoles that aggregate it."""

    name: str
    why: str
    rights: tuple[Right, ...]
    joins: tuple[str, ...] = ()
    prefix: str = PREFIX

    def to_object(self) -> dict[str, Any]:
        """Return the ClusterRole as it is applied."""
        aggregation = {_AGGREGATE + role: "true" for role in self.joins}
        return {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {
                "name": self.prefix + self.name,
                "labels": {PART_OF: "openbao-operator", **aggregation},
            },
            "rules": rules(self.rights),
        }


_CLUSTERS = CLUSTERS.plural
_OWN = tuple(sorted(kind.plural for kind in (BACKUPS, CLUSTERS, RESTORES)))
_MANAGE_TENANTS = (
    Right("Manage tenants.", GROUP, (TENANTS.plural,), _EVERY_VERB),
    Right("Read their status.", GROUP, (f"{TENANTS.plural}/status",), ("get",)),
)

USUAL: Final = (
    UserRole(
        "view",
        "Users with the role view can read the clusters, backups and restores of a namespace.",
        (
            Right("Read them.", GROUP, _OWN, _READS),
            Right(
                "Read their status.",
                GROUP,
                tuple(f"{plural}/status" for plural in _OWN),
                ("get",),
            ),
        ),
        ("view", "edit", "admin"),
    ),
    UserRole(
        "edit",
        "Users with the role edit can write the clusters, backups and restores of a namespace. The "
        "operator writes their status. A restore also needs the verb restore.",
        (
            Right("Write them.", GROUP, _OWN, _WRITES),
            Right("Scale them.", GROUP, (f"{_CLUSTERS}/scale",), ("get", "update", "patch")),
        ),
        ("edit", "admin"),
    ),
    UserRole(
        "admin",
        "Users with the role admin can create an OpenBaoTenant for their namespace.",
        _MANAGE_TENANTS,
        ("admin",),
    ),
)
"""Kubernetes aggregates these into its ClusterRoles view, edit and admin."""


_STATUS = Right("Read their status.", GROUP, (f"{_CLUSTERS}/status",), ("get",))
_MANAGE_CLUSTERS = (Right("Manage clusters.", GROUP, (_CLUSTERS,), _EVERY_VERB), _STATUS)
_READ_CLUSTERS = (Right("Read clusters.", GROUP, (_CLUSTERS,), _READS), _STATUS)

FORMER: Final = tuple(
    UserRole(name, f"{rights[0].why} For existing bindings to this name.", rights, prefix="")
    for name, rights in (
        ("openbaocluster-admin-role", _MANAGE_CLUSTERS),
        ("openbaocluster-editor-role", _MANAGE_CLUSTERS),
        ("openbaocluster-viewer-role", _READ_CLUSTERS),
        ("openbaotenant-editor-role", _MANAGE_TENANTS),
    )
)
"""ClusterRoles with the names of the public Go operator, so that existing bindings remain valid.
They have no wildcards, and grant no more than the aggregated roles."""


_DATACENTER_KINDS = tuple(sorted(kind.plural for kind in (DATACENTERS, SERVICE_SETS)))
_WORKLOADS = WORKLOADS.plural

PLATFORM: Final = (
    UserRole(
        "datacenter-view",
        "Read datacenters and the state of their services.",
        (
            Right("Read them.", GROUP, tuple(sorted((*_DATACENTER_KINDS, _WORKLOADS))), _READS),
            Right(
                "Read their status.",
                GROUP,
                (f"{_WORKLOADS}/status", f"{DATACENTERS.plural}/status"),
                ("get",),
            ),
        ),
    ),
    UserRole(
        "datacenter-admin",
        "Choose the services of datacenters, which includes running pods in nearly every "
        "namespace. Only the operator writes BootstrapWorkloads.",
        (Right("Manage them.", GROUP, _DATACENTER_KINDS, (*_READS, *_WRITES)),),
    ),
    *(
        UserRole(
            verb.role, verb.why, (Right(verb.why, GROUP, (DATACENTERS.plural,), (verb.name,)),)
        )
        for verb in (NODE_ACCESS, OBJECT_KINDS)
    ),
)
"""Not aggregated, because tenants have no access to datacenters."""


def _verb(verb: Verb) -> UserRole:
    return UserRole(verb.role, verb.why, (Right(verb.why, GROUP, (_CLUSTERS,), (verb.name,)),))


def _use(name: str, group: str, resources: tuple[str, ...], why: str) -> UserRole:
    return UserRole(f"use-{name}", why, (Right(why, group, resources, ("use",)),))


DELEGATED: Final = (
    *map(_verb, (*VERBS, MAINTAIN, RESTORE)),
    _use("service-accounts", CORE, ("serviceaccounts",), "Reference ServiceAccounts in a cluster."),
    _use(
        "volume-claims",
        CORE,
        ("persistentvolumeclaims",),
        "Reference PersistentVolumeClaims in a cluster.",
    ),
    _use(
        "secrets",
        CORE,
        ("secrets", "configmaps"),
        "Reference Secrets and ConfigMaps in a cluster without the permission to read them.",
    ),
    _use(
        "gateways",
        GATEWAY_API,
        ("gateways",),
        "Reference Gateways. Bind this role in the namespace of the Gateways.",
    ),
    _use("ingress-classes", NETWORKING, ("ingressclasses",), "Reference IngressClasses."),
    _use("storage-classes", STORAGE, ("storageclasses",), "Reference StorageClasses."),
)
"""Not aggregated: an administrator binds them to trusted users."""
