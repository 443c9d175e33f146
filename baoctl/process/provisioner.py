"""`baoctl provision`: the provisioner process, a standby until it is elected.

It has an identity, a lease, metrics and health checks of its own, and shares the rest with
baoctl.process.parts.
"""

from __future__ import annotations

from baoctl.credentials import credentials_of
from baoctl.process.parts import Build, Parts, build_manager, build_parts
from baoctl.settings import ProvisionerSettings
from contracts.api.group import CLUSTERS, TENANTS
from managers.tenancy.service_accounts import Accounts
from runtime.client.client import Client
from runtime.client.impersonation import as_service_account
from runtime.clock import Clock
from runtime.leader.leader import LeaderOptions
from runtime.process.manager import Runnable
from runtime.types import ObjectKey

NAME = "openbao-operator-provisioner"
"""Of the lease, and of the program in the API server's log."""

KINDS = ((TENANTS, None), (CLUSTERS, None))


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


def check_accounts(settings: ProvisionerSettings, parts: Parts) -> Runnable:
    """Start nothing before both ServiceAccounts exist."""
    installation = settings.process.installation
    expected = {
        "the controller, who gets the rights": installation.service_account,
        "the delegate, as whom they are written": settings.delegate,
    }
    accounts = Accounts(parts.client, parts.clock, installation.namespace, expected)
    return Runnable("service accounts", accounts.run, accounts.ready)


async def provision(settings: ProvisionerSettings, clock: Clock) -> None:
    """Run a provisioner until a signal, a crash, or the loss of its lease (which raise)."""
    parts = await build_parts(settings.process, clock, name=NAME)
    delegate = await delegate_client(settings, parts)

    def load() -> Build:
        from baoctl.controllers.tenant import build_tenant_controller

        return lambda: (build_tenant_controller(settings, parts, delegate),)

    manager = build_manager(parts, load, KINDS, (check_accounts(settings, parts),))
    try:
        await manager.run()
    finally:
        await delegate.close()
        await parts.client.close()
        await parts.lease_client.close()
