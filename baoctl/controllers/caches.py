"""Builds the caches of a process. The mode determines what is watched and what is read by name.

| mode | clusters, backups, restores | owned objects | CRDs of optional kinds |
|---|---|---|---|
| cluster | watched everywhere | watched everywhere, by our label | watched by name |
| namespaces, one | watched there | watched there | watched by name |
| namespaces, several | watched in each | watched in each | watched by name |
| tenants, reads=poll | watched everywhere | read by name | read by name |
| tenants, reads=watch | watched everywhere | watched where provisioned | read by name |

Clusters, backups and restores are cached with all fields. The code that uses the caches is the same
in all modes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from baoctl.controllers.components import Parts
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES, TENANTS
from contracts.naming import labels
from contracts.optional_kinds import OPTIONAL_KINDS
from contracts.owned_kinds import CHILDREN
from managers.bao.client import Bao
from managers.cluster.observe.cache_refresh import CacheRefresher, watch_refresher
from managers.cluster.observe.health_poller import HealthPoller
from managers.cluster.observe.pod_shape import without_container_details
from managers.cluster.observe.polling import PollingCacheRefresher
from managers.tenancy.gate import Gate, ReadGate, TenantGate, all_of, open_gate, target_of
from runtime.builtin_kinds import POD
from runtime.cache.cache import Cache
from runtime.cache.informer import Informer
from runtime.cache.namespaced_cache import NamespaceSet
from runtime.cache.optional import DEFINITION, OF_DEFINITIONS, OptionalKinds, outline
from runtime.cache.polling import PolledMirror
from runtime.cache.polling_by_name import PolledNames
from runtime.cache.selection import Selection
from runtime.limits.object_size import Bounds
from runtime.process.manager import Runnable
from runtime.types import Object, ObjectKey, Resource

OF_CHILDREN = Bounds(size=128 << 10)
"""Limit of owned objects: ten times the size of a large ConfigMap of the operator."""
OF_TENANTS = Bounds(size=512 << 10)
"""Limit of tenants: a status may name a thousand clusters."""
SECRET_RECHECK_OF_HEALTHY = 60.0
"""Seconds between reads of the Secrets of healthy clusters in namespaces of tenants."""
OWNED_SELECTOR = f"{labels.MANAGED_BY}={labels.OPERATOR}"
# Pods of Jobs are not cached, and enqueue no cluster.
SERVER_POD_SELECTOR = f"{OWNED_SELECTOR},{labels.COMPONENT} notin ({','.join(labels.JOBS)})"


@dataclass(frozen=True, slots=True)
class Caches:
    """The caches of a process."""

    clusters: Cache
    backups: Cache
    restores: Cache
    children: Mapping[Resource, Cache]
    kinds: OptionalKinds
    refresher: CacheRefresher
    gate: Gate = open_gate
    namespaces: NamespaceSet | None = None
    """Namespaces with their own watches; it reports when one becomes readable. Else None."""
    tenants: Informer | None = None
    runnables: tuple[Runnable, ...] = ()
    """Runnables in addition to the informers."""
    named_age: float = 15.0
    """TTL in seconds of objects that a spec names and no watch covers."""
    gateway_age: float = 9.0
    """TTL in seconds of Gateways, which many clusters share."""


def build_caches(parts: Parts) -> Caches:
    """Build the caches for the mode of the settings."""
    installation = parts.settings.installation
    if installation.mode == "tenants":
        return (
            _tenant_polling_caches(parts)
            if installation.reads == "poll"
            else _tenant_watch_caches(parts)
        )
    if len(parts.settings.namespaces) > 1:
        return _namespaced_caches(parts, parts.settings.namespaces)
    return _watched_caches(parts, next(iter(parts.settings.namespaces), None))


def _main_caches(parts: Parts, namespace: str | None = None) -> tuple[Cache, Cache, Cache]:
    """Build the caches of clusters, backups and restores, everywhere or in one namespace."""
    clusters, backups, restores = (
        parts.informers.informer(Selection(kind, namespace, transform=parts.share))
        for kind in (CLUSTERS, BACKUPS, RESTORES)
    )
    return clusters, backups, restores


def _owned_selection(
    parts: Parts, resource: Resource, fields: tuple[str, ...] = (), namespace: str | None = None
) -> Selection:
    def shape_pod(pod: Object) -> Object:
        return parts.share(without_container_details(pod))

    label_selector, transform = (
        (SERVER_POD_SELECTOR, shape_pod) if resource == POD else (OWNED_SELECTOR, parts.share)
    )
    return Selection(
        resource, namespace, label_selector, fields=fields, transform=transform, bounds=OF_CHILDREN
    )


def _watched_caches(parts: Parts, namespace: str | None) -> Caches:
    children: dict[Resource, Cache] = {
        resource: parts.informers.informer(_owned_selection(parts, resource, fields, namespace))
        for resource, fields in CHILDREN
    }
    kinds = OptionalKinds(
        parts.informers,
        OPTIONAL_KINDS,
        lambda kind: _owned_selection(parts, kind, namespace=namespace),
    )
    return Caches(
        *_main_caches(parts, namespace),
        {**children, **kinds.caches},
        kinds,
        _watch_refresher(parts),
    )


def _namespaced_caches(parts: Parts, namespaces: Sequence[str]) -> Caches:
    namespace_set = NamespaceSet(parts.informers)
    clusters, backups, restores = (
        namespace_set.optional(Selection(kind, transform=parts.share), enabled=True)
        for kind in (CLUSTERS, BACKUPS, RESTORES)
    )
    children = _child_caches(parts, namespace_set)
    kinds = OptionalKinds(
        namespace_set,
        OPTIONAL_KINDS,
        partial(_owned_selection, parts),
        lambda definition: parts.informers.optional(definition, enabled=True),
    )
    for namespace in namespaces:
        namespace_set.join(namespace)
    return Caches(
        clusters,
        backups,
        restores,
        {**children, **kinds.caches},
        kinds,
        _watch_refresher(parts),
        gate=ReadGate(namespace_set.is_ready),
        namespaces=namespace_set,
    )


def _tenant_watch_caches(parts: Parts) -> Caches:
    namespace_set = NamespaceSet(parts.informers)
    children = _child_caches(parts, namespace_set)
    definitions = _definitions(parts)
    kinds = OptionalKinds(
        namespace_set, OPTIONAL_KINDS, partial(_owned_selection, parts), definitions.cache
    )
    tenants = parts.informers.informer(Selection(TENANTS, transform=parts.share, bounds=OF_TENANTS))
    provisioned = TenantGate(tenants)
    tenants.add_handler(_TenantHandler(provisioned, namespace_set))
    return Caches(
        *_main_caches(parts),
        {**children, **kinds.caches},
        kinds,
        _watch_refresher(parts, SECRET_RECHECK_OF_HEALTHY),
        gate=all_of(provisioned, ReadGate(namespace_set.is_ready)),
        namespaces=namespace_set,
        tenants=tenants,
        runnables=(definitions.runnable,),
    )


def _tenant_polling_caches(parts: Parts) -> Caches:
    factory = _PolledCacheFactory(parts)
    mirrors = {
        resource: factory.optional(_owned_selection(parts, resource, fields))
        for resource, fields in CHILDREN
    }
    definitions = _definitions(parts)
    kinds = OptionalKinds(
        factory, OPTIONAL_KINDS, partial(_owned_selection, parts), definitions.cache
    )
    tenants = parts.informers.informer(Selection(TENANTS, transform=parts.share, bounds=OF_TENANTS))
    poller = HealthPoller(partial(Bao, guard=parts.client.guard))
    polling = PollingCacheRefresher(
        factory.all, lambda: kinds.offers, poller, parts.clock, parts.rng
    )
    return Caches(
        *_main_caches(parts),
        {**mirrors, **kinds.caches},
        kinds,
        polling,
        gate=TenantGate(tenants),
        tenants=tenants,
        named_age=60.0,
        gateway_age=60.0,
        runnables=(
            definitions.runnable,
            Runnable("cache refresher", lambda: _close_at_end(polling)),
        ),
    )


def _watch_refresher(parts: Parts, healthy_recheck: float = 0.0) -> CacheRefresher:
    recheck = parts.settings.installation.secret_recheck
    return watch_refresher(parts.clock, recheck, healthy_recheck, parts.rng)


def _child_caches(parts: Parts, namespace_set: NamespaceSet) -> dict[Resource, Cache]:
    return {
        resource: namespace_set.optional(_owned_selection(parts, resource, fields), enabled=True)
        for resource, fields in CHILDREN
    }


async def _close_at_end(polling: PollingCacheRefresher) -> None:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await polling.close()


class _PolledCacheFactory:
    """Builds polled caches; implements runtime.cache.optional.CacheFactory."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.all: dict[Resource, PolledMirror] = {}

    def optional(self, selection: Selection, *, enabled: bool = False) -> PolledMirror:
        """Build the cache of one kind. `enabled` has no effect: the cache reads only on request."""
        parts = self._parts
        mirror = PolledMirror(
            parts.client, selection, clock=parts.clock, rng=parts.rng, metrics=parts.metrics
        )
        self.all[selection.resource] = mirror
        return mirror


