"""The interface of a cache: how readers and owned apply see objects, whatever fills it.

Three classes have this interface: an Informer (one selection, by list and watch), a NamespaceUnion
(one informer per namespace) and a PolledMirror (asked by name). Its readers work the same in every
mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runtime.cache.informer import EventHandler
from runtime.cache.store import IndexFunction, same_state
from runtime.types import Object, ObjectKey, key_of

Objects = list[Object]


class Lister(Protocol):
    """Objects of one kind, as last seen, read-only: what the listers of client-go offer."""

    def get(self, key: ObjectKey) -> Object | None:
        """The object as last seen."""
        ...

    def list(self, namespace: str | None = None) -> Objects:
        """All objects, or those of one namespace."""
        ...


class Cache(Lister, Protocol):
    """Objects of one kind that carry our labels, as last seen, read-only."""

    def by_index(self, name: str, value: str) -> Objects:
        """The objects for which the index function yields value; KeyError without that index."""
        ...

    def add_index(self, name: str, fn: IndexFunction) -> None:
        """Make by_index(name, value) answer; may come late, and again with the same function."""
        ...

    def add_handler(self, handler: EventHandler, /) -> object:
        """Call handler for every change from now on, after an initial add for all that is here."""
        ...

    def observe(self, obj: Object) -> None:
        """Take in the answer to a write of our own."""
        ...

    def may_hide(self, key: ObjectKey) -> bool:
        """Whether an object of a name that is not in here may exist all the same.

        True for what is selected by labels: such an object may lack them. False where the server
        has answered that there is none, and where it was not read: a write that may only create
        detects it, and calls `doubt`.
        """
        ...

    def doubt(self, key: ObjectKey) -> None:
        """The cached answer about this name is wrong: the next read asks the server."""
        ...

    async def wait_synced(self, timeout: float, /) -> object:  # noqa: ASYNC109 - as Informer has it
        """Return once it can be read."""
        ...


class DisabledCache(Cache, Protocol):
    """A cache of a kind that comes and goes."""

    @property
    def synced(self) -> bool:
        """Whether what it shows is complete."""
        ...

    def when_synced(self, call: Callable[[], None]) -> None:
        """Call it each time that the cache has become complete."""
        ...

    def wake(self) -> None:
        """The kind is there: begin to read."""
        ...

    def rest(self) -> None:
        """The kind is gone: stop reading, and forget all objects."""
        ...


def as_cached(cache: Cache, answer: Object) -> Object:
    """Take in the answer to a write, and return the copy of it that the cache keeps.

    The answer itself when the cache holds another version, or selects no such object.
    """
    cache.observe(answer)
    held = cache.get(key_of(answer))
    return held if held is not None and same_state(held, answer) else answer
