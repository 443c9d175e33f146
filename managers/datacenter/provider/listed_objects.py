"""A cache of the result of one list request, for kinds without an informer.

Used by managers.datacenter.provider.other_kinds, for the duration of one call.
"""

from __future__ import annotations

from collections.abc import Iterable

from runtime.cache.store import IndexFunction
from runtime.cache.stored import EventHandler
from runtime.types import Object, ObjectKey, key_of

Objects = list[Object]


class ListedObjects:
    """A runtime.cache.cache.Cache without a watch."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._objects = {key_of(obj): obj for obj in objects}

    def get(self, key: ObjectKey) -> Object | None:
        """Return an object; None if it is not in the list."""
        return self._objects.get(key)

    def list(self, namespace: str | None = None) -> Objects:
        """Return all objects, or those of a namespace."""
        return [obj for key, obj in self._objects.items() if namespace in (None, key.namespace)]

    def by_index(self, name: str, value: str) -> Objects:
        """Return nothing: there are no indexes."""
        return []

    def add_index(self, name: str, fn: IndexFunction) -> None:
        """Do nothing: there are no indexes."""

    def add_handler(self, handler: EventHandler, /) -> object:
        """Do nothing: without a watch there are no events."""
        return None

    def observe(self, obj: Object) -> None:
        """Store the response of a write."""
        self._objects[key_of(obj)] = obj

    def may_hide(self, key: ObjectKey) -> bool:
        """Return True: the list selects by labels."""
        return True

    def invalidate(self, key: ObjectKey) -> None:
        """Remove an object."""
        self._objects.pop(key, None)

    async def wait_synced(self, timeout: float, /) -> object:  # noqa: ASYNC109 - as Informer has it
        """Return immediately: the list is complete."""
        return None
