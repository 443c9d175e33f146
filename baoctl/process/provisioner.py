"""`baoctl provision`: the provisioner process, its parts and its table of watches.

It has an identity, a lease, metrics and health checks of its own, and shares the rest with
baoctl.process.wiring. What it grants it cannot use: Roles and bounds are written as the delegate.
"""

from __future__ import annotations

from collections.abc import Iterable

from baoctl.controllers.caches import OF_TENANTS
from baoctl.controllers.cluster import part_changed
from baoctl.credentials import credentials_of
from baoctl.process.wiring import Parts, build_manager, build_parts
from baoctl.settings import ProvisionerSettings
from contracts.api.group import CLUSTERS, TENANTS
from managers.tenancy.gate import TARGET_INDEX, target_of
from managers.tenancy.namespaces import Spaces
from managers.tenancy.plan import TenantInstallation
from managers.tenancy.rbac import Grants
from managers.tenancy.reconcile import TenantDependencies, TenantReconciler
from managers.tenancy.service_accounts import Accounts
from runtime.cache.informer import Informer
from runtime.cache.selection import Selection
from runtime.client.client import Client
from runtime.client.impersonation import as_service_account
from runtime.clock import Clock
from runtime.controller.controller import Controller, ControllerOptions
from runtime.controller.event import any_of, finalizers_changed, generation_changed
from runtime.controller.handler import enqueue_mapped
from runtime.controller.ratelimit import Bucket, ItemExponentialFailure
from runtime.leader.leader import LeaderOptions
from runtime.limits.nesting import shallow
from runtime.process.manager import Runnable
from runtime.types import Object, ObjectKey, Request, key_of

NAME = "openbao-operator-provisioner"
"""Of the lease, and of the program in the API server's log."""

# Writes of the delegate, in all namespaces together: so many a second, and so many at once. To open
# a namespace and to serve its first cluster takes ten.
WRITES_PER_SECOND = 5.0
WRITES_AT_ONCE = 10

# Of a cluster: everything that contracts.tenancy.access_of reads in addition to the spec.
SECRETS_OF_STATUS = (
    ("status", "unseal"),
    ("status", "initialized"),
    ("status", "selfInitialized"),
    ("status", "tlsSecrets"),
    ("status", "adminOps", "recoveryKeys"),
)


async def delegate_client(settings: ProvisionerSettings, parts: Parts) -> Client:
    """Make the client that acts as the delegate; its writes pass the same fence."""
    account = ObjectKey(settings.process.installation.namespace, settings.delegate)
    credentials = await credentials_of(settings.process, parts.clock)
    return Client(
        as_service_account(credentials, account),
        user_agent=f"{NAME}/delegate",
        clock=parts.clock,
        metrics=parts.metrics,
        guard=parts.elector.guard if parts.elector else None,
        timeout=LeaderOptions().write_timeout,
    )


def build_controller(settings: ProvisionerSettings, parts: Parts, delegate: Client) -> Controller:
    """Make the reconciler of tenants and the controller that calls it."""
    installation = settings.process.installation
    tenants = parts.informers.informer(
        Selection(TENANTS, None, transform=shallow, bounds=OF_TENANTS)
    )
    clusters = parts.informers.informer(Selection(CLUSTERS, None, transform=shallow))
    pace = Bucket(parts.clock, rate=WRITES_PER_SECOND, burst=WRITES_AT_ONCE)
    grants = Grants(delegate, parts.clock, parts.rng, settings.recheck, pace)
    spaces = Spaces(parts.client, parts.clock, parts.rng, settings.recheck)
    reconciler = TenantReconciler(
        tenants,
        clusters,
        TenantDependencies(parts.client, grants, spaces),
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
            limiter=lambda: ItemExponentialFailure(base=0.1, cap=60.0), fair=True
        ),
    )
    watch_tenants(controller, tenants, clusters)
    return controller


def watch_tenants(controller: Controller, tenants: Informer, clusters: Informer) -> None:
    """Wake the reconciler: for a tenant, for those of the same namespace, for a cluster.

    A changed status wakes it too, and so does its own write, without effect.
    """

    def rivals(tenant: Object) -> Iterable[Request]:
        others = tenants.by_index(TARGET_INDEX, target_of(tenant))
        return dict.fromkeys((key_of(tenant), *map(key_of, others)))

    def homes(cluster: Object) -> Iterable[Request]:
        return map(key_of, tenants.by_index(TARGET_INDEX, key_of(cluster).namespace))

    news = any_of(generation_changed, finalizers_changed, part_changed("status"))
    controller.watch(tenants, enqueue_mapped(rivals), news)
    moved = any_of(generation_changed, *(part_changed(*path) for path in SECRETS_OF_STATUS))
    controller.watch(clusters, enqueue_mapped(homes), moved)


def check_accounts(settings: ProvisionerSettings, parts: Parts) -> None:
    """Start nothing before both ServiceAccounts exist."""
    installation = settings.process.installation
    expected = {
        "the controller, who gets the rights": installation.service_account,
        "the delegate, as whom they are written": settings.delegate,
    }
    accounts = Accounts(parts.client, parts.clock, installation.namespace, expected)
    parts.runnables.append(Runnable("service accounts", accounts.run, accounts.ready))


async def provision(settings: ProvisionerSettings, clock: Clock) -> None:
    """Run a provisioner until a signal, a crash, or the loss of its lease (which raise)."""
    parts = await build_parts(settings.process, clock, name=NAME)
    delegate = await delegate_client(settings, parts)
    check_accounts(settings, parts)
    manager = build_manager(parts, (build_controller(settings, parts, delegate),))
    try:
        await manager.run()
    finally:
        await delegate.close()
        await parts.client.close()
        await parts.lease_client.close()
