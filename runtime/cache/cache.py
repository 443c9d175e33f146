"""The interface of all caches, for readers and owned apply.

Three classes implement it: Informer (one selection, by list and watch), NamespaceUnion (one
informer per namespace) and PolledMirror (reads by name). Readers are the same in every mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runtime.cache.store import IndexFunction, same_state
from runtime.cache.stored import EventHandler
from runtime.types import Object, ObjectKey, key_of

Objects = list[Object]


class Lister(Protocol):
    """Cached objects of one kind, read-only: the counterpart of the listers of client-go."""

    def get(self, key: ObjectKey) -> Object | None:
        """The cached object."""
        ...

    def list(self, namespace: str | None = None) -> Objects:
        """All objects, or those of one namespace."""
        ...


class Cache(Lister, Protocol):
    """Cached objects of one kind with our labels, read-only."""

    def by_index(self, name: str, value: str) -> Objects:
        """The objects for which the index function yields value; KeyError without that index."""
        ...

    def add_index(self, name: str, fn: IndexFunction) -> None:
        """Add the index of by_index(name, value), at any time; the same function may be added
        twice."""
        ...

    def add_handler(self, handler: EventHandler, /) -> object:
        """Call handler for every later change, after an initial add for each cached object."""
        ...

    def observe(self, obj: Object) -> None:
        """Store the response to a write of our own."""
        ...

    def may_hide(self, key: ObjectKey) -> bool:
        """Whether an object that is not in the cache may exist.

        True for a selection by labels: the object may lack them. False if the server responded
        NotFound, and if the object was not read: a create-only write detects it and calls
        `invalidate`.
        """
        ...

    def invalidate(self, key: ObjectKey) -> None:
        """The cached state of this name may be wrong: the next read queries the server."""
        ...

    async def wait_synced(self, timeout: float, /) -> object:  # noqa: ASYNC109 - as Informer has it
        """Return once the cache can be read."""
        ...


class OptionalCache(Cache, Protocol):
    """A cache of an optional kind: it reads only while it is enabled."""

    @property
    def synced(self) -> bool:
        """Whether the content is complete."""
        ...

    def when_synced(self, call: Callable[[], None]) -> None:
        """Call `call` each time the cache becomes complete."""
        ...

    def enable(self) -> None:
        """The kind is available: start to read."""
        ...

    def disable(self) -> None:
        """The kind was removed: stop reading and drop all objects."""
        ...


def as_cached(cache: Cache, answer: Object) -> Object:
    """Store the response to a write, and return the cached copy of it.

    Returns the response itself if the cache has another version, or does not select the object.
    """
    cache.observe(answer)
    cached = cache.get(key_of(answer))
    return cached if cached is not None and same_state(cached, answer) else answer
