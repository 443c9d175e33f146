"""Builds the reconcilers and controllers of the operator; makes no decisions.

Imported by baoctl.process.operator after the election. The watches are in baoctl.controllers.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Mapping
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
from baoctl.controllers.restore import build_restore_controller
from baoctl.controllers.sharding import ClustersOfShard, MakeController, Owns
from contracts.api.schema.expected import expected_schemas
from managers.bao.breakers import Breakers
from managers.bao.login import Logins
from managers.bao.timeouts import BudgetedReconciler, pod_states
from managers.certs.probe import ServedCertificates
from managers.cluster.adminops.reconcile import AdminOpsReconciler
from managers.cluster.adminops.restored_servers import RestoredServers
from managers.cluster.apply.actions import ClusterEffects
from managers.cluster.apply.apply import Applier
from managers.cluster.apply.status_writer import StatusWriter
from managers.cluster.delete import Deletion
from managers.cluster.jobs.template_source import TemplateLookup
from managers.cluster.metrics import ClusterMetrics, count_reconciles
from managers.cluster.observe.exposure import ExposureObserver
from managers.cluster.observe.from_objects import SecretReading, secret_reading
from managers.cluster.observe.observer import ClusterObserver, ObserverDependencies
from managers.cluster.reconcile import ClusterReconciler
from managers.cluster.tenancy_gate import GatedReconciler, GateReporter
from managers.context.context import FIELD_MANAGER, MARKS, Context
from managers.context.pause_guard import PauseGuard
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
from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.builtin_kinds import POD
from runtime.cache.cache import Cache
from runtime.cache.cached_read import CachePolicy, ObjectReads, objects_by_name
from runtime.controller.controller import Controller, ControllerOptions, Reconciler
from runtime.controller.ratelimit import ItemExponentialFailure
from runtime.errors import Forbidden
from runtime.memo import KEYS
from runtime.process.manager import Runnable
from runtime.types import Resource


def build_controllers(parts: Parts) -> tuple[Controller, ...]:
    """Build all reconcilers and controllers of the operator."""
    caches = build_caches(parts)
    clusters, children, kinds = caches.clusters, caches.children, caches.kinds
    store: SecretStore[SecretReading] = SecretStore(parts.client, parts.clock, secret_reading)
    context = Context(parts.client, store, parts.clock, secrets.token_bytes, parts.events)
    installation = parts.settings.installation
    named = CachePolicy(caches.named_age)
    api_server = ApiServer(parts.client, parts.clock, parts.settings.api_server.pod_host)
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
    cluster_metrics = ClusterMetrics(parts.metrics, _shard_clusters(parts, clusters), store)
    guarded = PauseGuard(reconciler, clusters)
    gate_reporter = GateReporter(guarded, clusters, caches.gate, statuses, parts.clock)
    make = _with_server_timeouts(parts, children[POD])
    workload = make("openbaocluster-workload", count_reconciles(gate_reporter, cluster_metrics))
    gated = GatedReconciler(PauseGuard(admin_reconciler, clusters), clusters, caches.gate)
    adminops = make("openbaocluster-adminops", gated, memo_keys=0)
    watch_workload(workload, clusters, children)
    watch_optional(workload, clusters, kinds)
    watch_adminops(adminops, clusters, children)
    for controller in (workload, adminops):
        _watch_gates_and_schemas(controller, caches, schemas)
    restored_servers = RestoredServers(children, observer, logins)
    restores = build_restore_controller(parts, caches, template_source, restored_servers, make)
    return workload, adminops, restores, *_further_controllers(parts, caches, template_source)


def _watch_gates_and_schemas(
    controller: Controller, caches: Caches, schemas: ServedSchemas
) -> None:
    watch_gates(controller, caches.clusters, caches.namespaces, caches.tenants)
    watch_schemas(controller, caches.clusters, schemas)


def _with_server_timeouts(parts: Parts, pods: Cache) -> MakeController:
    """Return a function that builds controllers with time limits for requests to servers."""
    breakers = Breakers(parts.clock, parts.metrics)

    def states(namespace: str) -> Mapping[str, Hashable]:
        return pod_states(pods.list(namespace))

    def make(
        name: str, reconcile: Reconciler, /, *, owns: Owns | None = None, memo_keys: int = KEYS
    ) -> Controller:
        budgeted = BudgetedReconciler(reconcile, parts.clock, breakers, states)
        return _controller(parts, name, budgeted, owns=owns, memo_keys=memo_keys)

    return make


def _admission(parts: Parts) -> AdmissionPolicies:
    installation = parts.settings.installation
    admission = AdmissionPolicies(parts.client, parts.clock, parts.rng, installation, parts.metrics)
    parts.runnables.append(Runnable("admission policies", admission.run, admission.ready))
    return admission


def _schemas(parts: Parts) -> ServedSchemas:
    expected = partial(expected_schemas, datacenters=parts.settings.datacenters)
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
    make = partial(_controller, parts, memo_keys=0)
    backups = build_backup_controllers(parts, caches, template_source, make)
    return *backups, *_controllers_of_datacenters(parts, caches)


def _controllers_of_datacenters(parts: Parts, caches: Caches) -> tuple[Controller, ...]:
    if not parts.settings.runs_datacenters:
        return ()
    # The import takes 3 MB, which an operator without datacenters does not need.
    from baoctl.controllers.datacenter import build_datacenter_controllers

    return build_datacenter_controllers(
        parts,
        caches,
        partial(_controller, parts, owns=lambda _: True),
        partial(_owned_apply, parts),
    )


def _statuses(parts: Parts, clusters: Cache, schemas: ServedSchemas) -> StatusWriter:
    counter = UpgradeMetrics(parts.metrics, _shard_clusters(parts, clusters))
    return StatusWriter(parts.client, clusters, parts.events, parts.clock, counter, schemas)


def _shard_clusters(parts: Parts, clusters: Cache) -> ClustersOfShard:
    return ClustersOfShard(clusters, parts.settings.shard)


def _gateways(parts: Parts, caches: Caches) -> ObjectReads:
    # Many clusters name one Gateway. A cached absence costs one request for all of them.
    age = caches.gateway_age
    policy = CachePolicy(age, negative_ttl=age, refusals=(Forbidden,))
    return objects_by_name(parts.client, parts.clock, policy)


def _owned_apply(parts: Parts, children: Mapping[Resource, Cache]) -> OwnedApply:
    return OwnedApply(
        parts.client,
        children,
        field_manager=FIELD_MANAGER,
        marks=MARKS,
        metrics=parts.metrics,
        apply_cache=ApplyCache(parts.clock, parts.rng),
    )


def _controller(
    parts: Parts,
    name: str,
    reconcile: Reconciler,
    workers: int | None = None,
    *,
    owns: Owns | None = None,
    memo_keys: int = KEYS,
) -> Controller:
    """Build a controller.

    `workers` is set for objects of administrators, for which namespaces need no fair share of
    workers. Without `owns`, the requests name clusters. `memo_keys` is 0 for reconciles that do
    not follow each change of a cluster: their results would keep a former version of it in memory.
    """
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
            loop_slice=parts.loop_slice,
            memo_keys=memo_keys,
        ),
    )
