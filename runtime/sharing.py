"""Equal parts of objects, stored once: many objects that are nearly the same need little memory.

Standard library only. A transform of a Selection (runtime.selection) for kinds of which a fleet has
thousands. Who shares may not change what it got, which is the rule of every store.
"""

from __future__ import annotations

from typing import Any, Final

from runtime.client import Shape
from runtime.types import Object

REMEMBERED: Final = 20_000
"""Different parts that are remembered in order to store each of them once."""
_BY_IDENTITY: Final = frozenset({dict, list, str})


def sharing(fields: tuple[str, ...] = ("spec",), remembered: int = REMEMBERED) -> Shape:
    """Make a transform that lets equal values below these top-level fields be one value.

    Several selections may use the same one, and then share with each other. It changes its argument
    in place; the parts must not be nested deeper than `runtime.depth.shallow` lets be.
    """
    known: dict[Any, Any] = {}

    def one(value: Any) -> Any:
        kind = value.__class__
        if kind is dict:
            for name, item in value.items():
                value[name] = one(item)
            return known.setdefault((dict, *map(_mark, value.items())), value)
        if kind is list:
            value[:] = map(one, value)
            return known.setdefault((list, *map(_name, value)), value)
        return known.setdefault(value, value) if kind is str else value

    def share(obj: Object) -> Object:
        if len(known) > remembered:
            known.clear()
        for field in fields:
            if field in obj:
                obj[field] = one(obj[field])
        return obj

    return share


def _name(value: Any) -> Any:
    """What tells shared values apart: parts and strings by identity, as their equals are the same.

    A part that is remembered keeps whatever it consists of, so nobody else gets its identity.
    """
    kind = value.__class__
    return id(value) if kind in _BY_IDENTITY else (kind, value)


def _mark(member: tuple[str, Any]) -> Any:
    return member[0], _name(member[1])
