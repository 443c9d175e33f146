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
    """The record was changed or created since it was read: the caller has to read it again."""


class ProviderError(Exception):
    """An operation of a provider failed.

    `terminal`: a retry fails again until the desired service or its environment changes. `reason`
    is one CamelCase word, `message` a sentence for users.
    """

    def __init__(self, reason: str, message: str, *, terminal: bool = False) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason, self.message, self.terminal = reason, message, terminal


class WorkloadStore(Protocol):
    """Stores service records; (datacenter, name) is unique.

    Every write raises StoreConflictError if the record changed since it was read, and may raise
    the errors of its backend. A read may be stale, but never returns an older version of a record
    than an earlier read.
    """

    async def list_by_datacenter(self, datacenter: DatacenterInfo) -> tuple[ServiceRecord, ...]:
        """Return the records of a datacenter, sorted by name."""
        ...

    async def get(self, record_id: str) -> ServiceRecord | None:
        """Return a record by its id; None if it does not exist."""
        ...

    async def get_by_name(self, datacenter: DatacenterInfo, name: str) -> ServiceRecord | None:
        """Return a record by the name of its service; None if it does not exist."""
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
        """Store the progress of a record; write nothing if it is unchanged."""
        ...

    async def remove(self, record: ServiceRecord) -> bool:
        """Delete a retiring record.

        Returns False if it was already deleted, so that the caller sends its events only once.
        """
        ...


class Provider(Protocol):
    """Runs services on one platform. Every method is idempotent, and raises ProviderError."""

    @property
    def name(self) -> str:
        """The value of spec.provider of a Datacenter that selects this provider."""
        ...

    async def observe(self, record: ServiceRecord) -> Observation:
        """Read the state of the workload."""
        ...

    async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        """Create or update all objects of the record.

        Objects are updated in place, and recreated only if an immutable field differs. Volumes are
        kept. `vaults`: passed to a service that depends on `openbao:ready`, sorted by service.
        """
        ...

    async def deprovision(self, record: ServiceRecord) -> bool:
        """Delete the objects of the record; return True when none of them exists any more.

        Objects are deleted in reverse order of their creation, each by its UID. Volumes are kept
        unless the body requests their deletion. With deletionPolicy Orphan the objects are kept,
        without our ownership metadata.
        """
        ...
