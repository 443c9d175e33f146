"""Optional kinds: mirrored while the API server serves them, dropped when it no longer does.

One watch per kind, of its CustomResourceDefinition by name, detects when the kind is added or
removed; nothing is polled. Each version that the program can write has an informer from the start,
so that handlers and indexes are added once; it runs only while its version is served. The start of
the process does not wait for any of this: without the rights for these watches it starts and works
as if the kinds were absent.

Used by the composition of an application; only decides which informers run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import structlog

from runtime.cache.cache import OptionalCache
from runtime.cache.optional_kind import UNKNOWN, KindAvailability, OptionalKind, served_versions
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
"""Administrators write definitions, and only an outline of each is kept."""


class OfferHandler(Protocol):
    """A handler that is called when the availability of a kind changes."""

    def on_add(self, obj: Object, initial: bool) -> None: ...


class CacheFactory(Protocol):
    """Creates caches that can be disabled: runtime.cache.informers, runtime.cache.namespaced_cache,
    or a factory of polled mirrors.
    """

    def optional(self, selection: Selection, *, enabled: bool = False) -> OptionalCache: ...


FindDefinition = Callable[[Selection], OptionalCache]
"""Returns the cache of a selection: the definition of one kind."""


def outline(definition: Object) -> Object:
    """Keep only the versions of a definition: most of its size are the schemas."""
    spec = definition.get("spec") or {}
    versions = [
        {"name": version.get("name"), "served": bool(version.get("served"))}
        for version in spec.get("versions") or ()
    ]
    definition["spec"] = {"versions": versions}
    metadata = definition.get("metadata") or {}
    # kubectl stores a copy of the definition here.
    metadata.pop("annotations", None)
    return definition


def definition_of(kind: OptionalKind) -> Selection:
    """Select the definition of a kind; the watch only needs a right on that name."""
    return Selection(
        DEFINITION,
        field_selector=f"metadata.name={kind.definition}",
        fields=("spec.versions", "status.conditions"),
        transform=outline,
        bounds=OF_DEFINITIONS,
    )


class OptionalKinds:
    """The availability of the optional kinds, and a cache for each version of each of them.

    Also a source of events: for each change a handler gets an add of an object with only the name
    of the definition.
    """

    def __init__(
        self,
        caches: CacheFactory,
        kinds: Sequence[OptionalKind],
        select: Callable[[Resource], Selection],
        definitions: FindDefinition | None = None,
    ) -> None:
        self._definitions: dict[OptionalKind, OptionalCache] = {}
        self._caches: dict[Resource, OptionalCache] = {}
        self._handlers: tuple[OfferHandler, ...] = ()
        self._offers: Mapping[str, KindAvailability] = {kind.definition: UNKNOWN for kind in kinds}
        for kind in kinds:
            if definitions is None:
                definition = caches.optional(definition_of(kind), enabled=True)
            else:
                definition = definitions(definition_of(kind))
            self._definitions[kind] = definition
            for resource in kind.resources:
                cache = self._caches[resource] = caches.optional(select(resource))
                cache.when_synced(partial(self._update, kind))
            definition.add_handler(_Follow(partial(self._update, kind)))
            definition.when_synced(partial(self._update, kind))

    @property
    def caches(self) -> Mapping[Resource, OptionalCache]:
        """The cache of every version of every kind, running or not."""
        return self._caches

    @property
    def offers(self) -> Mapping[str, KindAvailability]:
        """The current availability, by name of the definition; a new mapping after each change."""
        return self._offers

    def add_handler(self, handler: OfferHandler) -> None:
        """Call the handler for every later change of availability."""
        self._handlers = (*self._handlers, handler)

    async def wait_synced(self, timeout: float) -> None:  # noqa: ASYNC109 - of the Source protocol
        """Return immediately: an optional kind need not exist."""

    def _update(self, kind: OptionalKind) -> None:
        """Start and stop informers by the served versions, and call the handlers after a change."""
        definition = self._definitions[kind]
        if not definition.synced:
            return
        versions = served_versions(definition.get(ObjectKey("", kind.definition)))
        usable = next(
            (candidate for candidate in kind.resources if candidate.version in versions), None
        )
        for resource in kind.resources:
            if resource != usable:
                self._caches[resource].disable()
        if usable is not None:
            self._caches[usable].enable()
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
    """Calls a function for each change of a definition."""

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
