"""The controllers of Datacenters and BootstrapWorkloads: their caches and watches.

Called by baoctl.process.wiring if DATACENTERS=true, which requires mode cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from baoctl.controllers.caches import OF_CHILDREN, OWNED_SELECTOR, Caches
from baoctl.controllers.cluster import part_changed
from baoctl.controllers.components import Parts
from contracts.api.group import CLUSTERS, GROUP
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOAD_KIND, WORKLOADS
from contracts.datacenter.objects import VALUES_MAX
from managers.datacenter.lifecycle.service import DatacenterService
from managers.datacenter.metrics import DatacenterMetrics
from managers.datacenter.provider.by_kind import ServicesProvider
from managers.datacenter.provider.kubernetes import KubernetesProvider
from managers.datacenter.provider.other_kinds import ObjectsProvider
from managers.datacenter.reconcile import (
    FIRST_STATUS_DELAY,
    BootstrapWorkloadReconciler,
    DatacenterReconciler,
    EventReporter,
)
from managers.datacenter.sources import entry_points
from managers.datacenter.sources.registry import SourceRegistry
from managers.datacenter.sources.service_sets import SetHandler
from managers.datacenter.store.kubernetes import DATACENTER_INDEX, KubernetesStore
from runtime.apply.apply import OwnedApply
from runtime.builtin_kinds import CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE, STATEFUL_SET
from runtime.cache.cache import Cache
from runtime.cache.selection import Selection
from runtime.controller.controller import Controller, Reconciler
from runtime.controller.event import (
    Event,
    any_of,
    finalizer_lost,
    finalizers_changed,
    generation_changed,
    labels_or_annotations_changed,
)
from runtime.controller.handler import enqueue_mapped, enqueue_object, enqueue_owner
from runtime.limits.object_size import Bounds
from runtime.types import Object, Request, Resource, key_of, labels_of

DATACENTER_WORKERS = 6
"""Concurrent reconciles, which mostly wait for the API server or for hooks."""
WORKLOAD_WORKERS = 14
"""Concurrent reconciles, for the BootstrapWorkloads that the datacenter controller creates."""
STATUS_DELAY = 1.0
"""Seconds from the change of a BootstrapWorkload to the reconcile of its Datacenter."""
FIRST_STATUS = FIRST_STATUS_DELAY
"""The same for a new BootstrapWorkload, which has no progress yet."""
OF_DATACENTERS = Bounds(size=1 << 20, values=VALUES_MAX)
"""Limits of kinds that no tenant writes; the same as those of their schema and reader."""
MakeController = Callable[[str, Reconciler, int], Controller]
MakeApply = Callable[[Mapping[Resource, Cache]], OwnedApply]


def build_datacenter_controllers(
    parts: Parts,
    caches: Caches,
    make: MakeController,
    apply: MakeApply,
) -> tuple[Controller, ...]:
    """Build the controllers of Datacenters and BootstrapWorkloads."""
    datacenters, sets, workloads = (
        parts.informers.informer(Selection(kind, transform=parts.share, bounds=OF_DATACENTERS))
        for kind in (DATACENTERS, SERVICE_SETS, WORKLOADS)
    )
    children = _children(parts, caches)
    registry = SourceRegistry()
    entry_points.register_hooks(registry)
    store = KubernetesStore(parts.client, workloads, parts.clock)
    provider = ServicesProvider(
        KubernetesProvider(parts.client, children, apply(children)),
        ObjectsProvider(parts.client, apply),
    )
    service = DatacenterService(
        store,
        {provider.name: provider},
        registry,
        parts.clock,
        parts.rng,
        EventReporter(parts.events),
    )
    DatacenterMetrics(parts.metrics, datacenters, workloads)
    datacenter_controller = make(
        "datacenter",
        DatacenterReconciler(datacenters, store, service, parts.client, parts.clock),
        DATACENTER_WORKERS,
    )
    workload_controller = make(
        "bootstrapworkload",
        BootstrapWorkloadReconciler(datacenters, workloads, store, service),
        WORKLOAD_WORKERS,
    )
    watch_datacenters(datacenter_controller, datacenters, workloads)
    watch_workloads(workload_controller, workloads, datacenters, children)
    sets.add_handler(SetHandler(registry, sets.get))
    # After the handler that registers the sets: the reconcile must read the new registry.
    datacenter_controller.watch(sets, _enqueue_all(datacenters), generation_changed)
    return datacenter_controller, workload_controller


def _children(parts: Parts, caches: Caches) -> dict[Resource, Cache]:
    own: dict[Resource, Cache] = {
        resource: parts.informers.informer(
            Selection(
                resource, label_selector=OWNED_SELECTOR, transform=parts.share, bounds=OF_CHILDREN
            )
        )
        for resource in (DEPLOYMENT, DAEMON_SET)
    }
    shared = {
        resource: caches.children[resource] for resource in (CONFIG_MAP, SERVICE, STATEFUL_SET)
    }
    return {**shared, **own, CLUSTERS: caches.clusters}


def _enqueue_all(datacenters: Cache) -> Callable[[Event], Iterable[Request]]:
    """Return a handler that enqueues all datacenters: a set may apply to any of them."""
    return lambda event: map(key_of, datacenters.list())


def watch_datacenters(controller: Controller, datacenters: Cache, workloads: Cache) -> None:
    """Enqueue a Datacenter for its spec, its deletion, and the state of its BootstrapWorkloads."""
    # Adding our own finalizer must not cause another reconcile.
    own = any_of(generation_changed, finalizer_lost(names.DATACENTER_FINALIZER))
    controller.watch(datacenters, enqueue_object, own)

    def enqueue_datacenter(event: Event) -> Iterable[Request]:
        # The workloads of one datacenter change together: one delayed reconcile for all.
        delay = FIRST_STATUS if event.type == "add" else STATUS_DELAY
        for request in datacenter_of(event.object):
            controller.enqueue(request, delay)
        return ()

    controller.watch(workloads, enqueue_datacenter, _workload_changed)


def watch_workloads(
    controller: Controller,
    workloads: Cache,
    datacenters: Cache,
    children: Mapping[Resource, Cache],
) -> None:
    """Enqueue a BootstrapWorkload for changes of itself, its objects, Datacenter and siblings."""
    own = any_of(generation_changed, finalizers_changed, labels_or_annotations_changed)
    controller.watch(workloads, enqueue_object, own)
    for cache in children.values():
        controller.watch(cache, enqueue_owner(WORKLOAD_KIND, GROUP, namespaced=False))

    def related(event: Event) -> Iterable[Request]:
        siblings = [
            live
            for name in _datacenters_of(event)
            for live in workloads.by_index(DATACENTER_INDEX, name)
        ]
        return [key_of(live) for live in siblings if _depends_on_siblings(live)]

    def of_datacenter(obj: Object) -> Iterable[Request]:
        return map(key_of, workloads.by_index(DATACENTER_INDEX, key_of(obj).name))

    controller.watch(workloads, related, _workload_changed)
    controller.watch(datacenters, enqueue_mapped(of_datacenter), _datacenter_changed)


_datacenter_changed = any_of(
    *(part_changed("spec", field) for field in ("state", "nodeAccess", "objectKinds"))
)
_workload_changed = any_of(generation_changed, part_changed("status", "state"))


def _datacenters_of(event: Event) -> set[str]:
    return {key.name for key in datacenter_of(event.object)}


def datacenter_of(workload: Object) -> Iterable[Request]:
    """Map a BootstrapWorkload to its Datacenter."""
    name = labels_of(workload).get(names.DATACENTER)
    return () if name is None else (Request("", name),)


def _depends_on_siblings(workload: Object) -> bool:
    """Return whether a workload waits for siblings.

    It has dependencies, or it is being deleted, which happens after its dependents are deleted.
    """
    metadata, spec = workload["metadata"], workload.get("spec") or {}
    service = spec.get("service") if isinstance(spec, dict) else None
    waits = isinstance(service, dict) and bool(service.get("dependsOn"))
    return waits or "deletionTimestamp" in metadata
