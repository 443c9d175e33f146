"""Builds the parts of an operator process and ties them together; takes no decisions.

The table of watches is `baoctl.controllers.cluster`.
"""

from __future__ import annotations

import gc
import random
import secrets
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial

from baoctl.controllers.backup import build_backup_controllers
from baoctl.controllers.caches import Caches, build_caches
from baoctl.controllers.cluster import (
    watch_adminops,
    watch_gates,
    watch_optional,
    watch_schemas,
    watch_workload,
)
from baoctl.controllers.components import Parts
from baoctl.controllers.datacenter import build_datacenter_controllers
from baoctl.controllers.restore import build_restore_controller
from baoctl.controllers.sharding import ClustersOfShard, MakeController, Owns
from baoctl.credentials import credentials_of
from baoctl.process.election import build_election
from baoctl.process.operator_image import with_own_image
from baoctl.process.platform import with_platform
from baoctl.settings import Settings
from contracts.datacenter.definitions import definitions
from managers.bao.breakers import Breakers
from managers.bao.login import Logins
from managers.bao.timeouts import Patient, lives_of
from managers.certs.probe import ServedCertificates
from managers.cluster.adminops.reconcile import AdminOpsReconciler
from managers.cluster.adminops.restored_servers import RestoredServers
from managers.cluster.apply.actions import ClusterEffects
from managers.cluster.apply.apply import Applier
from managers.cluster.apply.status_writer import StatusWriter
from managers.cluster.delete import Deletion
from managers.cluster.jobs.template_source import TemplateLookup
from managers.cluster.metrics import ClusterMetrics, counted
from managers.cluster.observe.exposure import ExposureObserver
from managers.cluster.observe.from_objects import SecretReading, secret_reading
from managers.cluster.observe.observer import ClusterObserver, ObserverDependencies
from managers.cluster.reconcile import ClusterReconciler
from managers.cluster.tenancy_gate import GatedReconciler, GateReporter
from managers.context.context import FIELD_MANAGER, MARKS, Context
from managers.context.pause_guard import PauseGuard, both
from managers.context.reads.admission_policies import AdmissionPolicies
from managers.context.reads.api_server import ApiServer
from managers.context.reads.secrets import SecretStore
from managers.context.reads.served_schemas import ServedSchemas
from managers.images.verifier import ImageVerifier
from managers.jobs.client import Jobs
from managers.operation_lock.client import OperationLocks
from managers.upgrade.actions import UpgradeActions
from managers.upgrade.metrics import UpgradeMetrics
from managers.upgrade.observe import UpgradeObserver
from runtime.apply.apply import OptimisticApply, OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.builtin_kinds import POD
from runtime.cache.cache import Cache
from runtime.cache.cached_read import CachePolicy, ObjectReads, objects_by_name
from runtime.cache.informers import InformerSet
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.controller.controller import Controller, ControllerOptions, Reconciler
from runtime.controller.ratelimit import ItemExponentialFailure
from runtime.errors import Forbidden
from runtime.events import EventRecorder, Reporter
from runtime.leader.leader import LeaderOptions
from runtime.leader.shard_elector import Election
from runtime.metrics.metrics import Metrics
from runtime.process.garbage import Garbage
from runtime.process.health import HealthChecks, HttpServer, LoopLag
from runtime.process.manager import Group, Manager, Runnable
from runtime.types import Resource

__all__ = ["Parts", "build_controllers", "build_manager", "build_parts", "run"]

LEASE_NAME = "openbao-operator"
REPORTER = "openbao.org/operator"
# A watch is reopened at least every ten minutes; twice that without an event means it is dead.
WATCH_MAX_AGE = 1200.0
SYNC_TIMEOUT = 120.0
# Decoded objects hold no cycles, and many are made at once: with the defaults the collector walks
# all of them again and again while a large list comes in, and holds the event loop for 200 ms.
GC_THRESHOLDS = (50_000, 50, 100)


async def build_parts(settings: Settings, clock: Clock, *, name: str = LEASE_NAME) -> Parts:
    """Make the clients, the elector and the caches. `name` is that of the lease and the program."""
    metrics = Metrics()
    credentials = await credentials_of(settings, clock)
    lease_client = Client(credentials, user_agent=f"{name}/lease", clock=clock)
    rng = random.Random()  # noqa: S311  jitter, not keys
    reporter = Reporter(REPORTER, settings.identity)
    elector = build_election(settings, lease_client, name, reporter, metrics, clock)
    client = Client(
        credentials,
        user_agent=name,
        clock=clock,
        metrics=metrics,
        guard=both(elector.guard if elector else None),
        # The write guard depends on it: a write ends before another process may lead.
        timeout=LeaderOptions().write_timeout,
    )
    return Parts(
        settings=settings,
        clock=clock,
        rng=rng,
        metrics=metrics,
        client=client,
        lease_client=lease_client,
        elector=elector,
        informers=InformerSet(client, clock=clock, rng=rng, metrics=metrics),
        events=EventRecorder(client, reporter, clock=clock),
    )


