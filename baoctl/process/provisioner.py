"""`baoctl provision`: the provisioner process, a standby until it is elected.

It has its own identity, Lease, metrics and health checks. It shares the other components with the
operator (baoctl.process.parts).
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
"""Name of the Lease, and user agent in the log of the API server."""

KINDS = ((TENANTS, None), (CLUSTERS, None))


async def delegate_client(settings: ProvisionerSettings, parts: Parts) -> Client:
    """Build the client that impersonates the delegate, with the write guard of the process."""
    account = ObjectKey(settings.process.installation.namespace, settings.delegate)
    credentials = await credentials_of(settings.process.api_server, parts.clock)
    return Client(
        as_service_account(credentials, account),
        user_agent=f"{NAME}/delegate",
        clock=parts.clock,
        metrics=parts.metrics,
        guard=parts.elector.guard if parts.elector else None,
        timeout=LeaderOptions().write_timeout,
    )


def check_accounts(settings: ProvisionerSettings, parts: Parts) -> Runnable:
    """Return the runnable that waits until both ServiceAccounts exist."""
    installation = settings.process.installation
    expected = {
        "the controller, which receives the rights": installation.service_account,
        "the delegate, which writes the rights": settings.delegate,
    }
    accounts = Accounts(parts.client, parts.clock, installation.namespace, expected)
    return Runnable("service accounts", accounts.run, accounts.ready)


async def provision(settings: ProvisionerSettings, clock: Clock) -> None:
    """Run the provisioner until it gets a signal. Raises RunnableCrashed, LeaseLost."""
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
