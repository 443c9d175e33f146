"""Equal parts of objects, stored once: many objects that are nearly the same need little memory.

Standard library only. A transform of a Selection (runtime.cache.selection) for kinds of which a
fleet has thousands. Who shares may not change what it got, which is the rule of every store.
"""

from __future__ import annotations

from typing import Any, Final

from runtime.client.listing import Shape
from runtime.limits.nesting import LEVELS_MAX
from runtime.types import Object

REMEMBERED: Final = 5_000
"""Different parts that are remembered in order to store each of them once."""
_BY_IDENTITY: Final = frozenset({dict, list, str})


def sharing(fields: tuple[str, ...] = ("spec", "status"), remembered: int = REMEMBERED) -> Shape:
    """Make a transform by which equal values below these top-level fields share one object.

    Several selections may use the same one, and then share with each other. It changes its argument
    in place; what is nested too deep to be meant becomes None, as with
    runtime.limits.nesting.shallow.
    """
    pool: dict[Any, Any] = {}

    def share(obj: Object) -> Object:
        if len(pool) > remembered:
            pool.clear()
        for field in fields:
            if field in obj:
                obj[field] = _one(obj[field], pool, LEVELS_MAX)
        return obj

    return share


def _one(value: Any, pool: dict[Any, Any], levels: int) -> Any:
    """The one value that is equal to this one, from here on."""
    kind = value.__class__
    if kind is str:
        return pool.setdefault(value, value)
    if kind is not dict and kind is not list:
        return value
    if not levels:
        return None
    if kind is dict:
        for name, item in value.items():
            value[name] = _one(item, pool, levels - 1)
        return pool.setdefault((dict, *map(_mark, value.items())), value)
    value[:] = [_one(item, pool, levels - 1) for item in value]
    return pool.setdefault((list, *map(_name, value)), value)


def _name(value: Any) -> Any:
    """What tells shared values apart: parts and strings by identity, as their equals are the same.

    A remembered part keeps its members alive, so no other object gets its identity.
    """
    kind = value.__class__
    return id(value) if kind in _BY_IDENTITY else (kind, value)


def _mark(member: tuple[str, Any]) -> Any:
    return member[0], _name(member[1])
