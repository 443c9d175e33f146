"""How much of one object a cache keeps, whoever wrote it.

Pure. Called by runtime.client.codec while it decodes, by runtime.cache.selection for objects that
are decoded already, and by readers of objects of users. The API server stores objects of a
megabyte and a half; the memory of a process that mirrors all of them must not depend on what
its users store. A member that is too large is omitted, and the object is marked: its name, its
finalizers and its other members are known, and its reader can report what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from runtime.limits.json_scan import Skimmer, at_most
from runtime.limits.nesting import loads, shallow, too_many
from runtime.types import Object

MARK = "oversize"
"""The member in which an object says that another one was left out; the API server has none."""

NOTES_MAX: Mapping[str, int] = {"annotations": 16 << 10, "labels": 8 << 10}
"""Bytes of these that are kept; the shortest first."""
NOTES_COUNT = 128
LISTED_MAX = 256
"""Finalizers, and owners, of one object that are kept."""

_LISTS = ("finalizers", "ownerReferences")
_NOT_KEPT = "managedFields"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Where `kubectl apply` keeps the last manifest: the object once more."""
# What every reader takes for granted, and the API server keeps short.
_IDENTITY = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is kept of each member other than the metadata: bytes as compact JSON, and values."""

    size: int = 256 << 10
    values: int = 10_000


DEFAULT = Bounds()


@dataclass(frozen=True, slots=True)
class Oversize:
    """Which member was left out, and which bound it breaks."""

    member: str
    why: str

    def __str__(self) -> str:
        return f"{self.member} has {self.why}"


def oversize_of(obj: Mapping[str, Any]) -> Oversize | None:
    """What was left out of an object of a cache; None if nothing was."""
    mark = obj.get(MARK)
    return Oversize(str(mark["member"]), str(mark["why"])) if isinstance(mark, dict) else None


def read_object(skimmer: Skimmer, bounds: Bounds = DEFAULT) -> Object:
    """Decode the object that comes next.

    Members of too many values are left out before they are decoded, and managedFields with them.
    Raises ValueError for what is no JSON object.
    """
    obj: Object = {}
    for name in skimmer.members():
        if name == "metadata" and skimmer.stands_at(b"{"):
            obj[name] = _metadata(skimmer)
            continue
        text = skimmer.text()
        # Twice as many marks are more values in any case; less is judged once it is decoded.
        if name in _IDENTITY or at_most(text, 2 * bounds.values):
            obj[name] = loads(text)
        else:
            _leave_out(obj, name, _many(bounds))
    return obj


def _metadata(skimmer: Skimmer) -> Object:
    kept: Object = {}
    for name in skimmer.members():
        text = skimmer.text()
        if name != _NOT_KEPT:
            kept[name] = loads(text)
    return kept


def trim_metadata(obj: Object) -> Object:
    """Cut the metadata of an object, in place, to what a reader may need of it.

    Half of a typical object is bookkeeping of field managers, and kubectl keeps a copy of the
    whole object in an annotation.
    """
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    metadata.pop(_NOT_KEPT, None)
    (metadata.get("annotations") or {}).pop(LAST_APPLIED, None)
    for name, room in NOTES_MAX.items():
        notes = metadata.get(name)
        if notes and (len(notes) > NOTES_COUNT or _size(notes) > room):
            metadata[name] = _shortest(notes, room)
    for name in _LISTS:
        if len(metadata.get(name) or ()) > LISTED_MAX:
            # The first ones: patches name an entry by its place.
            metadata[name] = metadata[name][:LISTED_MAX]
    return obj


def _size(notes: Mapping[str, str]) -> int:
    return sum(map(len, notes)) + sum(map(len, notes.values()))


def _shortest(notes: Mapping[str, str], room: int) -> dict[str, str]:
    kept: dict[str, str] = {}
    for key, value in sorted(notes.items(), key=lambda note: (len(note[0]) + len(note[1]), note)):
        room -= len(key) + len(value)
        if room < 0 or len(kept) == NOTES_COUNT:
            break
        kept[key] = value
    return kept


def bound_members(obj: Object, bounds: Bounds) -> Object:
    """Leave out, in place, the members that are too large; an object that fits is not changed."""
    for name in tuple(obj):
        value = obj[name]
        if name in _IDENTITY or not isinstance(value, dict | list | str):
            continue
        why = _objection(value, bounds)
        if why is not None:
            _leave_out(obj, name, why)
    return obj


def _objection(value: Any, bounds: Bounds) -> str | None:
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:
        # Nested deeper than the encoder goes.
        text = orjson.dumps(shallow(value))
    if len(text) > bounds.size:
        return f"{len(text)} bytes, and up to {bounds.size} are read"
    if not at_most(text, bounds.values) and too_many(value, bounds.values):
        return _many(bounds)
    return None


def _many(bounds: Bounds) -> str:
    return f"more than {bounds.values} values, and no more are read"


def _leave_out(obj: Object, name: str, why: str) -> None:
    obj.pop(name, None)
    obj.setdefault(MARK, {"member": name, "why": why})
