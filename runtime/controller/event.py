"""The events of a source, and predicates that filter them.

Pure. runtime.controller.controller creates an Event for each call of an informer;
runtime.controller.handler maps it to requests. All predicates of a source must accept it; `any_of`
is the alternative. The names and the semantics are those of controller-runtime (pkg/predicate).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from runtime.types import Object, annotations_of, is_terminating, labels_of, resource_version_of


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one object.

    `object` is the state after the change, for a delete the last known one; `old` the state before
    an update, else None. `initial` marks the adds of objects that existed before the informer or
    the handler started; `resync` the updates of the periodic replay of the store, without an event
    of the server.
    """

    type: Literal["add", "update", "delete"]
    object: Object
    old: Object | None = None
    initial: bool = False
    resync: bool = False

    @property
    def is_change(self) -> bool:
        """False for replays: initial adds, resyncs, updates to the same version."""
        return not (self.initial or self.resync) and resource_version_changed(self)


Predicate = Callable[[Event], bool]
"""True accepts the event. Most predicates filter only updates and accept the rest."""


def generation_changed(event: Event) -> bool:
    """Drops updates that do not change metadata.generation: status, labels, annotations.

    The server increments the generation for every change of spec and when a deletion begins. All
    updates of kinds without one (ConfigMap, Secret, ServiceAccount, RBAC) are dropped.
    """
    return event.old is None or _meta(event.old, "generation") != _meta(event.object, "generation")


def labels_or_annotations_changed(event: Event) -> bool:
    """Drops updates that change neither labels nor annotations."""
    return (
        event.old is None
        or labels_of(event.old) != labels_of(event.object)
        or annotations_of(event.old) != annotations_of(event.object)
    )


def finalizers_changed(event: Event) -> bool:
    """Drops updates that do not change the finalizers, which do not change the generation."""
    return event.old is None or _meta(event.old, "finalizers") != _meta(event.object, "finalizers")


def changed_outside_status(event: Event) -> bool:
    """Drops updates that change only the status, also of kinds without a generation."""
    return event.old is None or _without_status(event.old) != _without_status(event.object)


def finalizer_lost(name: str) -> Predicate:
    """Return a predicate that drops all updates except those that remove this finalizer."""

    def lost(event: Event) -> bool:
        if event.old is None:
            return True
        before, after = (_meta(obj, "finalizers") or () for obj in (event.old, event.object))
        return name in before and name not in after

    return lost


def resource_version_changed(event: Event) -> bool:
    """Drops updates to the same version, as from a new list after a broken watch."""
    return event.old is None or resource_version_of(event.old) != resource_version_of(event.object)


def resynced(event: Event) -> bool:
    """Drops everything but resyncs, which all predicates above drop; for use in `any_of`."""
    return event.resync


def terminating(event: Event) -> bool:
    """Drops all events of objects that are not being deleted."""
    return is_terminating(event.object)


def any_of(*predicates: Predicate) -> Predicate:
    """Accepts an event that any of the predicates accepts."""

    def passes(event: Event) -> bool:
        return any(predicate(event) for predicate in predicates)

    return passes


def _without_status(obj: Object) -> dict[str, Any]:
    metadata = {**obj["metadata"]}
    metadata.pop("resourceVersion", None)
    metadata.pop("managedFields", None)
    return {name: value for name, value in obj.items() if name != "status"} | {"metadata": metadata}


def _meta(obj: Object, field: str) -> Any:
    return (obj.get("metadata") or {}).get(field)
