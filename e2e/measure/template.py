"""Converts the objects that the operator created to a script that applies them without it. Pure.

The objects keep their names and content. They get another namespace and another manager label, so
that no operator manages them, and lose the fields of the API server and the owner references.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from contracts.naming import labels
from e2e.demo.errors import DemoError
from e2e.demo.journal import JournalEntry
from e2e.demo.objects import Object, name_of

MANAGER = "openbao-measure"
_GIVEN = frozenset(
    {
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "ownerReferences",
        "finalizers",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    }
)
# Chosen by the API server; a headless Service keeps its "None".
_OF_SERVICE = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource: apiVersion and kind of its objects, and its plural name."""

    api_version: str
    kind: str
    plural: str

    def path(self, namespace: str, name: str = "") -> str:
        """Return the path of an object, or of the list."""
        root = "/apis" if "/" in self.api_version else "/api"
        path = f"{root}/{self.api_version}/namespaces/{namespace}/{self.plural}"
        return f"{path}/{name}" if name else path


STATEFUL_SETS = Kind("apps/v1", "StatefulSet", "statefulsets")
SECRETS = Kind("v1", "Secret", "secrets")
# In the order in which they are applied; the StatefulSet comes last.
SEEN = (
    Kind("v1", "ServiceAccount", "serviceaccounts"),
    Kind("v1", "ConfigMap", "configmaps"),
    Kind("v1", "Service", "services"),
)
READ = (
    SECRETS,
    Kind("rbac.authorization.k8s.io/v1", "Role", "roles"),
    Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
    Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
    Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
)


@dataclass(frozen=True, slots=True)
class NamespaceChange:
    """The source namespace of the objects, and the target namespace."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Script:
    """The objects to apply first, with one server, and those after that one is ready."""

    first: tuple[tuple[Kind, Object], ...]
    then: tuple[Kind, Object]


def script(
    entries: Sequence[JournalEntry],
    read: Iterable[tuple[Kind, Object]],
    cluster: str,
    change: NamespaceChange,
) -> Script:
    """Build the script of a recorded first boot.

    ``entries`` have all versions of StatefulSet, ConfigMaps, Services and ServiceAccounts; objects
    that were deleted again (the self-init configuration) are applied as well. ``read`` has the
    current objects of the other kinds. Raises DemoError if there was no scale-out.
    """
    sets = [entry.object for entry in entries if entry.kind == STATEFUL_SETS.plural]
    sets = [obj for obj in sets if name_of(obj) == cluster]
    if not sets or sets[-1]["spec"]["replicas"] <= sets[0]["spec"]["replicas"]:
        raise DemoError(f"StatefulSet {cluster} was not seen to scale out")
    first = [(kind, without_server_fields(obj, kind, change)) for kind, obj in read]
    for kind in SEEN:
        states = _first_states(entries, kind.plural, cluster)
        first += [(kind, without_server_fields(obj, kind, change)) for obj in states]
    first.append((STATEFUL_SETS, without_server_fields(sets[0], STATEFUL_SETS, change)))
    return Script(
        tuple(first), (STATEFUL_SETS, without_server_fields(sets[-1], STATEFUL_SETS, change))
    )


def _first_states(entries: Sequence[JournalEntry], plural: str, cluster: str) -> list[Object]:
    states: dict[str, Object] = {}
    for entry in entries:
        mine = (entry.object["metadata"].get("labels") or {}).get(labels.CLUSTER) == cluster
        if entry.kind == plural and entry.change == "ADDED" and mine:
            states.setdefault(name_of(entry.object), entry.object)
    return list(states.values())


def without_server_fields(obj: Object, kind: Kind, change: NamespaceChange) -> Object:
    """Return the object without server-side fields."""
    copy: Object = _rewrite(obj, change)
    copy.pop("status", None)
    copy["apiVersion"], copy["kind"] = kind.api_version, kind.kind
    copy["metadata"] = {key: item for key, item in copy["metadata"].items() if key not in _GIVEN}
    if kind.kind == "Service":
        spec = copy["spec"]
        for field in _OF_SERVICE:
            spec.pop(field, None)
        if spec.get("clusterIP") != "None":
            spec.pop("clusterIP", None)
    return copy


def _rewrite(value: Any, change: NamespaceChange) -> Any:
    if isinstance(value, dict):
        # A null means "not set"; applied, it would take ownership of the field.
        return {
            key: MANAGER if key == labels.MANAGED_BY else _rewrite(item, change)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [_rewrite(item, change) for item in value]
    return value.replace(change.source, change.target) if isinstance(value, str) else value
