"""The controller of tenants: its reconciler, caches and watches.

Called by baoctl.process.provisioner after the election. The provisioner does not have the rights
that it grants: it impersonates the delegate to write Roles, quotas and limits.
"""

from __future__ import annotations

from collections.abc import Iterable

from baoctl.controllers.caches import OF_TENANTS
from baoctl.controllers.cluster import part_changed
from baoctl.controllers.components import Parts
from baoctl.settings import ProvisionerSettings
from contracts.api.group import CLUSTERS, TENANTS
from managers.tenancy.gate import TARGET_INDEX, target_of
from managers.tenancy.namespaces import Namespaces
from managers.tenancy.plan import TenantInstallation
from managers.tenancy.rbac import Grants
from managers.tenancy.reconcile import TenantDependencies, TenantReconciler
from runtime.cache.informer import Informer
from runtime.cache.selection import Selection
from runtime.client.client import Client
from runtime.controller.controller import Controller, ControllerOptions
from runtime.controller.event import any_of, finalizers_changed, generation_changed
from runtime.controller.handler import enqueue_mapped
from runtime.controller.ratelimit import Bucket, ItemExponentialFailure
from runtime.types import Object, Request, key_of

# Rate limit of the writes of the delegate in all namespaces. A new namespace with its first cluster
# requires ten writes.
WRITES_PER_SECOND = 5.0
WRITES_AT_ONCE = 10

# Paths in the status of a cluster that contracts.tenancy.access_of reads.
SECRETS_OF_STATUS = (
    ("status", "unseal"),
    ("status", "initialized"),
    ("status", "selfInitialized"),
    ("status", "tlsSecrets"),
    ("status", "adminOps", "recoveryKeys"),
)


def build_tenant_controller(
    settings: ProvisionerSettings, parts: Parts, delegate: Client
) -> Controller:
    """Build the controller of tenants."""
    installation = settings.process.installation
    tenants = parts.informers.informer(
        Selection(TENANTS, None, transform=parts.share, bounds=OF_TENANTS)
    )
    clusters = parts.informers.informer(Selection(CLUSTERS, None, transform=parts.share))
    rate_limiter = Bucket(parts.clock, rate=WRITES_PER_SECOND, burst=WRITES_AT_ONCE)
    grants = Grants(delegate, parts.clock, parts.rng, settings.recheck, rate_limiter)
    namespaces = Namespaces(parts.client, parts.clock, parts.rng, settings.recheck)
    reconciler = TenantReconciler(
        tenants,
        clusters,
        TenantDependencies(parts.client, grants, namespaces),
        parts.clock,
        TenantInstallation(installation.namespace, installation.service_account, settings.reads),
    )
    controller = Controller(
        "openbaotenant",
        reconciler,
        clock=parts.clock,
        metrics=parts.metrics,
        workers=parts.settings.workers,
        options=ControllerOptions(
            limiter=lambda: ItemExponentialFailure(base=0.1, cap=60.0),
            fair=True,
            loop_slice=parts.loop_slice,
        ),
    )
    watch_tenants(controller, tenants, clusters)
    return controller


def watch_tenants(controller: Controller, tenants: Informer, clusters: Informer) -> None:
    """Enqueue a tenant for changes of itself, tenants of the same namespace, and its clusters.

    Includes changes of the status. The write of the reconciler causes one more reconcile, which
    writes nothing.
    """

    def of_namespace(tenant: Object) -> Iterable[Request]:
        others = tenants.by_index(TARGET_INDEX, target_of(tenant))
        return dict.fromkeys((key_of(tenant), *map(key_of, others)))

    def of_cluster(cluster: Object) -> Iterable[Request]:
        return map(key_of, tenants.by_index(TARGET_INDEX, key_of(cluster).namespace))

    changes = any_of(generation_changed, finalizers_changed, part_changed("status"))
    controller.watch(tenants, enqueue_mapped(of_namespace), changes)
    cluster_changes = any_of(
        generation_changed, *(part_changed(*path) for path in SECRETS_OF_STATUS)
    )
    controller.watch(clusters, enqueue_mapped(of_cluster), cluster_changes)
