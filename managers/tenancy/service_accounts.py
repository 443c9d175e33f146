"""Verifies once, before the provisioner starts, that its ServiceAccounts exist.

The API server accepts a RoleBinding to a missing account, so a wrong name would cause no error:
tenants would be Provisioned, and the controller would have no RBAC. Composed by
`baoctl.process.provisioner`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from runtime.builtin_kinds import SERVICE_ACCOUNT
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import ApiError, NotFound, Transient
from runtime.types import ObjectKey

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

RETRY_SECONDS = 2.0


class AccountMissingError(Exception):
    """A ServiceAccount does not exist; the message names it and its purpose."""


class Accounts:
    """Reads each account until the API server responds; a missing account ends the process.

    `names_by_role` maps the purpose of each account to its name.
    """

    def __init__(
        self, client: Client, clock: Clock, namespace: str, names_by_role: Mapping[str, str]
    ) -> None:
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._names_by_role = names_by_role
        self._verified = asyncio.Event()

    async def run(self) -> None:
        """Verify the accounts, then idle. Raises AccountMissingError."""
        for role, name in self._names_by_role.items():
            await self._verify(role, name)
        self._verified.set()
        await asyncio.Event().wait()

    async def ready(self) -> None:
        """Return when all accounts are verified."""
        await self._verified.wait()

    async def _verify(self, role: str, name: str) -> None:
        while True:
            try:
                await self._client.get(
                    SERVICE_ACCOUNT, ObjectKey(self._namespace, name), metadata_only=True
                )
            except NotFound:
                raise AccountMissingError(
                    f"ServiceAccount {self._namespace}/{name} does not exist: it is required as "
                    f"{role}"
                ) from None
            except (ApiError, Transient) as error:
                log.warning("cannot read a service account", name=name, error=str(error))
                await self._clock.sleep(RETRY_SECONDS)
            else:
                return
