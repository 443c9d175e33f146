"""The desired state of one object as a value: built by pure code, compared and hashed here.

May use only types. `runtime.apply.apply` sends intents; tests and previews print them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from runtime.apply.canonical import normal
from runtime.types import Object, ObjectKey, Resource

# Merge keys of the lists that server-side apply treats as maps; other lists are compared by index.
# Kubernetes API reference, "x-kubernetes-list-map-keys".
_MERGE_KEYS: tuple[tuple[str, ...], ...] = (
    ("uid",),
    ("mountPath",),
    ("containerPort", "protocol"),
    ("port", "protocol"),
    ("name",),
)

# Maps and lists that the server replaces as a whole: an addition by another client changes our
# field. Kubernetes API reference, "atomic" in x-kubernetes-map-type and x-kubernetes-list-type.
_ATOMIC = frozenset(
    {"egress", "ingress", "podSelector", "roleRef", "rules", "selector", "subjects"}
)

# Constants, because a union inside of a call is built at each call. A check against an abstract
# class takes ten times as long as one against `dict`.
_SCALARS: Final = (str, bool, int, float)
_MAPS: Final = (dict, Mapping)
_LISTS: Final = (list, tuple)


@dataclass(frozen=True, slots=True)
class Intent:
    """The fields of one object that we manage, and no others.

    `body` is a server-side apply configuration without ownership metadata: `runtime.apply.apply`
    adds it, so that the intents of two owners can be equal. The body is copied to its canonical
    form (`runtime.apply.canonical`, which also lists the exceptions), and must not be changed
    afterwards. `keep` names fields whose empty value has a meaning, in addition to those for which
    that is always true.
    """

    resource: Resource
    body: Object
    keep: frozenset[str] = frozenset()
    outlives_owner: bool = False
    """The owner is recorded in an annotation only: no owner reference, so no garbage collection."""
    key: ObjectKey = field(init=False, repr=False, compare=False)
    """Namespace and name of the object."""
    _digest: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", normal(self.resource, self.body, self.keep))
        metadata = self.body["metadata"]
        key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
        object.__setattr__(self, "key", key)

    @property
    def digest(self) -> str:
        """The hash of the body, independent of the order of its keys; computed once."""
        if not self._digest:
            object.__setattr__(self, "_digest", digest(self.body))
        return self._digest

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key}"


def digest(value: Any) -> str:
    """Return a hash of `value` as 32 hex digits, independent of the order of its keys."""
    encoded = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def contains(live: Any, desired: Any) -> bool:
    """Whether every leaf of `desired` is in `live` with the same value.

    Defaults and fields of other managers in `live` are ignored, except in atomic fields. An empty
    list equals an absent one, because most kinds do not store it. If the server stores a value in
    another form than ours, this is false: the caller then applies once and stores the result
    instead of comparing again.
    """
    if isinstance(desired, _SCALARS):
        return bool(live == desired)
    if isinstance(desired, _LISTS):
        return isinstance(live, list) and _list_contains(live, desired)
    if isinstance(desired, _MAPS):
        return isinstance(live, _MAPS) and all(
            (_equal if key in _ATOMIC else contains)(live[key], value)
            if key in live
            else value == []
            for key, value in desired.items()
        )
    return bool(live == desired)


def _equal(live: Any, desired: Any) -> bool:
    """Whether two values are equal as JSON; a tuple equals a list."""
    if isinstance(desired, _SCALARS):
        return bool(live == desired)
    if isinstance(desired, _LISTS):
        return (
            isinstance(live, list)
            and len(live) == len(desired)
            and all(_equal(have, want) for have, want in zip(live, desired, strict=True))
        )
    if isinstance(desired, _MAPS):
        return (
            isinstance(live, _MAPS)
            and live.keys() == desired.keys()
            and all(_equal(live[key], value) for key, value in desired.items())
        )
    return bool(live == desired)


def _list_contains(live: Sequence[Any], desired: Sequence[Any]) -> bool:
    keys = _merge_keys(desired)
    if keys is None:
        return len(live) == len(desired) and all(
            contains(have, want) for have, want in zip(live, desired, strict=True)
        )
    index = {tuple(item.get(k) for k in keys): item for item in live if isinstance(item, _MAPS)}
    return all(contains(index.get(tuple(item.get(k) for k in keys)), item) for item in desired)


def _merge_keys(items: Sequence[Any]) -> tuple[str, ...] | None:
    if not items or not all(isinstance(item, _MAPS) for item in items):
        return None
    for keys in _MERGE_KEYS:
        if all(key in item for item in items for key in keys):
            return keys
    return None
