"""The watches of the workload and adminops controllers, and their predicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from contracts.api.group import CLUSTER_KIND, GROUP
from contracts.naming import labels
from contracts.optional_kinds import SERVICE_MONITOR
from contracts.owned_kinds import OWNED
from managers.cluster.observe.relevant_changes import relevant_changes, server_changed
from managers.tenancy.gate import target_of
from runtime.builtin_kinds import POD, PVC
from runtime.cache.cache import Cache
from runtime.cache.optional import OptionalKinds
from runtime.controller.controller import Controller, EventSource
from runtime.controller.event import (
    Event,
    any_of,
    finalizers_changed,
    generation_changed,
    labels_or_annotations_changed,
)
from runtime.controller.handler import enqueue_mapped, enqueue_object, enqueue_owner
from runtime.types import Object, Request, Resource, key_of, labels_of


def cluster_of(obj: Object) -> Iterable[Request]:
    """Map an object with our cluster label to its cluster."""
    cluster = labels_of(obj).get(labels.CLUSTER)
    return () if cluster is None else (Request(key_of(obj).namespace, cluster),)


def part_changed(*path: str) -> Callable[[Event], bool]:
    """Return a predicate that accepts an update if the value at `path` changed."""

    def changed(event: Event) -> bool:
        return event.old is None or _at(event.old, path) != _at(event.object, path)

    return changed


def _at(obj: Object, path: tuple[str, ...]) -> object:
    value: object = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def watch_workload(
    controller: Controller, clusters: Cache, children: Mapping[Resource, Cache]
) -> None:
    """Enqueue clusters in the workload controller for changes of clusters and owned objects.

    Includes changes of the status, so that the reconciler repairs a status that a user edited. Its
    own write of the status causes one more reconcile, which writes nothing.
    """
    changes = any_of(
        generation_changed,
        finalizers_changed,
        labels_or_annotations_changed,
        part_changed("status"),
    )
    controller.watch(clusters, enqueue_object, changes)
    for resource in OWNED:
        owner = enqueue_owner(CLUSTER_KIND, GROUP)
        controller.watch(children[resource], owner, *relevant_changes(resource))
    for resource in (POD, PVC):
        mapped = enqueue_mapped(cluster_of)
        controller.watch(children[resource], mapped, *relevant_changes(resource))


def watch_optional(controller: Controller, clusters: Cache, kinds: OptionalKinds) -> None:
    """Enqueue the clusters that use an optional kind, for changes of its objects and its CRD."""
    for cache in kinds.caches.values():
        controller.watch(cache, enqueue_owner(CLUSTER_KIND, GROUP))

    def users(definition: Object) -> Iterable[Request]:
        name = key_of(definition).name
        return [key_of(live) for live in clusters.list() if uses_optional_kind(live, name)]

    controller.watch(kinds, enqueue_mapped(users))


def watch_gates(
    controller: Controller,
    clusters: Cache,
    namespaces: EventSource | None,
    tenants: EventSource | None,
) -> None:
    """Enqueue the clusters of a namespace if it becomes readable, or its tenant changes."""

    def of_namespace(namespace: Object) -> Iterable[Request]:
        return [key_of(live) for live in clusters.list(key_of(namespace).name)]

    def of_tenant(tenant: Object) -> Iterable[Request]:
        target = target_of(tenant)
        return [key_of(live) for live in clusters.list(target)] if target else ()

    if namespaces is not None:
        controller.watch(namespaces, enqueue_mapped(of_namespace))
    if tenants is not None:
        controller.watch(tenants, enqueue_mapped(of_tenant))


def watch_schemas(controller: Controller, clusters: Cache, schemas: EventSource) -> None:
    """Enqueue every cluster if the served schemas changed."""
    controller.watch(schemas, enqueue_mapped(lambda _: [key_of(live) for live in clusters.list()]))


def uses_optional_kind(cluster: Object, definition: str) -> bool:
    """Return whether a spec has the section of an optional kind and does not disable it."""
    is_monitor = definition == SERVICE_MONITOR.definition
    path = ("observability", "metrics", "serviceMonitor") if is_monitor else ("gateway",)
    section = _at(cluster, ("spec", *path))
    return isinstance(section, dict) and section.get("enabled") is not False


def watch_adminops(
    controller: Controller, clusters: Cache, children: Mapping[Resource, Cache]
) -> None:
    """Enqueue clusters in the adminops controller for changes of their spec, status and pods."""
    changes = any_of(
        generation_changed,
        part_changed("status", "initialized"),
        part_changed("status", "adminOps"),
    )
    controller.watch(clusters, enqueue_object, changes)
    controller.watch(children[POD], enqueue_mapped(cluster_of), server_changed)
