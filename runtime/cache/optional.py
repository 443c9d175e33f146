"""Optional kinds: mirrored while the API server serves them, dropped when it no longer does.

One watch per kind, of its CustomResourceDefinition by name, shows when the kind is added or
removed; nothing is polled. For each version that the program can write there is an informer from
the start, so that handlers and indexes are wired once; it sleeps until its version is served. No
start waits for any of this: a process whose rights do not cover these watches starts and works as
if the kinds were absent.

Used by the composition of an application; decides which informer is awake and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import structlog

from runtime.cache.cache import DisabledCache
from runtime.cache.optional_kind import UNKNOWN, KindAvailability, OptionalKind, offered
from runtime.cache.selection import Selection
from runtime.limits.object_size import Bounds
from runtime.types import Object, ObjectKey, Resource

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

DEFINITION = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)


OF_DEFINITIONS = Bounds(size=8 << 20, values=1_000_000)
"""Written by administrators, and an outline is all that is kept of one."""


class OfferHandler(Protocol):
    """The end of a source of events: it hears that an offer changed."""

    def on_add(self, obj: Object, initial: bool) -> None: ...


class Makes(Protocol):
    """Makes caches that sleep: runtime.cache.informers, runtime.cache.namespaced_cache, or a maker
    of mirrors.
    """

    def optional(self, selection: Selection, *, awake: bool = False) -> DisabledCache: ...


Defines = Callable[[Selection], DisabledCache]
"""Finds the cache that holds what is selected: the definition of one kind."""


def outline(definition: Object) -> Object:
    """Keep of a definition what tells its versions: the schemas are most of it by far."""
    spec = definition.get("spec") or {}
    versions = [
        {"name": one.get("name"), "served": bool(one.get("served"))}
        for one in spec.get("versions") or ()
    ]
    definition["spec"] = {"versions": versions}
    metadata = definition.get("metadata") or {}
    # kubectl keeps a whole copy of the definition here.
    metadata.pop("annotations", None)
    return definition


def definition_of(kind: OptionalKind) -> Selection:
    """Select the one definition of a kind; a right on that name alone is enough for the watch."""
    return Selection(
        DEFINITION,
        field_selector=f"metadata.name={kind.definition}",
        fields=("spec.versions", "status.conditions"),
        transform=outline,
        bounds=OF_DEFINITIONS,
    )


class OptionalKinds:
    """Which optional kinds there are, and a cache for each version of each of them.

    A source of events as well: a handler hears of each change of an offer as of an object that
    carries the name of the definition, and nothing else.
    """

    def __init__(
        self,
        caches: Makes,
        kinds: Sequence[OptionalKind],
        select: Callable[[Resource], Selection],
        definitions: Defines | None = None,
    ) -> None:
        self._definitions: dict[OptionalKind, DisabledCache] = {}
        self._caches: dict[Resource, DisabledCache] = {}
        self._handlers: tuple[OfferHandler, ...] = ()
        self._offers: Mapping[str, KindAvailability] = {kind.definition: UNKNOWN for kind in kinds}
        for kind in kinds:
            if definitions is None:
                definition = caches.optional(definition_of(kind), awake=True)
            else:
                definition = definitions(definition_of(kind))
            self._definitions[kind] = definition
            for resource in kind.resources:
                cache = self._caches[resource] = caches.optional(select(resource))
                cache.when_synced(partial(self._update, kind))
            definition.add_handler(_Follow(partial(self._update, kind)))
            definition.when_synced(partial(self._update, kind))

    @property
    def caches(self) -> Mapping[Resource, DisabledCache]:
        """The cache of every version of every kind, asleep or not."""
        return self._caches

    @property
    def offers(self) -> Mapping[str, KindAvailability]:
        """What is known at the moment, by name of the definition; another mapping per change."""
        return self._offers

    def add_handler(self, handler: OfferHandler) -> None:
        """Call the handler for every change of an offer from now on."""
        self._handlers = (*self._handlers, handler)

    async def wait_synced(self, timeout: float) -> None:  # noqa: ASYNC109 - of the Source protocol
        """Return at once: an optional kind need not exist."""

    def _update(self, kind: OptionalKind) -> None:
        """Wake and rest informers by what is offered now, and call the handlers after a change."""
        definition = self._definitions[kind]
        if not definition.synced:
            return
        versions = offered(definition.get(ObjectKey("", kind.definition)))
        usable = next((one for one in kind.resources if one.version in versions), None)
        for resource in kind.resources:
            if resource != usable:
                self._caches[resource].rest()
        if usable is not None:
            self._caches[usable].wake()
        reading = usable is not None and not self._caches[usable].synced
        self._note(kind, UNKNOWN if reading else KindAvailability(True, versions, usable))

    def _note(self, kind: OptionalKind, offer: KindAvailability) -> None:
        name = kind.definition
        if self._offers[name] == offer:
            return
        self._offers = {**self._offers, name: offer}
        if offer.known:
            version = offer.resource.version if offer.resource else ""
            log.info("optional kind", kind=name, served=list(offer.versions), used=version)
        for handler in self._handlers:
            handler.on_add({"metadata": {"name": name}}, False)


class _Follow:
    """Calls back for whatever happens to a definition."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change

    def on_add(self, obj: Object, initial: bool) -> None:
        self._on_change()

    def on_update(self, old: Object, new: Object) -> None:
        self._on_change()

    def on_delete(self, obj: Object) -> None:
        self._on_change()

    def on_resync(self, obj: Object) -> None:
        """Nothing happened."""
