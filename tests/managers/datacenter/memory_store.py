"""A store of service records in memory.

Uses contracts.datacenter. Its content is lost with the process.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    ServiceProgress,
    ServiceRecord,
)
from managers.datacenter.interfaces import StoreConflictError
from managers.datacenter.store.workload_object import with_current_state

Key = tuple[str, str]


class MemoryStore:
    """A managers.datacenter.interfaces.WorkloadStore. Every method is atomic: none awaits."""

    def __init__(self) -> None:
        self._records: dict[Key, ServiceRecord] = {}
        self._ids = itertools.count(1)
        self._versions = itertools.count(1)

    async def list_by_datacenter(self, datacenter: DatacenterInfo) -> tuple[ServiceRecord, ...]:
        """Return its records, sorted by name."""
        keys = sorted(key for key in self._records if key[0] == datacenter.name)
        return tuple(_current(self._records[key], datacenter) for key in keys)

    async def get(self, record_id: str) -> ServiceRecord | None:
        """Return a record by its id; None when it is gone."""
        return next((record for record in self._records.values() if record.id == record_id), None)

    async def get_by_name(self, datacenter: DatacenterInfo, name: str) -> ServiceRecord | None:
        """Return a record by the name of its service; None without one."""
        record = self._records.get((datacenter.name, name))
        return None if record is None else _current(record, datacenter)

    async def insert(self, datacenter: DatacenterInfo, desired: DesiredService) -> ServiceRecord:
        """Create a record. Raises StoreConflictError if one of that name exists."""
        if (datacenter.name, desired.name) in self._records:
            raise StoreConflictError(f"{datacenter.name} already has a record {desired.name}")
        return self._put(ServiceRecord(f"record{next(self._ids)}", _copy(datacenter), desired))

    async def update(self, record: ServiceRecord, desired: DesiredService) -> ServiceRecord:
        """Change the desired service of a record. Raises StoreConflictError for another name."""
        if desired.name != record.name:
            raise StoreConflictError(
                f"{record.name} cannot be renamed to {desired.name}: the name is immutable"
            )
        stored = self._latest(record)
        datacenter = replace(stored.datacenter, provider=record.datacenter.provider)
        return self._put(replace(stored, datacenter=datacenter, desired=desired))

    async def retire(self, record: ServiceRecord) -> None:
        """Mark a record as retiring, whatever else changed in it."""
        stored = self._existing(record)
        if not stored.retiring:
            self._put(replace(stored, retiring=True))

    async def record(self, record: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
        """Store the progress of a record; no write without a difference."""
        stored = self._latest(record)
        if stored.progress == progress:
            return stored
        return self._put(replace(stored, progress=progress))

    async def remove(self, record: ServiceRecord) -> bool:
        """Delete a retiring record; False if it was gone already."""
        stored = self._records.get(_key(record))
        if stored is None or stored.id != record.id:
            return False
        if not self._latest(record).retiring:
            raise StoreConflictError(f"{record.name} is not retiring and cannot be removed")
        del self._records[_key(record)]
        return True

    def _existing(self, record: ServiceRecord) -> ServiceRecord:
        stored = self._records.get(_key(record))
        if stored is None or stored.id != record.id:
            raise StoreConflictError(f"{record.name} was deleted, or recreated with another id")
        return stored

    def _latest(self, record: ServiceRecord) -> ServiceRecord:
        stored = self._existing(record)
        if stored.version != record.version:
            raise StoreConflictError(f"{record.name} has changed since it was read")
        return stored

    def _put(self, record: ServiceRecord) -> ServiceRecord:
        stored = replace(record, version=str(next(self._versions)))
        self._records[_key(stored)] = stored
        return stored


def _key(record: ServiceRecord) -> Key:
    return record.datacenter.name, record.name


def _copy(datacenter: DatacenterInfo) -> DatacenterInfo:
    """A copy whose labels no caller can change."""
    labels: Mapping[str, str] = MappingProxyType(dict(datacenter.labels))
    return replace(datacenter, labels=labels)


def _current(record: ServiceRecord, datacenter: DatacenterInfo) -> ServiceRecord:
    """A record with the present state of its datacenter."""
    place = with_current_state(
        record.datacenter, _copy(datacenter), provisioned=bool(record.progress.provider_ref)
    )
    changed = place.provider != record.datacenter.provider
    return replace(record, datacenter=place, provider_changed=changed)
