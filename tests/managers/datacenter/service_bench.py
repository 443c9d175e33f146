"""A store and a provider in memory for the tests of managers.datacenter.lifecycle.service.

Uses managers.datacenter and tests.managers.datacenter.bodies.
"""

import random
from collections.abc import Iterable, Sequence
from typing import Any

from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import DatacenterInfo, ServiceRecord
from managers.datacenter.interfaces import Provider, ProviderError, WorkloadStore
from managers.datacenter.lifecycle.service import (
    NO_OPTIONS,
    DatacenterReport,
    DatacenterService,
    ReconcileOptions,
)
from managers.datacenter.sources.hooks import Body, HookContext
from managers.datacenter.sources.registry import SourceRegistry
from runtime.testing.clock import ManualClock
from tests.managers.datacenter.bodies import datacenter, openbao, service
from tests.managers.datacenter.memory_provider import MemoryProvider
from tests.managers.datacenter.memory_store import MemoryStore

FRA = datacenter(provider="memory")
SHIPPER = service("shipper")
DNS = service("dns")
SHOP = service("shop", depends_on=("dns",))
VAULT = openbao("vault")
READER = service("reader", depends_on=("openbao:ready",))
BUSY = ProviderError("Unavailable", "the server is busy")
BROKEN = ProviderError("Rejected", "no image", terminal=True)
DELETING = ReconcileOptions(deleting=True)


class StaticHook:
    """A hook with a fixed result."""

    def __init__(self, name: str, *bodies: BootstrapService, priority: int = 0) -> None:
        self.name, self.priority = name, priority
        self.bodies: Sequence[BootstrapService] = bodies
        self.error: Exception | None = None
        self.datacenters: list[DatacenterInfo] = []

    async def services(self, ctx: HookContext, datacenter: DatacenterInfo) -> Iterable[Body]:
        self.datacenters.append(datacenter)
        if self.error is not None:
            raise self.error
        return self.bodies if datacenter.region == "eu-central" else ()


class Bench:
    """A store, a provider and a registry that survive a restart of the service."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.memory = MemoryStore()
        self.store: WorkloadStore = self.memory
        self.provider = MemoryProvider()
        self.providers: dict[str, Provider] = {"memory": self.provider}
        self.registry = SourceRegistry()
        self.events_sent: list[tuple[str, str, str]] = []
        self.notes: list[str] = []
        self.restart()

    def restart(self) -> None:
        """A new process: only the store and the provider keep their state."""
        rng = random.Random(7)
        self.service = DatacenterService(
            self.store, self.providers, self.registry, self.clock, rng, self._tell
        )

    def _tell(
        self, about: DatacenterInfo | ServiceRecord, kind: str, reason: str, text: str
    ) -> None:
        self.events_sent.append((about.name, kind, reason))
        self.notes.append(text)

    async def run(
        self,
        declared: Sequence[Any] | None = (SHIPPER,),
        extras: ReconcileOptions = NO_OPTIONS,
        where: DatacenterInfo = FRA,
    ) -> DatacenterReport:
        return await self.service.reconcile(where, declared, extras)

    async def record(self, name: str = "shipper") -> ServiceRecord:
        record = await self.memory.get_by_name(FRA, name)
        assert record is not None
        return record

    async def states(self) -> dict[str, str]:
        records = await self.memory.list_by_datacenter(FRA)
        return {record.name: record.progress.state for record in records}

    @property
    def events(self) -> list[str]:
        """Name and reason of the events since the last call, in order."""
        lines = [f"{name} {reason}" for name, _, reason in self.events_sent]
        self.events_sent.clear()
        return lines
