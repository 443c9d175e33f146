"""The controller of restore tests: its watches and predicates."""

from __future__ import annotations

from baoctl.controllers.caches import Caches
from baoctl.controllers.cluster import part_changed, watch_gates
from baoctl.controllers.components import Parts
from baoctl.controllers.sharding import ClustersOfShard, MakeController
from contracts.jobs.template import JobTemplateSource
from managers.backup.caches import cluster_keys
from managers.cluster.tenancy_gate import GatedReconciler
from managers.context.pause_guard import PauseGuard
from managers.jobs.client import Jobs
from managers.restore_test import metrics
from managers.restore_test.actions import RestoreTestCaches, RestoreTestDependencies
from managers.restore_test.reconcile import RestoreTestReconciler
from runtime.controller.controller import Controller
from runtime.controller.event import any_of, generation_changed, labels_or_annotations_changed
from runtime.controller.handler import enqueue_mapped, enqueue_object


def build_restore_test_controller(
    parts: Parts,
    caches: Caches,
    template_source: JobTemplateSource,
    make: MakeController,
) -> Controller:
    """Build the controller of the restore tests of each cluster."""
    inputs = RestoreTestCaches(caches.clusters, caches.backups, caches.children)
    dependencies = RestoreTestDependencies(
        parts.client, Jobs(parts.client), template_source, parts.events, parts.clock
    )
    reconciler = PauseGuard(RestoreTestReconciler(inputs, dependencies), caches.clusters)
    shard_clusters = ClustersOfShard(caches.clusters, parts.settings.shard)
    metrics.register(parts.metrics, shard_clusters)
    controller = make(
        "openbaocluster-restore-test", GatedReconciler(reconciler, caches.clusters, caches.gate)
    )
    watch_restore_tests(controller, caches)
    watch_gates(controller, caches.clusters, caches.namespaces, caches.tenants)
    return controller


def watch_restore_tests(controller: Controller, caches: Caches) -> None:
    """Enqueue a cluster for changes of its spec, its backup status, and its backups."""
    cluster_changes = any_of(generation_changed, part_changed("status", "backup"))
    controller.watch(caches.clusters, enqueue_object, cluster_changes)
    backup_changes = any_of(
        labels_or_annotations_changed,
        part_changed("status", "phase"),
        part_changed("status", "test"),
        part_changed("status", "testReport"),
        part_changed("status", "proof"),
    )
    controller.watch(caches.backups, enqueue_mapped(cluster_keys), backup_changes)
