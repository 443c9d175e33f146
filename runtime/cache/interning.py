"""Stores equal parts of objects once, so that many similar objects need little memory.

Standard library only. A transform of a Selection (runtime.cache.selection) for kinds with thousands
of objects. As in every store, the objects must not be changed.
"""

from __future__ import annotations

from typing import Any, Final

from runtime.client.listing import Shape
from runtime.limits.nesting import LEVELS_MAX
from runtime.types import Object

REMEMBERED: Final = 5_000
"""Maximum number of distinct parts in the pool."""
_BY_IDENTITY: Final = frozenset({dict, list, str})


def sharing(fields: tuple[str, ...] = ("spec", "status"), remembered: int = REMEMBERED) -> Shape:
    """Return a transform that replaces equal values below these top-level fields by one object.

    Several selections may share one transform, and then share the values. It changes its argument
    in place; values that are nested too deep become None, as with runtime.limits.nesting.shallow.
    """
    pool: dict[Any, Any] = {}

    def share(obj: Object) -> Object:
        if len(pool) > remembered:
            pool.clear()
        for field in fields:
            if field in obj:
                obj[field] = _intern(obj[field], pool, LEVELS_MAX)
        return obj

    return share


def _intern(value: Any, pool: dict[Any, Any], levels: int) -> Any:
    """Return the shared value that equals this one."""
    kind = value.__class__
    if kind is str:
        return pool.setdefault(value, value)
    if kind is not dict and kind is not list:
        return value
    if not levels:
        return None
    if kind is dict:
        for name, item in value.items():
            value[name] = _intern(item, pool, levels - 1)
        return pool.setdefault((dict, *map(_mark, value.items())), value)
    value[:] = [_intern(item, pool, levels - 1) for item in value]
    return pool.setdefault((list, *map(_name, value)), value)


def _name(value: Any) -> Any:
    """Identify a shared value: parts and strings by identity, because equal ones are identical.

    A part in the pool keeps its members alive, so no other object gets their ids.
    """
    kind = value.__class__
    return id(value) if kind in _BY_IDENTITY else (kind, value)


def _mark(member: tuple[str, Any]) -> Any:
    return member[0], _name(member[1])
