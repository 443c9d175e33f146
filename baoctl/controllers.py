"""The table of watches: which objects wake which reconciler, and which of their changes matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from contracts import labels
from contracts.api.group import CLUSTER_KIND, GROUP
from runtime.controller import Controller
from runtime.event import (
    Event,
    any_of,
    finalizers_changed,
    generation_changed,
    labels_or_annotations_changed,
)
from runtime.handler import enqueue_mapped, enqueue_object, enqueue_owner
from runtime.informer import Informer
from runtime.resources import (
    CONFIG_MAP,
    NETWORK_POLICY,
    POD,
    POD_DISRUPTION_BUDGET,
    PVC,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
)
from runtime.types import Object, Request, Resource, key_of, labels_of

OWNED: tuple[Resource, ...] = (
    CONFIG_MAP,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
)
# What is watched by our label, and whether metadata is enough of it.
CHILDREN: tuple[tuple[Resource, bool], ...] = (
    *((resource, False) for resource in OWNED),
    (POD, False),
    (PVC, True),
)


def cluster_of(obj: Object) -> Iterable[Request]:
    """Map an object that carries our cluster label to its cluster."""
    cluster = labels_of(obj).get(labels.CLUSTER)
    return () if cluster is None else (Request(key_of(obj).namespace, cluster),)


def part_changed(*path: str) -> Callable[[Event], bool]:
    """Make a predicate that lets an update by when the value at `path` changed."""

    def changed(event: Event) -> bool:
        return event.old is None or _at(event.old, path) != _at(event.object, path)

    return changed


def _at(obj: Object, path: tuple[str, ...]) -> object:
    value: object = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def watch_workload(
    controller: Controller, clusters: Informer, children: Mapping[Resource, Informer]
) -> None:
    """Wake the workload reconciler.

    A status that somebody changed wakes it too, and so does a write of its own, once and for
    nothing: that is how a status that was edited by hand is repaired.
    """
    news = any_of(
        generation_changed,
        finalizers_changed,
        labels_or_annotations_changed,
        part_changed("status"),
    )
    controller.watch(clusters, enqueue_object, news)
    for resource in OWNED:
        controller.watch(children[resource], enqueue_owner(CLUSTER_KIND, GROUP))
    for resource in (POD, PVC):
        controller.watch(children[resource], enqueue_mapped(cluster_of))


def watch_adminops(
    controller: Controller, clusters: Informer, children: Mapping[Resource, Informer]
) -> None:
    """Wake the adminops reconciler: its spec, the end of its first boot, its pods."""
    news = any_of(
        generation_changed,
        part_changed("status", "initialized"),
        part_changed("status", "adminOps"),
    )
    controller.watch(clusters, enqueue_object, news)
    moved = any_of(
        labels_or_annotations_changed,
        part_changed("status", "conditions"),
    )
    controller.watch(children[POD], enqueue_mapped(cluster_of), moved)
