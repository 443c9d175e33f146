"""Interfaces of a store of service records and of a provider of workloads.

Uses contracts.datacenter. Implemented by managers.datacenter.store.kubernetes and
managers.datacenter.provider.kubernetes.
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
    """The record was changed or created since it was read; read it again."""


class ProviderError(Exception):
    """An operation of a provider failed.

    `terminal`: only a change of the desired service or of the environment justifies a retry.
    Attribute `reason` is one CamelCase word, `message` a sentence for users.
    """

    def __init__(self, reason: str, message: str, *, terminal: bool = False) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason, self.message, self.terminal = reason, message, terminal


class WorkloadStore(Protocol):
    """Stores service records; (datacenter, name) is unique.

    Every write raises StoreConflictError if the record changed since it was read, and may raise
    errors of its medium. Reads may lag behind writes, but never go back in time for one record.
    """

    async def list_by_datacenter(self, datacenter: DatacenterInfo) -> tuple[ServiceRecord, ...]:
        """Return its records, sorted by name."""
        ...

    async def get(self, record_id: str) -> ServiceRecord | None:
        """Return a record by its id; None when it is gone."""
        ...

    async def get_by_name(self, datacenter: DatacenterInfo, name: str) -> ServiceRecord | None:
        """Return a record by the name of its service; None without one."""
        ...

    async def insert(self, datacenter: DatacenterInfo, desired: DesiredService) -> ServiceRecord:
        """Create a record. Raises StoreConflictError if one of that name exists."""
        ...

    async def update(self, record: ServiceRecord, desired: DesiredService) -> ServiceRecord:
        """Change the desired service of a record."""
        ...

    async def retire(self, record: ServiceRecord) -> None:
        """Mark a record as retiring; it stays until `remove`. Idempotent."""
        ...

    async def record(self, record: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
        """Store the progress of a record; no write without a difference."""
        ...

    async def remove(self, record: ServiceRecord) -> bool:
        """Delete a retiring record; False if it was gone already, so that events are sent once."""
        ...


class Provider(Protocol):
    """Runs services somewhere. Every method is idempotent, and raises ProviderError."""

    @property
    def name(self) -> str:
        """The value of spec.provider of a datacenter that selects it."""
        ...

    async def observe(self, record: ServiceRecord) -> Observation:
        """Read the state of the workload."""
        ...

    async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        """Create or update all objects of the record in place; never delete to recreate.

        `vaults`: passed to a service that depends on `openbao:ready`, sorted by service.
        """
        ...

    async def deprovision(self, record: ServiceRecord) -> bool:
        """Delete the objects of the record; True once all of them are confirmed gone.

        In reverse order of creation, each by its UID. Volumes stay unless the body requests their
        deletion; with deletionPolicy Orphan the objects stay, without our ownership metadata.
        """
        ...
