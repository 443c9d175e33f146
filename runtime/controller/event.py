"""What an informer tells a controller, and the predicates that find it uninteresting.

Pure. runtime.controller.controller makes an Event of each call of an informer;
runtime.controller.handler turns it into requests. Predicates are ANDed per source; `any_of` gives
the OR. The names and the semantics are those of controller-runtime (pkg/predicate).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from runtime.types import Object, annotations_of, is_terminating, labels_of, resource_version_of


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one object.

    `object` is the state after the change, for a delete the last one known; `old` the state
    before an update, None otherwise. `initial` marks the adds that replay what was there before
    the informer or the handler started; `resync` the updates from an object to itself that replay
    the store periodically, without an event of the server.
    """

    type: Literal["add", "update", "delete"]
    object: Object
    old: Object | None = None
    initial: bool = False
    resync: bool = False

    @property
    def is_news(self) -> bool:
        """False for what only repeats: initial adds, resyncs, updates to the same version."""
        return not (self.initial or self.resync) and resource_version_changed(self)


Predicate = Callable[[Event], bool]
"""True accepts the event. Most predicates judge updates only and accept the rest."""


def generation_changed(event: Event) -> bool:
    """Drops updates that leave metadata.generation alone: status writes, labels, annotations.

    The server bumps the generation for every change of spec and when a deletion begins. Kinds
    without one (ConfigMap, Secret, ServiceAccount, RBAC) lose all their updates here.
    """
    return event.old is None or _meta(event.old, "generation") != _meta(event.object, "generation")


def labels_or_annotations_changed(event: Event) -> bool:
    """Drops updates that leave both labels and annotations alone."""
    return (
        event.old is None
        or labels_of(event.old) != labels_of(event.object)
        or annotations_of(event.old) != annotations_of(event.object)
    )


def finalizers_changed(event: Event) -> bool:
    """Drops updates that leave the finalizers alone; they do not count for the generation."""
    return event.old is None or _meta(event.old, "finalizers") != _meta(event.object, "finalizers")


def finalizer_lost(name: str) -> Predicate:
    """Make a predicate that drops updates but those that take this finalizer off."""

    def lost(event: Event) -> bool:
        if event.old is None:
            return True
        before, after = (_meta(obj, "finalizers") or () for obj in (event.old, event.object))
        return name in before and name not in after

    return lost


def resource_version_changed(event: Event) -> bool:
    """Drops updates that replay a version we have seen, as a new list after a broken watch does."""
    return event.old is None or resource_version_of(event.old) != resource_version_of(event.object)


def resynced(event: Event) -> bool:
    """Drops everything but resyncs, which the predicates above all drop; for use in `any_of`."""
    return event.resync


def terminating(event: Event) -> bool:
    """Drops all events of objects that are not being deleted."""
    return is_terminating(event.object)


def any_of(*predicates: Predicate) -> Predicate:
    """Accepts what any of the predicates accepts."""

    def passes(event: Event) -> bool:
        return any(predicate(event) for predicate in predicates)

    return passes


def _meta(obj: Object, field: str) -> Any:
    return (obj.get("metadata") or {}).get(field)
