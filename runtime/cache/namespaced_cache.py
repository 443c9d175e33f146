"""Caches over some namespaces: one informer per kind and namespace, combined to one cache per kind.

For clients that may list and watch in some namespaces only. Namespaces are added and removed while
it runs. The start of the process waits for none: a namespace may not exist yet, its rights may be
granted later, and it may be removed without effect on the others. Check `is_ready` before a
decision that depends on the content.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import structlog

from runtime.cache.informers import InformerSet, OptionalInformer
from runtime.cache.selection import Selection
from runtime.cache.store import IndexFunction
from runtime.cache.stored import EventHandler
from runtime.types import Object, ObjectKey, key_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

Objects = list[Object]


class NamespaceHandler(Protocol):
    """A handler that is called when a namespace becomes readable."""

    def on_add(self, obj: Object, initial: bool) -> None: ...


class NamespaceUnion:
    """One kind in all joined namespaces; runtime.cache.cache describes the methods."""

    def __init__(
        self,
        informers: InformerSet,
        selection: Selection,
        on_change: Callable[[str], None],
        *,
        enabled: bool,
    ) -> None:
        self.selection = selection
        self._informers = informers
        self._on_change = on_change
        self._enabled = enabled
        self._members: dict[str, OptionalInformer] = {}
        self._indexes: dict[str, IndexFunction] = {}
        self._handlers: list[EventHandler] = []
        self._when_synced: list[Callable[[], None]] = []

    def get(self, key: ObjectKey) -> Object | None:
        """The cached object, read-only."""
        member = self._members.get(key.namespace)
        return None if member is None else member.get(key)

    def list(self, namespace: str | None = None) -> Objects:
        """All objects, or those of one namespace."""
        if namespace is not None:
            member = self._members.get(namespace)
            return [] if member is None else member.list()
        return [obj for member in self._members.values() for obj in member.list()]

    def by_index(self, name: str, value: str) -> Objects:
        """The objects for which the index function yields value; KeyError without that index."""
        if name not in self._indexes:
            raise KeyError(name)
        return [obj for member in self._members.values() for obj in member.by_index(name, value)]

    def add_index(self, name: str, fn: IndexFunction) -> None:
        """Add the index of by_index(name, value), also in namespaces that join later."""
        for member in self._members.values():
            member.add_index(name, fn)
        self._indexes[name] = fn

    def add_handler(self, handler: EventHandler, /) -> None:
        """Call handler for every later change, after an initial add for each cached object."""
        self._handlers.append(handler)
        for member in self._members.values():
            member.add_handler(handler)

    def observe(self, obj: Object) -> None:
        """Store the response to a write of our own."""
        member = self._members.get(key_of(obj).namespace)
        if member is not None:
            member.observe(obj)

    def may_hide(self, key: ObjectKey) -> bool:
        """Always true: an object that is not in the cache may exist without being selected."""
        return True

    def invalidate(self, key: ObjectKey) -> None:
        """Nothing to do: the watches correct the state."""

    async def wait_synced(self, timeout: float, /) -> None:  # noqa: ASYNC109 - of the protocol
        """Return immediately: the start does not wait for namespaces."""

    @property
    def synced(self) -> bool:
        """Always true: a namespace that cannot be read is treated as empty."""
        return True

    def when_synced(self, call: Callable[[], None]) -> None:
        """Call `call` each time a namespace becomes readable."""
        self._when_synced.append(call)

    def is_ready(self, namespace: str) -> bool:
        """Whether the namespace is complete; for a kind that is not read it always is."""
        member = self._members.get(namespace)
        return member is not None and (member.synced or not self._enabled)

    def join(self, namespace: str) -> None:
        """Start to read that namespace; a second call does nothing."""
        if namespace in self._members:
            return
        chosen = replace(self.selection, namespace=namespace)
        member = self._informers.optional(chosen, enabled=self._enabled, kind_exists=False)
        self._members[namespace] = member
        for name, function in self._indexes.items():
            member.add_index(name, function)
        for handler in self._handlers:
            member.add_handler(handler)
        member.when_synced(lambda: self._report_ready(namespace))

    def leave(self, namespace: str) -> None:
        """Stop reading that namespace; handlers get deletes of its objects."""
        member = self._members.pop(namespace, None)
        if member is not None:
            self._informers.remove(member)

    def enable(self) -> None:
        """Start to read."""
        self._enabled = True
        for member in self._members.values():
            self._informers.enable(member)

    def disable(self) -> None:
        """Stop reading and drop all objects."""
        self._enabled = False
        for member in self._members.values():
            self._informers.disable(member)

    def _report_ready(self, namespace: str) -> None:
        for call in self._when_synced:
            call()
        self._on_change(namespace)


class NamespaceSet:
    """All unions of a process, over the same namespaces.

    Also a source of events: a handler gets an add of an object with the name of each namespace that
    becomes readable, and again after a further kind was read there.
    """

    def __init__(self, informers: InformerSet) -> None:
        self._informers = informers
        self._unions: list[NamespaceUnion] = []
        self._namespaces: dict[str, None] = {}
        self._handlers: tuple[NamespaceHandler, ...] = ()

    def optional(self, selection: Selection, *, enabled: bool = False) -> NamespaceUnion:
        """Create the cache of one kind, which reads only while it is enabled."""
        union = NamespaceUnion(self._informers, selection, self._update, enabled=enabled)
        self._unions.append(union)
        for namespace in self._namespaces:
            union.join(namespace)
        return union

    def join(self, namespace: str) -> None:
        """Start to read that namespace, for every kind."""
        if namespace in self._namespaces:
            return
        self._namespaces[namespace] = None
        for union in self._unions:
            union.join(namespace)
        log.info("namespace joined", namespace=namespace)

    def leave(self, namespace: str) -> None:
        """Stop reading that namespace."""
        with contextlib.suppress(KeyError):
            del self._namespaces[namespace]
            log.info("namespace left", namespace=namespace)
        for union in self._unions:
            union.leave(namespace)

    def joined(self) -> tuple[str, ...]:
        """The joined namespaces, readable or not."""
        return tuple(self._namespaces)

    def is_ready(self, namespace: str) -> bool:
        """Whether the content of a namespace is complete."""
        return namespace in self._namespaces and all(
            union.is_ready(namespace) for union in self._unions
        )

    def add_handler(self, handler: NamespaceHandler) -> None:
        """Call the handler for each namespace that becomes readable later."""
        self._handlers = (*self._handlers, handler)

    async def wait_synced(self, timeout: float) -> None:  # noqa: ASYNC109 - of the Source protocol
        """Return immediately: the start does not wait for namespaces."""

    def _update(self, namespace: str) -> None:
        if not self.is_ready(namespace):
            return
        for handler in self._handlers:
            handler.on_add({"metadata": {"name": namespace}}, False)
