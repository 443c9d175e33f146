"""Server-side apply: ownership of fields by path, conflicts, removal of omitted fields.

Pure. Source: Kubernetes documentation, "Server-Side Apply"; structured-merge-diff, merge.Updater.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from runtime.testing.api_server.answers import Cause, RefusedAnswer, about
from runtime.testing.api_server.fields import Path, format_path, merge_fields, tree_of, without
from runtime.testing.api_server.kinds import Kind
from runtime.testing.api_server.managed import (
    Managers,
    Owned,
    Who,
    entries_of,
    managers_of,
    owned_leaves,
    union,
)
from runtime.types import Object


@dataclass(frozen=True, slots=True)
class Application:
    """One apply request: the manager, the body, and whether conflicts are forced."""

    kind: Kind
    who: Who
    body: Object
    force: bool
    now: str


def apply_request(live: Object | None, request: Application) -> Object:
    """The object after the apply, with its new managedFields.

    Raises RefusedAnswer (409, with one cause per field) if other managers own changed fields.
    """
    kind, who = request.kind, request.who
    base: Object = live or {"metadata": {}}
    mine = owned_leaves(request.body, kind, who.subresource)
    managers = _managers(live, request)
    last = managers.pop(who, Owned(frozenset(), request.now))
    both = _merge(base, request)
    before = owned_leaves(live, kind, who.subresource)
    after = owned_leaves(both, kind, who.subresource)
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    clashes = {other: hit for other, owned in managers.items() if (hit := owned.paths & changed)}
    if clashes and not request.force:
        raise _conflict(request, clashes)
    managers = {
        other: replace(owned, paths=owned.paths - clashes.get(other, frozenset()))
        for other, owned in managers.items()
    }
    paths = frozenset(mine)
    result = _without_omitted(both, last.paths - paths, union(managers.values()) | paths, request)
    managers[who] = last if last.paths == paths else Owned(paths, request.now)
    metadata = {**result["metadata"], "managedFields": entries_of(managers)}
    return {**result, "metadata": metadata}


def _managers(live: Object | None, request: Application) -> Managers:
    managers = managers_of(live)
    if live is not None and not managers:
        # Fields from before any ownership was recorded belong to this manager.
        first = Who("before-first-apply", "Update", request.who.api_version)
        managers[first] = Owned(frozenset(owned_leaves(live, request.kind, "")), request.now)
    return managers


def _merge(base: Object, request: Application) -> Object:
    kind, sub = request.kind, request.who.subresource
    desired = {
        name: value
        for name, value in request.body.items()
        if (name == sub if sub else not (kind.status and name == "status"))
    }
    desired.pop("metadata", None)
    # A uid in the body is a precondition, checked by the caller.
    metadata = {
        name: value
        for name, value in (request.body.get("metadata") or {}).items()
        if name not in ("uid", "resourceVersion", "managedFields", "creationTimestamp")
    }
    if not sub:
        desired["metadata"] = metadata
    result: Object = merge_fields(base, desired, kind.schema)
    return result


def _without_omitted(
    both: Object, omitted: frozenset[Path], owned: frozenset[Path], request: Application
) -> Object:
    """Remove the fields that their only owner omits."""
    ancestors = {path[:length] for path in owned for length in range(1, len(path))}
    removed_paths = omitted - owned - ancestors
    if not removed_paths:
        return both
    result: Object = without(both, tree_of(removed_paths), request.kind.schema) or {}
    return result


def _conflict(request: Application, clashes: Mapping[Who, frozenset[Path]]) -> RefusedAnswer:
    causes = [
        Cause("FieldManagerConflict", f"conflict with {_describe(who)}", format_path(path))
        for who, paths in clashes.items()
        for path in sorted(paths)
    ]
    if len(causes) == 1:
        count, message = "1 conflict", f"{causes[0].message}: {causes[0].field}"
    else:
        count = f"{len(causes)} conflicts"
        message = "\n".join(
            "\n- ".join((f"conflicts with {_describe(who)}:", *map(format_path, sorted(paths))))
            for who, paths in clashes.items()
        )
    name = str(request.body["metadata"]["name"])
    return RefusedAnswer(
        409,
        "Conflict",
        f"Apply failed with {count}: {message}",
        about=about(request.kind.resource, name),
        causes=causes,
    )


def _describe(who: Who) -> str:
    part = f' with subresource "{who.subresource}"' if who.subresource else ""
    # Appliers are named without a version (1.36).
    version = f" using {who.api_version}" if who.operation == "Update" else ""
    return f'"{who.manager}"{part}{version}'
