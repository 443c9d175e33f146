"""Caches over some namespaces: one informer per kind and namespace, shown as one cache per kind.

For clients that may list and watch within namespaces but not over all of them. Namespaces join and
leave while it runs. No start waits for one: it need not exist yet, its rights may come late, and it
may be removed without effect on the others. So check `ready` before a decision by its content.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import structlog

from runtime.cache.informer import EventHandler
from runtime.cache.informers import InformerSet, OptionalInformer
from runtime.cache.selection import Selection
from runtime.cache.store import IndexFunction
from runtime.types import Object, ObjectKey, key_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

Objects = list[Object]


class NamespaceHandler(Protocol):
    """The end of a source of events: it hears that a namespace can be read now."""

    def on_add(self, obj: Object, initial: bool) -> None: ...


class NamespaceUnion:
    """One kind in all joined namespaces; see runtime.cache.cache for what the methods mean."""

    def __init__(
        self,
        informers: InformerSet,
        selection: Selection,
        on_change: Callable[[str], None],
        *,
        awake: bool,
    ) -> None:
        self.selection = selection
        self._informers = informers
        self._on_change = on_change
        self._awake = awake
        self._members: dict[str, OptionalInformer] = {}
        self._indexes: dict[str, IndexFunction] = {}
        self._handlers: list[EventHandler] = []
        self._when_synced: list[Callable[[], None]] = []

    def get(self, key: ObjectKey) -> Object | None:
        """The object as last seen, read-only."""
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
        """Make by_index(name, value) answer, in namespaces that join later too."""
        for member in self._members.values():
            member.add_index(name, fn)
        self._indexes[name] = fn

    def add_handler(self, handler: EventHandler, /) -> None:
        """Call handler for every change from now on, after an initial add for all that is here."""
        self._handlers.append(handler)
        for member in self._members.values():
            member.add_handler(handler)

    def observe(self, obj: Object) -> None:
        """Take in the answer to a write of our own."""
        member = self._members.get(key_of(obj).namespace)
        if member is not None:
            member.observe(obj)

    def may_hide(self, key: ObjectKey) -> bool:
        """Whether an object may exist that is not in here: always, for it need not be selected."""
        return True

    def doubt(self, key: ObjectKey) -> None:
        """Nothing to do: the watches tell what is true."""

    async def wait_synced(self, timeout: float, /) -> None:  # noqa: ASYNC109 - of the protocol
        """Return at once: no namespace is waited for."""

    @property
    def synced(self) -> bool:
        """Whether every namespace that has joined can be read: one that cannot counts as empty."""
        return True

    def when_synced(self, call: Callable[[], None]) -> None:
        """Call it each time that a namespace can be read."""
        self._when_synced.append(call)

    def is_ready(self, namespace: str) -> bool:
        """Whether all of that namespace is in here; a kind that sleeps lacks nothing."""
        member = self._members.get(namespace)
        return member is not None and (member.synced or not self._awake)

    def join(self, namespace: str) -> None:
        """Read that namespace too; a second call does nothing."""
        if namespace in self._members:
            return
        chosen = replace(self.selection, namespace=namespace)
        member = self._informers.optional(chosen, awake=self._awake, coming=False)
        self._members[namespace] = member
        for name, function in self._indexes.items():
            member.add_index(name, function)
        for handler in self._handlers:
            member.add_handler(handler)
        member.when_synced(lambda: self._now_ready(namespace))

    def leave(self, namespace: str) -> None:
        """Read that namespace no longer; handlers hear that its objects are gone."""
        member = self._members.pop(namespace, None)
        if member is not None:
            self._informers.remove(member)

    def wake(self) -> None:
        """Begin to read."""
        self._awake = True
        for member in self._members.values():
            self._informers.wake(member)

    def rest(self) -> None:
        """Stop reading, and forget all objects."""
        self._awake = False
        for member in self._members.values():
            self._informers.rest(member)

    def _now_ready(self, namespace: str) -> None:
        for call in self._when_synced:
            call()
        self._on_change(namespace)


class NamespaceSet:
    """All unions of a process, over the same namespaces.

    A source of events as well: a handler hears of each namespace that has become readable, as of an
    object of that name; again when a kind that slept there has been read too.
    """

    def __init__(self, informers: InformerSet) -> None:
        self._informers = informers
        self._unions: list[NamespaceUnion] = []
        self._namespaces: dict[str, None] = {}
        self._handlers: tuple[NamespaceHandler, ...] = ()

    def optional(self, selection: Selection, *, awake: bool = False) -> NamespaceUnion:
        """Make the cache of one kind; it sleeps until it is woken, unless it is `awake`."""
        union = NamespaceUnion(self._informers, selection, self._update, awake=awake)
        self._unions.append(union)
        for namespace in self._namespaces:
            union.join(namespace)
        return union

    def join(self, namespace: str) -> None:
        """Read that namespace too, in every kind."""
        if namespace in self._namespaces:
            return
        self._namespaces[namespace] = None
        for union in self._unions:
            union.join(namespace)
        log.info("namespace joined", namespace=namespace)

    def leave(self, namespace: str) -> None:
        """Read that namespace no longer."""
        with contextlib.suppress(KeyError):
            del self._namespaces[namespace]
            log.info("namespace left", namespace=namespace)
        for union in self._unions:
            union.leave(namespace)

    def joined(self) -> tuple[str, ...]:
        """The namespaces that are read, or tried."""
        return tuple(self._namespaces)

    def is_ready(self, namespace: str) -> bool:
        """Whether what is here of a namespace is complete."""
        return namespace in self._namespaces and all(
            union.is_ready(namespace) for union in self._unions
        )

    def add_handler(self, handler: NamespaceHandler) -> None:
        """Call the handler for each namespace that becomes readable from now on."""
        self._handlers = (*self._handlers, handler)

    async def wait_synced(self, timeout: float) -> None:  # noqa: ASYNC109 - of the Source protocol
        """Return at once: no namespace is waited for."""

    def _update(self, namespace: str) -> None:
        if not self.is_ready(namespace):
            return
        for handler in self._handlers:
            handler.on_add({"metadata": {"name": namespace}}, False)
