"""The canonical form of an intent: equal intents are sent, hashed and compared as equal text.

Pure. Called by `runtime.apply.intent` when an intent is created. Source of the rules: an apply
without a change still costs a write if the server stores a value in another form than it was sent
(kubernetes/kubernetes 95460, 124050, 121404, 131175).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.quantity import canonical
from runtime.types import Object, Resource

MEANINGFUL = frozenset(
    {
        # A member of a union; its presence selects it.
        "emptyDir",
        # Selectors: an empty one selects everything, an absent one does not.
        "labelSelector",
        "namespaceSelector",
        "objectSelector",
        "podSelector",
        "selector",
        # Rules of a policy that allows nothing.
        "egress",
        "ingress",
        # "" is no class; an absent one is the default class.
        "storageClassName",
        # Required by most custom kinds.
        "spec",
    }
)
"""Fields whose empty value has a meaning. An intent may name more."""

# Maps with keys that users choose: an empty string in them is an ordinary value.
_FREE_MAPS = frozenset(
    {
        "annotations",
        "binaryData",
        "data",
        "labels",
        "matchLabels",
        "nodeSelector",
        "parameters",
        "volumeAttributes",
    }
)

# The fields of built-in kinds with quantities: maps and single values, with their parent field.
# Custom kinds declare quantities as strings, which the server stores unchanged.
_QUANTITY_MAPS = frozenset(
    {
        ("resources", "limits"),
        ("resources", "requests"),
        ("spec", "capacity"),
        ("spec", "hard"),
        ("spec", "overhead"),
        ("limits", "default"),
        ("limits", "defaultRequest"),
        ("limits", "max"),
        ("limits", "min"),
    }
)
_QUANTITIES = frozenset(
    {
        ("emptyDir", "sizeLimit"),
        ("resourceFieldRef", "divisor"),
        ("target", "averageValue"),
    }
)

Path = tuple[str, ...]
Scalar = str | int | float | bool
# Constants, because a union inside of a call is built at each call.
_LISTS: Final = (list, tuple)
_CAN_BE_EMPTY: Final = (dict, list, str)


def normal(resource: Resource, body: Mapping[str, Any], keep: frozenset[str]) -> Object:
    """Return a copy of an apply body in canonical form.

    Nulls are dropped. Empty maps, lists and strings are dropped from maps, unless MEANINGFUL or
    `keep` contains their field or they are values of a free map (labels, data); items of lists are
    kept. Quantities of built-in kinds become canonical, whole floats integers, tuples lists. Times
    and durations are kept unchanged.

    Raises ValueError for `stringData` (the server stores it as data, so it would be sent forever)
    and for an invalid quantity, and TypeError for values that JSON cannot encode; each names the
    field.
    """
    if resource.kind == "Secret" and "stringData" in body:
        raise ValueError("stringData: the server stores it as data; set data instead, in base64")
    form = _Form(MEANINGFUL | keep, quantities=_is_built_in(resource))
    return form.members(body, (), free=False)


def _is_built_in(resource: Resource) -> bool:
    return "." not in resource.group or resource.group.endswith(".k8s.io")


class _Form:
    """Traverses one body. A path consists of field names, without list indexes."""

    def __init__(self, meaningful: frozenset[str], *, quantities: bool) -> None:
        self._meaningful = meaningful
        self._quantities = quantities

    def members(self, value: Mapping[str, Any], path: Path, *, free: bool) -> Object:
        result: Object = {}
        for key, member in value.items():
            if member is None:
                continue
            inner = self._value(member, (*path, key), free=key in _FREE_MAPS)
            if free or key in self._meaningful or not _is_empty(inner):
                result[key] = inner
        return result

    def _value(self, value: Any, path: Path, *, free: bool = False) -> Any:
        # In the order of their cost: a check against an abstract class takes ten times as long.
        if isinstance(value, dict):
            return self.members(value, path, free=free)
        if isinstance(value, _LISTS):
            return [self._value(item, path) for item in value if item is not None]
        if not isinstance(value, Scalar):
            if isinstance(value, Mapping):
                return self.members(value, path, free=free)
            raise TypeError(f"{'.'.join(path)}: {type(value).__name__} is not a JSON value")
        if self._quantities and (path[-2:] in _QUANTITIES or path[-3:-1] in _QUANTITY_MAPS):
            return _quantity(value, path)
        return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_empty(value: Any) -> bool:
    return not value and isinstance(value, _CAN_BE_EMPTY)


def _quantity(value: Scalar, path: Path) -> str:
    try:
        return canonical(value)
    except ValueError as error:
        raise ValueError(f"{'.'.join(path)}: {error}") from error