def build_controllers(parts: Parts) -> tuple[Controller, ...]:
    """Make the reconcilers of clusters and backups, and the controllers that call them."""
    caches = build_caches(parts)
    clusters, children, kinds = caches.clusters, caches.children, caches.kinds
    store: SecretStore[SecretReading] = SecretStore(parts.client, parts.clock, secret_reading)
    context = Context(parts.client, store, parts.clock, secrets.token_bytes, parts.events)
    installation = parts.settings.installation
    named = CachePolicy(caches.named_age)
    api_server = ApiServer(parts.client, parts.clock, parts.settings.api_server_host)
    statuses = _statuses(parts, clusters, schemas := _schemas(parts))
    logins = Logins(parts.client, parts.clock, installation)
    images = ImageVerifier(parts.client, parts.clock, parts.settings.images)
    observer = ClusterObserver(
        children,
        store,
        api_server,
        parts.clock,
        installation,
        ObserverDependencies(
            logins,
            context.attempts,
            served=ServedCertificates(),
            named_claims=objects_by_name(parts.client, parts.clock, named),
            accounts=objects_by_name(parts.client, parts.clock, named, metadata_only=True),
            images=images,
            exposure=ExposureObserver(kinds, children, _gateways(parts, caches)),
            cache_refresher=caches.refresher,
            admission=_admission(parts),
            schemas=schemas,
            upgrades=UpgradeObserver(parts.client, context.random_bytes),
        ),
    )
    template_source = TemplateLookup(parts.client, installation, images, api_server)
    parts.runnables.extend(caches.runnables)
    reconciler = ClusterReconciler(
        clusters,
        observer,
        Applier(_owned_apply(parts, children)),
        Deletion(context, children),
        statuses,
        ClusterEffects(context, logins, _upgrade_actions(parts, clusters, template_source)),
    )
    admin_reconciler = AdminOpsReconciler(clusters, children, observer, statuses, context, logins)
    series = ClusterMetrics(parts.metrics, _reported(parts, clusters), store, leads(parts.elector))
    paused = PauseGuard(reconciler, clusters)
    gated = GateReporter(paused, clusters, caches.gate, statuses, parts.clock)
    patient = _asking(parts, children[POD])
    workload = patient("openbaocluster-workload", counted(gated, series))
    adminops = patient(
        "openbaocluster-adminops",
        GatedReconciler(PauseGuard(admin_reconciler, clusters), clusters, caches.gate),
    )
    watch_workload(workload, clusters, children)
    watch_optional(workload, clusters, kinds)
    watch_adminops(adminops, clusters, children)
    for controller in (workload, adminops):
        _watch_surroundings(controller, caches, schemas)
    restored = RestoredServers(children, observer, logins)
    restores = build_restore_controller(parts, caches, template_source, restored, patient)
    return workload, adminops, restores, *_further_controllers(parts, caches, template_source)


def _watch_surroundings(controller: Controller, caches: Caches, schemas: ServedSchemas) -> None:
    watch_gates(controller, caches.clusters, caches.opened, caches.tenants)
    watch_schemas(controller, caches.clusters, schemas)


def _asking(parts: Parts, pods: Cache) -> MakeController:
    """Make a maker of controllers whose passes ask servers."""
    breakers = Breakers(parts.clock, parts.metrics)

    def lives(namespace: str) -> Mapping[str, Hashable]:
        return lives_of(pods.list(namespace))

    def make(name: str, reconcile: Reconciler, /, *, owns: Owns | None = None) -> Controller:
        asking = Patient(reconcile, parts.clock, breakers, lives)
        return _controller(parts, name, asking, owns=owns)

    return make


def _admission(parts: Parts) -> AdmissionPolicies:
    installation = parts.settings.installation
    admission = AdmissionPolicies(parts.client, parts.clock, parts.rng, installation, parts.metrics)
    parts.runnables.append(Runnable("admission policies", admission.run, admission.ready))
    return admission


def _schemas(parts: Parts) -> ServedSchemas:
    expected = partial(definitions, datacenters=parts.settings.datacenters)
    schemas = ServedSchemas(parts.client, parts.clock, parts.rng, parts.metrics, expected)
    parts.runnables.append(Runnable("schemas", schemas.run, schemas.ready))
    return schemas


def _upgrade_actions(
    parts: Parts, clusters: Cache, template_source: TemplateLookup
) -> UpgradeActions:
    locks = OperationLocks(parts.client, clusters, parts.clock)
    return UpgradeActions(locks, Jobs(parts.client), template_source)


def _further_controllers(
    parts: Parts, caches: Caches, template_source: TemplateLookup
) -> tuple[Controller, ...]:
    backups = _controllers_of_backups(parts, caches, template_source)
    return *backups, *_controllers_of_datacenters(parts, caches)