@dataclass(frozen=True, slots=True)
class _Definitions:
    """The CRDs of optional kinds, read by name."""

    names: PolledNames

    def cache(self, definition: Selection) -> PolledNames:
        """Add a CRD to the cache, and return the cache."""
        name = definition.field_selector.partition("=")[2]
        self.names.follow(ObjectKey("", name))
        return self.names

    @property
    def runnable(self) -> Runnable:
        """The runnable that reads the CRDs."""
        return Runnable("definitions", self.names.run)


def _definitions(parts: Parts) -> _Definitions:
    selection = Selection(
        DEFINITION,
        fields=("spec.versions", "status.conditions"),
        transform=outline,
        bounds=OF_DEFINITIONS,
    )
    return _Definitions(
        PolledNames(
            parts.client, selection, clock=parts.clock, rng=parts.rng, metrics=parts.metrics
        )
    )


class _TenantHandler:
    """Watches the namespaces whose tenants are provisioned."""

    def __init__(self, gate: TenantGate, namespace_set: NamespaceSet) -> None:
        self._gate = gate
        self._namespace_set = namespace_set

    def on_add(self, obj: Object, initial: bool) -> None:
        self._update(target_of(obj))

    def on_update(self, old: Object, new: Object) -> None:
        for namespace in {target_of(old), target_of(new)}:
            self._update(namespace)

    def on_delete(self, obj: Object) -> None:
        self._update(target_of(obj))

    def on_resync(self, obj: Object) -> None:
        """Do nothing."""

    def _update(self, namespace: str) -> None:
        if namespace and self._gate.is_provisioned(namespace):
            self._namespace_set.join(namespace)
        elif namespace:
            self._namespace_set.leave(namespace)
