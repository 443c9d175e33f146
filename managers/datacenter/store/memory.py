"""A store of rows in memory, for embedding and for tests.

Uses contracts.datacenter. What is in it is gone with the process.
"""

from __future__ import annotations

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
from managers.datacenter.store.workload_object import placed

Key = tuple[str, str]


class MemoryStore:
    """A managers.datacenter.interfaces.WorkloadStore. Every method is one moment: none waits
    inside.

    `writes` counts what was changed.
    """

    def __init__(self) -> None:
        self.writes = 0
        self._rows: dict[Key, ServiceRecord] = {}
        self._ids = itertools.count(1)
        self._versions = itertools.count(1)

    async def list_by_datacenter(self, datacenter: DatacenterInfo) -> tuple[ServiceRecord, ...]:
        """Return its rows, by name."""
        mine = sorted(key for key in self._rows if key[0] == datacenter.name)
        return tuple(_shown(self._rows[key], datacenter) for key in mine)

    async def get(self, row_id: str) -> ServiceRecord | None:
        """Return a row by its id; None when it is gone."""
        return next((row for row in self._rows.values() if row.id == row_id), None)

    async def get_by_name(self, datacenter: DatacenterInfo, name: str) -> ServiceRecord | None:
        """Return a row by the name of its service; None without one."""
        row = self._rows.get((datacenter.name, name))
        return None if row is None else _shown(row, datacenter)

    async def insert(self, datacenter: DatacenterInfo, desired: DesiredService) -> ServiceRecord:
        """Make a row. Raises StoreConflictError when one of that name is there."""
        if (datacenter.name, desired.name) in self._rows:
            raise StoreConflictError(f"{datacenter.name} has a row {desired.name} already")
        return self._keep(ServiceRecord(f"row{next(self._ids)}", _own(datacenter), desired))

    async def update(self, row: ServiceRecord, desired: DesiredService) -> ServiceRecord:
        """Change what a row is to be. Raises StoreConflictError, also for another name."""
        if desired.name != row.name:
            raise StoreConflictError(
                f"{row.name} cannot become {desired.name}: rows keep their name"
            )
        found = self._present(row)
        place = replace(found.datacenter, provider=row.datacenter.provider)
        return self._keep(replace(found, datacenter=place, desired=desired))

    async def retire(self, row: ServiceRecord) -> None:
        """Say that a row is to go; what else changed in it meanwhile does not matter."""
        found = self._same(row)
        if not found.retiring:
            self._keep(replace(found, retiring=True))

    async def record(self, row: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
        """Keep what became of a row; no write when it says the same."""
        found = self._present(row)
        return (
            found if found.progress == progress else self._keep(replace(found, progress=progress))
        )

    async def remove(self, row: ServiceRecord) -> bool:
        """Let a retiring row go for good; false when it was gone, and others have told of it."""
        found = self._rows.get(_key(row))
        if found is None or found.id != row.id:
            return False
        if not self._present(row).retiring:
            raise StoreConflictError(f"{row.name} is wanted: only a retiring row is removed")
        del self._rows[_key(row)]
        self.writes += 1
        return True

    def _same(self, row: ServiceRecord) -> ServiceRecord:
        found = self._rows.get(_key(row))
        if found is None or found.id != row.id:
            raise StoreConflictError(f"{row.name} is gone, or another row has its name")
        return found

    def _present(self, row: ServiceRecord) -> ServiceRecord:
        found = self._same(row)
        if found.version != row.version:
            raise StoreConflictError(f"{row.name} has changed since it was read")
        return found

    def _keep(self, row: ServiceRecord) -> ServiceRecord:
        kept = replace(row, version=str(next(self._versions)))
        self._rows[_key(kept)] = kept
        self.writes += 1
        return kept


def _key(row: ServiceRecord) -> Key:
    return row.datacenter.name, row.name


def _own(datacenter: DatacenterInfo) -> DatacenterInfo:
    """A copy whose labels nobody else can change."""
    labels: Mapping[str, str] = MappingProxyType(dict(datacenter.labels))
    return replace(datacenter, labels=labels)


def _shown(row: ServiceRecord, datacenter: DatacenterInfo) -> ServiceRecord:
    """A row with its datacenter as it is now."""
    made = bool(row.progress.provider_ref)
    place = placed(row.datacenter, _own(datacenter), made=made)
    return replace(row, datacenter=place, moved=place.provider != row.datacenter.provider)