def _controllers_of_backups(
    parts: Parts, caches: Caches, template_source: TemplateLookup
) -> tuple[Controller, ...]:
    return build_backup_controllers(
        parts, caches, template_source, leads(parts.elector), partial(_controller, parts)
    )


def _controllers_of_datacenters(parts: Parts, caches: Caches) -> tuple[Controller, ...]:
    # They depend on each other across datacenters, and are few: the first shard has them all.
    if not parts.settings.datacenters or parts.settings.shard.index:
        return ()
    return build_datacenter_controllers(
        parts,
        caches,
        leads(parts.elector),
        partial(_controller, parts, owns=lambda _: True),
        partial(_owned_apply, parts, how=OptimisticApply),
    )


def _statuses(parts: Parts, clusters: Cache, schemas: ServedSchemas) -> StatusWriter:
    counting = UpgradeMetrics(parts.metrics, _reported(parts, clusters), leads(parts.elector))
    return StatusWriter(parts.client, clusters, parts.events, parts.clock, counting, schemas)


def _reported(parts: Parts, clusters: Cache) -> ClustersOfShard:
    return ClustersOfShard(clusters, parts.settings.shard)


def _gateways(parts: Parts, caches: Caches) -> ObjectReads:
    # One Gateway is named by many clusters: that there is none costs one request for all of them.
    age = caches.gateway_age
    policy = CachePolicy(age, absent=age, refusals=(Forbidden,))
    return objects_by_name(parts.client, parts.clock, policy)


def _owned_apply(
    parts: Parts, children: Mapping[Resource, Cache], *, how: type[OwnedApply] = OwnedApply
) -> OwnedApply:
    return how(
        parts.client,
        children,
        field_manager=FIELD_MANAGER,
        marks=MARKS,
        metrics=parts.metrics,
        settled=ApplyCache(parts.clock, parts.rng),
    )


def leads(elector: Election | None) -> Callable[[], bool]:
    """Whether this process is the one that acts; without an election it always is."""
    return lambda: elector is None or elector.is_leader


def _controller(
    parts: Parts,
    name: str,
    reconcile: Reconciler,
    workers: int | None = None,
    *,
    owns: Owns | None = None,
) -> Controller:
    """Make a controller; with workers of its own number it is one of administrators, whose
    namespaces need no protection from each other. Without `owns` its requests name clusters."""
    return Controller(
        name,
        reconcile,
        clock=parts.clock,
        metrics=parts.metrics,
        workers=workers or parts.settings.workers,
        options=ControllerOptions(
            limiter=lambda: ItemExponentialFailure(base=0.1, cap=60.0),
            fair=workers is None,
            owns=owns or parts.settings.shard.owns,
        ),
    )


def build_manager(parts: Parts, controllers: tuple[Controller, ...]) -> Manager:
    """Put everything that runs into its group."""
    health = HealthChecks()
    health.liveness["watches"] = lambda: parts.informers.healthy(WATCH_MAX_AGE)
    if parts.elector is not None:
        health.liveness["leader-election"] = parts.elector.health
    health.readiness["caches"] = parts.informers.unsynced
    server = HttpServer(
        parts.settings.listen, parts.settings.port, health=health, metrics=parts.metrics
    )
    lag = LoopLag(parts.clock, parts.metrics)
    manager = Manager(clock=parts.clock, elector=parts.elector)
    manager.add(Runnable("http server", server.run, server.ready), Group.SERVERS)
    manager.add(Runnable("event loop lag", lag.run), Group.SERVERS)
    manager.add(Runnable("garbage", Garbage(parts.clock).run), Group.SERVERS)
    manager.add(
        Runnable("informers", parts.informers.run, lambda: _synced(parts.informers)), Group.CACHES
    )
    for runnable in parts.runnables:
        manager.add(runnable, Group.CACHES)
    manager.add(Runnable("events", parts.events.run, stop=parts.events.stop), Group.CACHES)
    for controller in controllers:
        runnable = Runnable(controller.name, controller.run, stop=controller.stop)
        manager.add(runnable, Group.LEADER)
    return manager


async def _synced(informers: InformerSet) -> None:
    await informers.wait_synced(SYNC_TIMEOUT)
    # What is in the caches now stays for long: without this every full collection walks all of
    # it and holds the event loop (200 ms with 10,000 objects).
    gc.collect()
    gc.freeze()


async def run(settings: Settings, clock: Clock) -> None:
    """Run an operator until a signal, a crash, or the loss of its lease (which raise)."""
    gc.set_threshold(*GC_THRESHOLDS)
    parts = await build_parts(settings, clock)
    try:
        settings = await with_platform(settings, parts.client)
        parts = replace(parts, settings=await with_own_image(settings, parts.client))
        await build_manager(parts, build_controllers(parts)).run()
    finally:
        await parts.client.close()
        await parts.lease_client.close()
