"""Base of the caches with a store: reads, indexes, handlers, and the number of objects.

Informer fills its store by list and watch, PolledMirror by reads.

Contract for handlers: they are synchronous, get changes in order, after the store has changed, and
must not raise. Objects passed to them and returned from here are read-only.
"""

from typing import Protocol

from runtime.cache.selection import Selection
from runtime.cache.store import IndexFunction, Store, StoreChange
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey

Objects = list[Object]


class EventHandler(Protocol):
    """Receives the changes of a cache; the module docstring has the contract."""

    def on_add(self, obj: Object, initial: bool) -> None:
        """An object was added; initial if it is part of the first list or of a replay."""
        ...

    def on_update(self, old: Object, new: Object) -> None:
        """An object changed; both states have the same uid and different versions."""
        ...

    def on_delete(self, obj: Object) -> None:
        """An object was deleted, or is no longer selected; obj is its last known state.

        After an interruption that state can be older than the real last one. The store may already
        contain a new object of the same name.
        """
        ...

    def on_resync(self, obj: Object) -> None:
        """Periodic replay of an object in the store, without a change."""
        ...


class StoredObjects:
    """A store of the objects of one selection, and its handlers."""

    def __init__(self, selection: Selection, metrics: Metrics) -> None:
        self.selection = selection
        self._reduce = selection.reducer()
        self._store = Store()
        # A new tuple for each new handler: a change goes only to the handlers that existed then.
        self._handlers: tuple[EventHandler, ...] = ()
        self._reported_count = 0
        self._gauge = metrics.informer_objects.labels(resource=selection.resource.plural)

    def get(self, key: ObjectKey) -> Object | None:
        """The cached object, read-only."""
        return self._store.get(key)

    def list(self, namespace: str | None = None) -> Objects:
        """All objects, or those of one namespace, read-only."""
        return self._store.select(namespace)

    def by_index(self, name: str, value: str) -> Objects:
        """The objects for which the index function yields value; KeyError without that index."""
        return self._store.by_index(name, value)

    def add_index(self, name: str, fn: IndexFunction) -> None:
        """Add the index of by_index(name, value), at any time; the same function may be added
        twice."""
        self._store.add_index(name, fn)

    def add_handler(self, handler: EventHandler, /) -> None:
        """Call handler for every later change, after an initial add for each cached object."""
        for obj in self._store.select():
            handler.on_add(obj, initial=True)
        self._handlers = (*self._handlers, handler)

    def _update_count(self) -> None:
        """Report the size of the store after a change.

        All caches of this resource share the gauge: each adds its own count.
        """
        self._gauge.inc(len(self._store) - self._reported_count)
        self._reported_count = len(self._store)


def dispatch(handler: EventHandler, change: StoreChange, initial: bool) -> None:
    """Call the method of a handler for a change of a store."""
    if change.new is None:
        if change.old is not None:
            handler.on_delete(change.old)
    elif change.old is None:
        handler.on_add(change.new, initial)
    else:
        handler.on_update(change.old, change.new)
