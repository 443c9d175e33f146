"""Event handlers: map events to requests.

Pure. Passed to runtime.controller.controller.Controller.watch by baoctl.controllers. A request
contains only the name of the object, nothing of the event: reconciling is level based. The names
and the semantics are those of controller-runtime (pkg/handler).
"""

from collections.abc import Callable, Iterable

from runtime.controller.event import Event
from runtime.types import Object, Request, key_of

Handler = Callable[[Event], Iterable[Request]]
"""Synchronous, called in the event loop: it may read stores, but must not wait."""

MapFunction = Callable[[Object], Iterable[Request]]


def enqueue_object(event: Event) -> Iterable[Request]:
    """Enqueue the object itself."""
    return (key_of(event.object),)


def enqueue_owner(
    kind: str, group: str, *, namespaced: bool = True, controller_only: bool = True
) -> Handler:
    """Enqueue the controller owner of the object, if it is of that kind; or every owner of that
    kind.

    The version of the reference is ignored, so that a new API version of the owner loses no event.
    An update enqueues the old and the new owner. The uid is not compared: a recreated owner also
    gets the events of the children of its predecessor, which is harmless. `namespaced`: whether the
    owner is in the namespace of the object or cluster-scoped.
    """

    def owners(obj: Object) -> Iterable[Request]:
        namespace = key_of(obj).namespace if namespaced else ""
        return [
            Request(namespace, reference.get("name", ""))
            for reference in (obj.get("metadata") or {}).get("ownerReferences") or ()
            if reference.get("kind") == kind
            and _group(reference.get("apiVersion", "")) == group
            and (reference.get("controller") or not controller_only)
        ]

    return enqueue_mapped(owners)


def enqueue_mapped(function: MapFunction) -> Handler:
    """Enqueue the result of `function` for the object, on an update also for its old state; each
    request once."""

    def requests(event: Event) -> Iterable[Request]:
        states = (event.object,) if event.old is None else (event.old, event.object)
        return dict.fromkeys(request for state in states for request in function(state))

    return requests


def _group(api_version: str) -> str:
    group, slash, _ = api_version.partition("/")
    return group if slash else ""
