"""Checks before the election that a process can list each kind that a leader watches.

A standby has no caches, so its readiness does not cover them. Without this check, a release that
lacks a right or a CRD would be Ready as a standby, and a rollout would replace every working
process before the first leader of the new release fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from baoctl.settings import Settings
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES, TENANTS
from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from contracts.owned_kinds import CHILDREN
from runtime.builtin_kinds import DAEMON_SET, DEPLOYMENT
from runtime.client.client import Client
from runtime.client.listing import ListOptions
from runtime.clock import Clock, Deadline
from runtime.errors import ApiError, Transient
from runtime.process.manager import Runnable
from runtime.types import Resource

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

RETRY_SECONDS = 2.0
Kind = tuple[Resource, str | None]
"""A kind, and the namespace to list; None for all namespaces."""


def kinds_of_leader(settings: Settings) -> tuple[Kind, ...]:
    """Return the kinds that the informers of a leader list before its controllers start.

    Empty for several namespaces: a namespace that cannot be read affects only its clusters.
    """
    own = (CLUSTERS, BACKUPS, RESTORES)
    children = tuple(resource for resource, _ in CHILDREN)
    if settings.installation.mode == "tenants":
        return tuple((resource, None) for resource in (*own, TENANTS))
    if settings.namespaces:
        namespace, *more = settings.namespaces
        return () if more else tuple((resource, namespace) for resource in (*own, *children))
    everywhere = (*own, *children)
    if settings.runs_datacenters:
        everywhere += (DATACENTERS, SERVICE_SETS, WORKLOADS, DEPLOYMENT, DAEMON_SET)
    return tuple((resource, None) for resource in everywhere)


class Preflight:
    """Lists each kind once; retries a kind that cannot be listed until the deadline."""

    def __init__(
        self, client: Client, clock: Clock, kinds: Sequence[Kind], seconds: float = 120.0
    ) -> None:
        self._client = client
        self._clock = clock
        self._kinds = kinds
        self._seconds = seconds
        self._passed = False
        self._failure = "the kinds that a leader watches are not listed yet"

    def failing(self) -> str | None:
        """Return why this process could not lead, or None; for the readiness check."""
        return None if self._passed else self._failure

    async def ready(self) -> None:
        """Return when every kind was listed. Raises TimeoutError after the deadline."""
        async with Deadline(self._clock, self._seconds):
            for resource, namespace in self._kinds:
                await self._list(resource, namespace)
        self._passed = True

    async def _list(self, resource: Resource, namespace: str | None) -> None:
        # No object has this name, so the list is always empty.
        options = ListOptions(field_selector="metadata.name=preflight", metadata_only=True)
        while True:
            try:
                await self._client.list(resource, namespace, options=options)
            except (ApiError, Transient) as error:
                self._failure = f"{resource} cannot be listed: {error}"
                log.warning("the preflight check failed; it is retried", error=self._failure)
                await self._clock.sleep(RETRY_SECONDS)
            else:
                return

    @property
    def runnable(self) -> Runnable:
        """The runnable that delays the election until every kind was listed."""
        return Runnable("preflight", asyncio.Event().wait, self.ready)
