"""Stores equal parts of objects once, so that many similar objects need little memory.

Standard library only. A transform of a Selection (runtime.cache.selection) for kinds with many
objects. As in every store, the objects must not be changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from runtime.client.listing import Shape
from runtime.limits.nesting import LEVELS_MAX
from runtime.types import Object

BYTES_MAX: Final = 1 << 20
"""Maximum size of the pool, plus the parts of one object; about 4,000 parts of ordinary objects."""
_SCALAR_BYTES: Final = 100
"""Estimated memory of a text or a number in the pool, in addition to its characters."""
_PART_BYTES: Final = 200
"""Estimated memory of a map or list in the pool, in addition to its members."""
_MEMBER_BYTES: Final = 24


def sharing(bytes_max: int = BYTES_MAX) -> Shape:
    """Return a transform that replaces equal values of objects by one object.

    Several selections may share one transform, and then share the values. It changes its argument
    in place; values that are nested too deep become None, as with runtime.limits.nesting.shallow.
    Texts of the metadata are not shared: most of them are unique.
    """
    pool = _Pool()

    def share(obj: Object) -> Object:
        pool.drop_beyond(bytes_max)
        for name, value in obj.items():
            if name == "metadata":
                pool.share_parts(value)
            else:
                obj[name] = pool.shared(value, LEVELS_MAX)
        return obj

    return share


class _Pool:
    """Values by their content. The owners of the objects choose it, so the size is limited."""

    def __init__(self) -> None:
        self._size = 0
        self._parts: dict[Any, Any] = {}
        """Texts and integers by themselves; a map or list by the identity of its members.

        A part keeps its members alive, so no other object gets their ids.
        """

    def drop_beyond(self, size: int) -> None:
        """Drop all values if the pool is larger: the next objects share their own values."""
        if self._size > size:
            self._parts.clear()
            self._size = 0

    def share_parts(self, metadata: Any) -> None:
        """Share the maps and lists of the metadata."""
        if isinstance(metadata, dict):
            for name, value in metadata.items():
                if isinstance(value, dict | list):
                    metadata[name] = self.shared(value, LEVELS_MAX)

    def shared(self, value: Any, levels: int) -> Any:
        """Return the shared value that equals this one and has the same types."""
        kind = value.__class__
        if kind is str or kind is int:
            return self._scalar(value)
        if kind is not dict and kind is not list:
            # None and booleans exist once; numbers with a fraction are rare.
            return value
        if not levels:
            return None
        if kind is dict:
            self._share_members(value, value.items(), levels)
            key: tuple[Any, ...] = (dict, *value, *map(id, value.values()))
        else:
            self._share_members(value, enumerate(value), levels)
            key = (list, *map(id, value))
        part = self._parts.get(key)
        if part is None:
            self._size += _PART_BYTES + _MEMBER_BYTES * len(value)
            part = self._parts[key] = value
        return part

    def _share_members(self, of: Any, members: Iterable[tuple[Any, Any]], levels: int) -> None:
        find = self._parts.get
        for place, item in members:
            kind = item.__class__
            if kind is str or kind is int:
                # Most texts are in the pool: without a call for them this takes half of the time.
                part = find(item)
                of[place] = self._scalar(item) if part is None else part
            elif kind is dict or kind is list:
                of[place] = self.shared(item, levels - 1)

    def _scalar(self, value: str | int) -> str | int:
        part: str | int | None = self._parts.get(value)
        if part is None:
            self._size += _SCALAR_BYTES + (len(value) if isinstance(value, str) else 0)
            part = self._parts[value] = value
        return part
