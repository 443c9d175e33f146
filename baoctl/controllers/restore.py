"""The controller of restores: its watches and predicates."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from baoctl.controllers.backup import clusters_of_run, gated_by_cluster
from baoctl.controllers.caches import Caches
from baoctl.controllers.cluster import part_changed
from baoctl.controllers.components import Parts
from baoctl.controllers.sharding import MakeController, owns_run
from contracts.jobs.template import JobTemplateSource
from managers.backup.caches import BY_CLUSTER, cluster_named
from managers.context.pause_guard import PauseGuard
from managers.jobs.client import Jobs
from managers.operation_lock.client import OperationLocks
from managers.restore.actions import RestoreActions
from managers.restore.events import RestoreReporter
from managers.restore.observe import RestoreObserver
from managers.restore.reconcile import RestoreReconciler
from managers.restore.server_recovery import RestoredServersReader
from runtime.controller.controller import Controller
from runtime.controller.event import Event, any_of, generation_changed
from runtime.controller.handler import enqueue_mapped, enqueue_object
from runtime.types import Object, ObjectKey, Request, key_of

NAMED_BACKUP = "named-backup"


def build_restore_controller(
    parts: Parts,
    caches: Caches,
    template_source: JobTemplateSource,
    servers: RestoredServersReader,
    make: MakeController,
) -> Controller:
    """Build the controller of restores."""
    restores, clusters = caches.restores, caches.clusters
    jobs = Jobs(parts.client)
    reporter = RestoreReporter(parts.events, parts.metrics)
    reconciler = RestoreReconciler(
        parts.client,
        restores,
        RestoreObserver(
            parts.client, clusters, caches.backups, jobs, template_source, servers, parts.clock
        ),
        RestoreActions(
            parts.client, clusters, OperationLocks(parts.client, clusters, parts.clock), jobs
        ),
        reporter,
    )
    guarded = PauseGuard(reconciler, clusters, partial(clusters_of_run, restores))
    controller = make(
        "openbaorestore",
        gated_by_cluster(guarded, restores, caches),
        owns=owns_run(parts.settings.shard, restores),
    )
    watch_restores(controller, caches, reporter)
    return controller


def watch_restores(controller: Controller, caches: Caches, reporter: RestoreReporter) -> None:
    """Enqueue a restore for changes of itself, its cluster, and the backup that it waits for.

    Every change of the restore enqueues it: the claim and the report of its Job, and annotations
    of users.
    """
    restores = caches.restores
    restores.add_index(BY_CLUSTER, cluster_named)
    restores.add_index(NAMED_BACKUP, named_backup)

    def of_cluster(event: Event) -> Iterable[Request]:
        key = key_of(event.object)
        if caches.clusters.get(key) is None:
            # The cluster was deleted: drop its metrics.
            reporter.forget(key)
        return map(key_of, restores.by_index(BY_CLUSTER, str(key)))

    def of_backup(backup: Object) -> Iterable[Request]:
        return map(key_of, restores.by_index(NAMED_BACKUP, str(key_of(backup))))

    changes = any_of(
        generation_changed,
        part_changed("status", "operationLock"),
        part_changed("status", "conditions"),
        part_changed("status", "restore"),
    )
    controller.watch(restores, enqueue_object)
    controller.watch(caches.clusters, of_cluster, changes)
    controller.watch(caches.backups, enqueue_mapped(of_backup), part_changed("status", "phase"))


def named_backup(restore: Object) -> Iterable[str]:
    """Index function: the backup that a restore names; empty if it names none."""
    spec = restore.get("spec")
    source = spec.get("source") if isinstance(spec, dict) else None
    name = source.get("backup") if isinstance(source, dict) else None
    return (str(ObjectKey(key_of(restore).namespace, name)),) if isinstance(name, str) else ()
