"""A store of rows in the API server: one BootstrapWorkload each.

Uses runtime.client.client, a cache of BootstrapWorkloads and
managers.datacenter.store.workload_object. Reads come from the cache, which is told of every write.
The name of a row follows from its datacenter and service, so that no two of them can be made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

import structlog

from contracts.datacenter import names
from contracts.datacenter.kinds import WORKLOADS
from contracts.datacenter.objects import InvalidDatacenterError
from contracts.datacenter.service_spec import known_body
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    ServiceProgress,
    ServiceRecord,
)
from managers.datacenter.interfaces import StoreConflictError
from managers.datacenter.store.workload_object import body_of, row_of, spec_of, status_of
from runtime.cache.cache import Cache, as_cached
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import AlreadyExists, ApiError, Conflict, NotFound, PatchFailed
from runtime.memo import memoize
from runtime.types import (
    Object,
    ObjectKey,
    is_terminating,
    key_of,
    labels_of,
    resource_version_of,
    uid_of,
)

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

FIELD_MANAGER: Final = "openbao-operator-datacenter"
CACHE_SIZE: Final = 8192
"""Rows that are kept as they were read, each in its last version."""
LOGGED_MAX: Final = 1024
"""Unreadable objects that are remembered as told."""
CHANGED: Final = (AlreadyExists, Conflict, PatchFailed)
GONE: Final = (*CHANGED, NotFound)
DATACENTER_INDEX: Final = "datacenter"
UID_INDEX: Final = "uid"


def by_datacenter(obj: Object) -> Iterable[str]:
    """The datacenter that a BootstrapWorkload belongs to; its label where the spec says nothing."""
    spec: Any = obj.get("spec")
    named = spec.get("datacenter") if isinstance(spec, dict) else None
    name = named if isinstance(named, str) else labels_of(obj).get(names.DATACENTER)
    return (name,) if name else ()


def by_uid(obj: Object) -> Iterable[str]:
    """The id of the row."""
    return (uid_of(obj),)


class KubernetesStore:
    """A managers.datacenter.interfaces.WorkloadStore.

    Also raises what the API server answers, and LeaseLost. An object that cannot be read is no row:
    it is told once, in the log.
    """

    def __init__(self, client: Client, workloads: Cache, clock: Clock) -> None:
        workloads.add_index(DATACENTER_INDEX, by_datacenter)
        workloads.add_index(UID_INDEX, by_uid)
        self._client = client
        self._workloads = workloads
        self._clock = clock
        self._logged: set[str] = set()

    async def list_by_datacenter(self, datacenter: DatacenterInfo) -> tuple[ServiceRecord, ...]:
        """Return its rows, by name."""
        objects = self._workloads.by_index(DATACENTER_INDEX, datacenter.name)
        records = [record for obj in objects if (record := self._read(obj, datacenter)) is not None]
        return tuple(sorted(records, key=lambda record: record.name))

    async def get(self, record_id: str) -> ServiceRecord | None:
        """Return a row by its id, with what it knows of its datacenter; None when it is gone."""
        objects = self._workloads.by_index(UID_INDEX, record_id)
        return self._read(objects[0], None) if objects else None

    async def get_by_name(self, datacenter: DatacenterInfo, name: str) -> ServiceRecord | None:
        """Return a row by the name of its service; None without one."""
        obj = self._workloads.get(ObjectKey("", names.row(datacenter.name, name)))
        return None if obj is None else self._read(obj, datacenter)

    async def insert(self, datacenter: DatacenterInfo, desired: DesiredService) -> ServiceRecord:
        """Make a row. Raises StoreConflictError when an object of that name is there."""
        body = body_of(datacenter, desired)
        with _as_conflict(key_of(body), CHANGED):
            created = await self._client.create(WORKLOADS, body, field_manager=FIELD_MANAGER)
        return self._observed(created, datacenter)

    async def update(self, record: ServiceRecord, desired: DesiredService) -> ServiceRecord:
        """Change what a row is to be."""
        if desired.name != record.name:
            raise StoreConflictError(
                f"{record.name} cannot become {desired.name}: rows keep their name"
            )
        change = {"op": "replace", "path": "/spec", "value": spec_of(record.datacenter, desired)}
        with _as_conflict(_key(record), GONE):
            return self._observed(await self._patch(record, change), record.datacenter)

    async def retire(self, record: ServiceRecord) -> None:
        """Say that a row is to go; what else changed in it meanwhile does not matter."""
        key = _key(record)
        live = self._workloads.get(key)
        if live is not None and uid_of(live) == record.id and is_terminating(live):
            return
        with suppress(NotFound), _as_conflict(key, CHANGED):
            await self._client.delete(WORKLOADS, key, uid=record.id)
            # The answer to a delete does not tell the version that it made.
            self._workloads.observe(await self._client.get(WORKLOADS, key))

    async def record(self, record: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
        """Write the status of a row; no request when it says the same."""
        key = _key(record)
        live = self._workloads.get(key)
        if live is None or uid_of(live) != record.id:
            raise StoreConflictError(f"BootstrapWorkload {key} is gone, or is another one")
        if resource_version_of(live) != record.version:
            raise StoreConflictError(f"BootstrapWorkload {key} has changed since it was read")
        status = status_of(live, record, progress, self._clock.now()).to_object()
        if (live.get("status") or {}) == status:
            return _cached_record(live, record.datacenter)
        body: Object = {
            "apiVersion": WORKLOADS.api_version,
            "kind": WORKLOADS.kind,
            "metadata": {"name": key.name, "uid": record.id, "resourceVersion": record.version},
            "status": status,
        }
        with _as_conflict(key, GONE):
            result = await self._client.apply(
                WORKLOADS, body, field_manager=FIELD_MANAGER, force=True, subresource="status"
            )
        return self._observed(result.object, record.datacenter)

    async def remove(self, record: ServiceRecord) -> bool:
        """Take the finalizer off a retiring row; false when it was off, or the row gone."""
        key = _key(record)
        live = self._workloads.get(key)
        if live is None or uid_of(live) != record.id:
            return False
        if not is_terminating(live):
            raise StoreConflictError(f"{record.name} is wanted: only a retiring row is removed")
        present: list[str] = live["metadata"].get("finalizers") or []
        if names.WORKLOAD_FINALIZER not in present:
            return False
        path = f"/metadata/finalizers/{present.index(names.WORKLOAD_FINALIZER)}"
        test = {"op": "test", "path": path, "value": names.WORKLOAD_FINALIZER}
        try:
            with _as_conflict(key, CHANGED):
                left = await self._patch(record, test, {"op": "remove", "path": path})
        except NotFound:
            return False
        self._workloads.observe(left)
        return True

    async def _patch(self, record: ServiceRecord, *ops: Object) -> Object:
        identity = (
            {"op": "test", "path": "/metadata/uid", "value": record.id},
            {"op": "test", "path": "/metadata/resourceVersion", "value": record.version},
        )
        return await self._client.json_patch(
            WORKLOADS, _key(record), (*identity, *ops), field_manager=FIELD_MANAGER
        )

    def _observed(self, obj: Object, datacenter: DatacenterInfo) -> ServiceRecord:
        """The row that a write left; the next read sees it."""
        return _cached_record(as_cached(self._workloads, obj), datacenter)

    def _read(self, obj: Object, datacenter: DatacenterInfo | None) -> ServiceRecord | None:
        """The row of an object; None when it is none, or is only waited for by others."""
        finalizers = obj["metadata"].get("finalizers") or ()
        if is_terminating(obj) and names.WORKLOAD_FINALIZER not in finalizers:
            return None
        try:
            record = _cached_record(obj, datacenter)
        except InvalidDatacenterError as error:
            self._log_once(obj, error)
            return None
        self._logged.discard(record.id)
        return record

    def _log_once(self, obj: Object, error: InvalidDatacenterError) -> None:
        uid = uid_of(obj)
        if uid in self._logged:
            return
        if len(self._logged) >= LOGGED_MAX:
            self._logged.clear()
        self._logged.add(uid)
        log.error("BootstrapWorkload cannot be read", name=key_of(obj).name, detail=str(error))


_cached_record = memoize(partial(row_of, known=known_body), size=CACHE_SIZE, slot=uid_of)


def _key(record: ServiceRecord) -> ObjectKey:
    return ObjectKey("", names.row(record.datacenter.name, record.name))


@contextmanager
def _as_conflict(key: ObjectKey, classes: tuple[type[ApiError], ...]) -> Iterator[None]:
    try:
        yield
    except classes as error:
        raise StoreConflictError(f"BootstrapWorkload {key}: {error}") from error
