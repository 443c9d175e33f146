"""The controllers of backups: their watches and predicates."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from baoctl.controllers.caches import Caches
from baoctl.controllers.cluster import part_changed, watch_gates
from baoctl.controllers.components import Parts
from baoctl.controllers.restore_test import build_restore_test_controller
from baoctl.controllers.sharding import ClustersOfShard, MakeController, owns_run
from contracts.api.backup import TERMINAL
from contracts.jobs.template import JobTemplateSource
from managers.backup.caches import BY_CLUSTER, BackupCaches, cluster_keys
from managers.backup.dependencies import BackupDependencies
from managers.backup.metrics import BackupMetrics
from managers.backup.reconcile import BackupReconciler
from managers.backup.schedule import ScheduleReconciler
from managers.cluster.tenancy_gate import GatedReconciler
from managers.context.pause_guard import PauseGuard
from managers.jobs.client import Jobs
from managers.operation_lock.client import OperationLocks
from runtime.cache.cache import Cache
from runtime.controller.controller import Controller, Reconciler
from runtime.controller.event import any_of, generation_changed, labels_or_annotations_changed
from runtime.controller.handler import enqueue_mapped, enqueue_object
from runtime.outcome import Outcome
from runtime.types import Object, ObjectKey, Request, is_terminating, key_of


def build_backup_controllers(
    parts: Parts,
    caches: Caches,
    template_source: JobTemplateSource,
    make: MakeController,
) -> tuple[Controller, ...]:
    """Build the controllers of OpenBaoBackups, of backup schedules, and of restore tests."""
    backup_caches = BackupCaches(caches.clusters, caches.backups, caches.restores)
    locks = OperationLocks(parts.client, caches.clusters, parts.clock)
    dependencies = BackupDependencies(
        parts.client, locks, Jobs(parts.client), parts.events, parts.clock
    )
    shard_clusters = ClustersOfShard(caches.clusters, parts.settings.shard)
    metrics = BackupMetrics(parts.metrics, shard_clusters)
    run = BackupReconciler(backup_caches, dependencies, template_source)
    guarded = PauseGuard(run, caches.clusters, partial(clusters_of_run, caches.backups))
    runs = make(
        "openbaobackup",
        gated_by_cluster(guarded, caches.backups, caches),
        owns=owns_run(parts.settings.shard, caches.backups),
    )
    schedule = PauseGuard(ScheduleReconciler(backup_caches, dependencies, metrics), caches.clusters)
    schedules = make(
        "openbaocluster-backup", GatedReconciler(schedule, caches.clusters, caches.gate)
    )
    watch_runs(runs, backup_caches)
    watch_schedules(schedules, backup_caches)
    watch_gates(runs, caches.backups, caches.namespaces, caches.tenants)
    watch_gates(schedules, caches.clusters, caches.namespaces, caches.tenants)
    return (
        runs,
        schedules,
        build_restore_test_controller(parts, caches, template_source, make),
    )


def gated_by_cluster(inner: Reconciler, runs: Cache, caches: Caches) -> Reconciler:
    """Return a reconciler that calls `inner` only if the gate of the cluster of the run is open."""

    async def reconcile(request: Request, /) -> Outcome:
        live = runs.get(request)
        for cluster in cluster_keys(live) if live is not None else ():
            live_cluster = caches.clusters.get(cluster)
            closed = None if live_cluster is None else caches.gate(live_cluster)
            if closed is not None:
                return closed
        return await inner(request)

    return reconcile


def clusters_of_run(runs: Cache, request: Request) -> Iterable[ObjectKey]:
    """Return the cluster of a backup or a restore.

    Empty if the object is being deleted: a pause must not stop its deletion.
    """
    live = runs.get(request)
    return cluster_keys(live) if live and not is_terminating(live) else ()


def watch_runs(controller: Controller, caches: BackupCaches) -> None:
    """Enqueue a backup for changes of itself, its cluster, and restores of that cluster."""

    def unfinished(key: ObjectKey) -> Iterable[Request]:
        for live in caches.backups.by_index(BY_CLUSTER, str(key)):
            if (live.get("status") or {}).get("phase") not in TERMINAL:
                yield key_of(live)

    def of_cluster(cluster: Object) -> Iterable[Request]:
        return unfinished(key_of(cluster))

    def of_restore(restore: Object) -> Iterable[Request]:
        for cluster in cluster_keys(restore):
            yield from unfinished(cluster)

    controller.watch(caches.backups, enqueue_object)
    changes = any_of(
        generation_changed,
        part_changed("status", "operationLock"),
        part_changed("status", "initialized"),
        part_changed("status", "upgrade"),
        part_changed("status", "blueGreen", "phase"),
    )
    controller.watch(caches.clusters, enqueue_mapped(of_cluster), changes)
    controller.watch(caches.restores, enqueue_mapped(of_restore), part_changed("status", "phase"))


def watch_schedules(controller: Controller, caches: BackupCaches) -> None:
    """Enqueue the schedule of a cluster for changes of the cluster and its backups.

    A deleted restore enqueues the schedule too: the restore may not have released its lock.
    """

    def of_run(run: Object) -> Iterable[Request]:
        return cluster_keys(run)

    changes = any_of(
        generation_changed,
        labels_or_annotations_changed,
        part_changed("status", "operationLock", "holder"),
        part_changed("status", "initialized"),
        part_changed("status", "backup"),
    )
    controller.watch(caches.clusters, enqueue_object, changes)
    controller.watch(caches.backups, enqueue_mapped(of_run), part_changed("status", "phase"))
    controller.watch(caches.restores, enqueue_mapped(of_run), part_changed("metadata", "uid"))
