"""metadata.managedFields: the owners of paths, and the effect of plain writes.

Pure. Source: Kubernetes documentation, "Server-Side Apply", and structured-merge-diff, merge.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from runtime.testing.api_server.fields import Path, leaves, paths_of, tree_of
from runtime.testing.api_server.kinds import Kind
from runtime.types import Object

_SERVERS_OWN = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                "creationTimestamp",
                "deletionGracePeriodSeconds",
                "deletionTimestamp",
                "generation",
                "managedFields",
                "name",
                "namespace",
                "resourceVersion",
                "selfLink",
                "uid",
            )
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Who:
    """The key of an entry of managedFields: with another operation it is another manager."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Owned:
    """The paths of one entry, and the time of their last change."""

    paths: frozenset[Path]
    time: str


Managers = dict[Who, Owned]


def managers_of(obj: Object | None) -> Managers:
    """The entries of an object."""
    entries: list[Object] = (obj or {}).get("metadata", {}).get("managedFields") or []
    return {
        Who(
            entry.get("manager", ""),
            entry.get("operation", ""),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        ): Owned(frozenset(paths_of(entry.get("fieldsV1") or {})), entry.get("time", ""))
        for entry in entries
        if entry
    }


def entries_of(managers: Managers) -> list[Object]:
    """The stored form: applies first, then by time and name."""
    order = sorted(
        managers.items(), key=lambda pair: (pair[0].operation, pair[1].time, pair[0].manager)
    )
    return [
        {
            "manager": who.manager,
            "operation": who.operation,
            "apiVersion": who.api_version,
            "time": owned.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": tree_of(owned.paths),
            **({"subresource": who.subresource} if who.subresource else {}),
        }
        for who, owned in order
        if owned.paths
    ]


def owned_leaves(obj: Object | None, kind: Kind, subresource: str) -> dict[Path, Any]:
    """The paths that a write through an endpoint can own, with their values."""
    if obj is None:
        return {}
    fields = {name: value for name, value in obj.items() if _is_written(name, kind, subresource)}
    metadata = fields.pop("metadata", {})
    owned = dict(leaves(fields, kind.schema)) if fields else {}
    plain = {name: value for name, value in metadata.items() if name != "managedFields"}
    owned.update(leaves(plain, kind.schema, ("f:metadata",)))
    return {path: value for path, value in owned.items() if path not in _SERVERS_OWN}


def _is_written(name: str, kind: Kind, subresource: str) -> bool:
    if subresource:
        return name == subresource
    return not (kind.status and name == "status")


def after_update(old: Object | None, new: Object, kind: Kind, who: Who, now: str) -> list[Object]:
    """managedFields after a plain write: its manager owns the changed paths; removed ones have no
    owner."""
    before = owned_leaves(old, kind, who.subresource)
    after = owned_leaves(new, kind, who.subresource)
    changed = frozenset(p for p, v in after.items() if p not in before or before[p] != v)
    removed = frozenset(before.keys() - after.keys())
    managers = _present(old, new)
    mine = managers.pop(who, Owned(frozenset(), now))
    owners = {
        other: replace(owned, paths=owned.paths - changed - removed)
        for other, owned in managers.items()
    }
    paths = (mine.paths - removed) | changed
    owners[who] = mine if paths == mine.paths else Owned(paths, now)
    return entries_of(owners)


def _present(old: Object | None, new: Object) -> Managers:
    """The entries before a write: the write may set them, or clear them with an empty one."""
    stated = new.get("metadata", {}).get("managedFields")
    if stated is not None and not any(stated):
        return {}
    return managers_of(new) or managers_of(old)


def union(owned: Iterable[Owned]) -> frozenset[Path]:
    """All paths that have an owner."""
    return frozenset().union(*(entry.paths for entry in owned))
