"""What a store of rows and a provider of workloads promise.

Uses contracts.datacenter. Implemented by `memory_store`, `kubernetes_store`, `kubernetes_provider`.
"""

from __future__ import annotations

from typing import Protocol

from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    Observation,
    ServiceProgress,
    ServiceRecord,
    Vault,
)


class StoreConflictError(Exception):
    """The row changed or was made by somebody else since it was read; look again."""


class ProviderError(Exception):
    """A provider could not do it.

    `terminal`: nothing but a change of the wish or of the surroundings makes another attempt worth
    it. Attributes `reason` is one CamelCase word, `message` a sentence for people.
    """

    def __init__(self, reason: str, message: str, *, terminal: bool = False) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason, self.message, self.terminal = reason, message, terminal


class WorkloadStore(Protocol):
    """Keeps rows; (datacenter, name) is there at most once.

    Every write raises StoreConflictError when the row is not as it was read, and may raise the
    errors of its medium. Reads may lag behind writes, never the other way round for one row.
    """

    async def list_by_datacenter(self, datacenter: DatacenterInfo) -> tuple[ServiceRecord, ...]:
        """Return its rows, by name."""
        ...

    async def get(self, record_id: str) -> ServiceRecord | None:
        """Return a row by its id; None when it is gone."""
        ...

    async def get_by_name(self, datacenter: DatacenterInfo, name: str) -> ServiceRecord | None:
        """Return a row by the name of its service; None without one."""
        ...

    async def insert(self, datacenter: DatacenterInfo, desired: DesiredService) -> ServiceRecord:
        """Make a row. Raises StoreConflictError when one of that name is there."""
        ...

    async def update(self, record: ServiceRecord, desired: DesiredService) -> ServiceRecord:
        """Change what a row is to be."""
        ...

    async def retire(self, record: ServiceRecord) -> None:
        """Say that a row is to go; it stays until `remove`. No news when it was said before."""
        ...

    async def record(self, record: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
        """Keep what became of a row; no write when it says the same."""
        ...

    async def remove(self, record: ServiceRecord) -> bool:
        """Let a retiring row go for good; false when it was gone, and others have told of it."""
        ...


class Provider(Protocol):
    """Runs services somewhere. Every method is idempotent, and raises ProviderError."""

    @property
    def name(self) -> str:
        """What spec.provider of a datacenter calls it."""
        ...

    async def observe(self, record: ServiceRecord) -> Observation:
        """Look at what is there."""
        ...

    async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        """Bring everything to what the row asks, in place; never tear down to build anew.

        `vaults`: what the service is told when it depends on `openbao:ready`, sorted by service.
        """
        ...

    async def deprovision(self, record: ServiceRecord) -> bool:
        """Take the row's own objects away; True once all of them are proven to be gone.

        In reverse of how they were made, each by its UID. Volumes stay unless the body says so;
        with deletionPolicy Orphan the objects stay, without a mark that they are ours.
        """
        ...
