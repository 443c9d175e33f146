"""Limits the size of an object in a cache.

Pure. Called by runtime.client.codec during decoding, by runtime.cache.selection for decoded
objects, and by readers of objects of users. The API server stores objects of 1.5 MiB; the memory of
a process that mirrors them must not depend on what its users store. A member that is too large is
omitted, and the object gets a marker: its name, its finalizers and its other members are known, and
its reader can report what is wrong.
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
"""The name of the marker of an omitted member; no object of the API server has this member."""

NOTES_MAX: Mapping[str, int] = {"annotations": 16 << 10, "labels": 8 << 10}
"""Maximum size of each in bytes; the shortest entries are kept first."""
NOTES_COUNT = 128
LISTED_MAX = 256
"""Maximum number of finalizers, and of owner references, that are kept of one object."""

_LISTS = ("finalizers", "ownerReferences")
_NOT_KEPT = "managedFields"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which `kubectl apply` stores a copy of the manifest."""
# Members that every reader needs, and whose size the API server limits.
_IDENTITY = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of each member except the metadata: bytes as compact JSON, and values."""

    size: int = 256 << 10
    values: int = 10_000


DEFAULT = Bounds()


@dataclass(frozen=True, slots=True)
class Oversize:
    """The omitted member, and the limit that it exceeds."""

    member: str
    why: str

    def __str__(self) -> str:
        return f"{self.member} has {self.why}"


def oversize_of(obj: Mapping[str, Any]) -> Oversize | None:
    """The omitted member of a cached object; None if there is none."""
    mark = obj.get(MARK)
    return Oversize(str(mark["member"]), str(mark["why"])) if isinstance(mark, dict) else None


def read_object(skimmer: Skimmer, bounds: Bounds = DEFAULT) -> Object:
    """Decode the next object.

    Members with too many values are omitted before decoding, and so are managedFields. Raises
    ValueError if it is no JSON object.
    """
    obj: Object = {}
    for name in skimmer.members():
        if name == "metadata" and skimmer.stands_at(b"{"):
            obj[name] = _metadata(skimmer)
            continue
        text = skimmer.text()
        # More than twice as many marks are certainly too many values; fewer are checked after
        # decoding.
        if name in _IDENTITY or at_most(text, 2 * bounds.values):
            obj[name] = loads(text)
        else:
            _leave_out(obj, name, _many(bounds))
    return obj


def _metadata(skimmer: Skimmer) -> Object:
    metadata: Object = {}
    for name in skimmer.members():
        text = skimmer.text()
        if name != _NOT_KEPT:
            metadata[name] = loads(text)
    return metadata


def trim_metadata(obj: Object) -> Object:
    """Reduce the metadata of an object, in place, to what readers need.

    Half of a typical object are managedFields, and kubectl stores a copy of the whole object in an
    annotation.
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
            # Keep the first ones: patches address an entry by its index.
            metadata[name] = metadata[name][:LISTED_MAX]
    return obj


def _size(notes: Mapping[str, str]) -> int:
    return sum(map(len, notes)) + sum(map(len, notes.values()))


def _shortest(notes: Mapping[str, str], room: int) -> dict[str, str]:
    shortest: dict[str, str] = {}
    for key, value in sorted(notes.items(), key=lambda note: (len(note[0]) + len(note[1]), note)):
        room -= len(key) + len(value)
        if room < 0 or len(shortest) == NOTES_COUNT:
            break
        shortest[key] = value
    return shortest


def bound_members(obj: Object, bounds: Bounds) -> Object:
    """Omit, in place, the members that are too large; an object within the limits is not
    changed."""
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
        # Nested deeper than the limit of the encoder.
        text = orjson.dumps(shallow(value))
    if len(text) > bounds.size:
        return f"{len(text)} bytes (at most {bounds.size})"
    if not at_most(text, bounds.values) and too_many(value, bounds.values):
        return _many(bounds)
    return None


def _many(bounds: Bounds) -> str:
    return f"too many values (at most {bounds.values})"


def _leave_out(obj: Object, name: str, why: str) -> None:
    obj.pop(name, None)
    obj.setdefault(MARK, {"member": name, "why": why})
