"""Takes over the fields of former managers in metadata.managedFields.

Pure. Called by `runtime.apply.apply`, and by writers of a status, with the response to an apply:
caches do not keep managedFields.

Two cases prevent the removal of a field by omitting it from an apply, because both make another
manager its co-owner:

* An earlier program, or kubectl, wrote the object by update. Its entries are merged into our own,
  as k8s.io/client-go/util/csaupgrade does; the caller applies again afterwards.
* The managedFields were lost (kubernetes/kubernetes 136919), and the server recorded all fields
  under a manager "before-first-apply". That entry is dropped and not merged: it contains the fields
  of all managers, and we would remove those that we own.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from runtime.types import Object, resource_version_of

BEFORE_FIRST_APPLY = "before-first-apply"

Entry = dict[str, Any]
Fields = dict[str, Any]
Operation = dict[str, Any]


def upgrade(
    live: Object, legacy: Collection[str], manager: str, *, subresource: str = ""
) -> list[Operation] | None:
    """Return the JSON patch that makes `manager` the owner of the fields that `legacy` managers own
    by update.

    The patch contains the resourceVersion of `live`: it fails with Conflict if the object changed.
    None if there is nothing to do. Entries of other subresources are not changed.
    """
    before: list[Entry] = live["metadata"].get("managedFields") or []
    leaving = (BEFORE_FIRST_APPLY, *legacy)
    # Most objects have nothing to take over, and a copy takes a millisecond.
    if not any(_is(entry, name, subresource) for entry in before for name in leaving):
        return None
    after = [e for e in copy.deepcopy(before) if not _is(e, BEFORE_FIRST_APPLY, subresource)]
    for name in sorted(legacy):
        after = _union(after, name, manager, subresource)
    return [
        # The server ignores an empty list; one empty entry clears the list.
        {"op": "replace", "path": "/metadata/managedFields", "value": after or [{}]},
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": resource_version_of(live),
        },
    ]


def take_over_status(
    live: Object, former: Collection[str], manager: str, others: Collection[str]
) -> list[Operation] | None:
    """Return the JSON patch that makes `manager` the owner of the status fields of `former`
    managers.

    `others`: members of the status that other managers of the caller write; they have no owner
    until their manager applies them. The patch contains the resourceVersion of `live`. None if
    there is nothing to do.
    """
    before: list[Entry] = live["metadata"].get("managedFields") or []
    theirs = [e for e in before if e.get("manager") in former and _is_of_status(e)]
    if not theirs:
        return None
    after = copy.deepcopy([entry for entry in before if entry not in theirs])
    ours = next((e for e in after if _is(e, manager, "status", operation="Apply")), None)
    if ours is None:
        newest = max(theirs, key=lambda entry: str(entry.get("time", "")))
        ours = {**newest, "manager": manager, "operation": "Apply", "fieldsV1": {}}
        after.append(ours)
    hidden = {f"f:{other}" for other in others}
    for entry in theirs:
        if entry.get("apiVersion") == ours.get("apiVersion"):
            status = (entry.get("fieldsV1") or {}).get("f:status") or {}
            visible = {step: below for step, below in status.items() if step not in hidden}
            ours["fieldsV1"] = union(
                ours["fieldsV1"] or {}, {"f:status": visible} if visible else {}
            )
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": after},
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": resource_version_of(live),
        },
    ]


def _is_of_status(entry: Mapping[str, Any]) -> bool:
    return entry.get("subresource") == "status"


def _union(entries: list[Entry], name: str, manager: str, subresource: str) -> list[Entry]:
    former = [entry for entry in entries if _is(entry, name, subresource)]
    if not former:
        return entries
    ours = next((e for e in entries if _is(e, manager, subresource, operation="Apply")), None)
    if ours is None:
        # The newest entry becomes ours: it is most likely of the current API version.
        ours = max(former, key=lambda entry: str(entry.get("time", "")))
        ours["manager"], ours["operation"] = manager, "Apply"
    for entry in former:
        # Field paths of another API version cannot be merged with ours and are dropped.
        if entry is not ours and entry.get("apiVersion") == ours.get("apiVersion"):
            ours["fieldsV1"] = union(ours.get("fieldsV1") or {}, entry.get("fieldsV1") or {})
    return [entry for entry in entries if entry is ours or not _is(entry, name, subresource)]


def _is(entry: Mapping[str, Any], name: str, subresource: str, operation: str = "Update") -> bool:
    return (
        entry.get("manager") == name
        and entry.get("operation") == operation
        and (entry.get("subresource") or "") == subresource
    )


def union(one: Fields, other: Fields) -> Fields:
    """Return the union of two sets of fields in FieldsV1 form.

    A leaf is an empty map; other paths are maps of their children, with "." if the path itself is
    in the set too.
    """
    merged = dict(one)
    for step, below in other.items():
        if step not in merged:
            merged[step] = below
        elif step != ".":
            merged[step] = _below(merged[step], below)
    return merged


def _below(one: Fields, other: Fields) -> Fields:
    if not one and not other:
        return {}
    # A leaf merged with a map: the path itself is in the set and needs its ".".
    return union(one or {".": {}}, other or {".": {}})
