"""A store of service records in the API server: one BootstrapWorkload for each service.

Uses runtime.client.client, a cache of BootstrapWorkloads and
managers.datacenter.store.workload_object. Reads use the cache, which observes every write. The name
of a BootstrapWorkload is derived from its datacenter and service, so it is unique.
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
from contracts.datacenter.service_spec import parse_cached
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    ServiceProgress,
    ServiceRecord,
)
from managers.datacenter.interfaces import StoreConflictError
from managers.datacenter.store.workload_object import body_of, record_of, spec_of, status_of
from runtime.apply.status_client import StatusClient
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
"""Maximum number of parsed records in the cache, each in its last version."""
LOGGED_MAX: Final = 1024
"""Maximum number of invalid objects whose log entry is not repeated."""
CHANGED: Final = (AlreadyExists, Conflict, PatchFailed)
GONE: Final = (*CHANGED, NotFound)
DATACENTER_INDEX: Final = "datacenter"
UID_INDEX: Final = "uid"


def by_datacenter(obj: Object) -> Iterable[str]:
    """Index function: the datacenter of a BootstrapWorkload, from its spec or else its label."""
    spec: Any = obj.get("spec")
    value = spec.get("datacenter") if isinstance(spec, dict) else None
    name = value if isinstance(value, str) else labels_of(obj).get(names.DATACENTER)
    return (name,) if name else ()


def by_uid(obj: Object) -> Iterable[str]:
    """Index function: the id of the record."""
    return (uid_of(obj),)


class KubernetesStore:
    """Implements managers.datacenter.interfaces.WorkloadStore.

    Also raises errors of the API server, and LeaseLost. An invalid object is skipped and logged
    once.
    """

    def __init__(self, client: Client, workloads: Cache, clock: Clock) -> None:
        workloads.add_index(DATACENTER_INDEX, by_datacenter)
        workloads.add_index(UID_INDEX, by_uid)
        self._client = client
        self._workloads = workloads
        self._clock = clock
        self._statuses = StatusClient(client, WORKLOADS, FIELD_MANAGER, workloads)
        self._logged: set[str] = set()

    async def list_by_datacenter(self, datacenter: DatacenterInfo) -> tuple[ServiceRecord, ...]:
        """Return the records of a datacenter, sorted by name."""
        objects = self._workloads.by_index(DATACENTER_INDEX, datacenter.name)
        records = [record for obj in objects if (record := self._read(obj, datacenter)) is not None]
        return tuple(sorted(records, key=lambda record: record.name))

    def invalid(self, datacenter: DatacenterInfo) -> tuple[str, ...]:
        """Return the services whose BootstrapWorkload has no record because it is invalid."""
        objects = self._workloads.by_index(DATACENTER_INDEX, datacenter.name)
        return tuple(
            labels_of(obj).get(names.BOOTSTRAP, key_of(obj).name)
            for obj in objects
            if not is_terminating(obj) and self._read(obj, datacenter) is None
        )

    async def get(self, record_id: str) -> ServiceRecord | None:
        """Return a record by its id, with its stored datacenter; None if it does not exist."""
        objects = self._workloads.by_index(UID_INDEX, record_id)
        return self._read(objects[0], None) if objects else None

    async def get_by_name(self, datacenter: DatacenterInfo, name: str) -> ServiceRecord | None:
        """Return a record by the name of its service; None if it does not exist."""
        obj = self._workloads.get(ObjectKey("", names.workload_name(datacenter.name, name)))
        return None if obj is None else self._read(obj, datacenter)

    async def insert(self, datacenter: DatacenterInfo, desired: DesiredService) -> ServiceRecord:
        """Create a record. Raises StoreConflictError if an object of that name exists."""
        body = body_of(datacenter, desired)
        with _as_conflict(key_of(body), CHANGED):
            created = await self._client.create(WORKLOADS, body, field_manager=FIELD_MANAGER)
        return self._record_after_write(created, datacenter)

    async def update(self, record: ServiceRecord, desired: DesiredService) -> ServiceRecord:
        """Change the desired service of a record."""
        if desired.name != record.name:
            raise StoreConflictError(
                f"{record.name} cannot be renamed to {desired.name}: the name is immutable"
            )
        change = {"op": "replace", "path": "/spec", "value": spec_of(record.datacenter, desired)}
        with _as_conflict(_key(record), GONE):
            return self._record_after_write(await self._patch(record, change), record.datacenter)

    async def retire(self, record: ServiceRecord) -> None:
        """Mark a record as retiring, even if it changed since it was read."""
        key = _key(record)
        live = self._workloads.get(key)
        if live is not None and uid_of(live) == record.id and is_terminating(live):
            return
        with suppress(NotFound), _as_conflict(key, CHANGED):
            await self._client.delete(WORKLOADS, key, uid=record.id)
            # The response to a delete does not have the new resource version.
            self._workloads.observe(await self._client.get(WORKLOADS, key))

    async def record(self, record: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
        """Write the status of a record; no request if it is unchanged."""
        key = _key(record)
        live = self._workloads.get(key)
        if live is None or uid_of(live) != record.id:
            raise StoreConflictError(
                f"BootstrapWorkload {key} was deleted, or recreated with another UID"
            )
        if resource_version_of(live) != record.version:
            raise StoreConflictError(f"BootstrapWorkload {key} has changed since it was read")
        status = status_of(live, record, progress, self._clock.now()).to_object()
        with _as_conflict(key, GONE):
            stored = await self._statuses.apply_if_changed(live, status, optimistic_lock=True)
        return self._record_after_write(stored, record.datacenter)

    async def remove(self, record: ServiceRecord) -> bool:
        """Remove the finalizer of a retiring record; False if either no longer exists."""
        key = _key(record)
        live = self._workloads.get(key)
        if live is None or uid_of(live) != record.id:
            return False
        if not is_terminating(live):
            raise StoreConflictError(f"{record.name} is not retiring and cannot be removed")
        present: list[str] = live["metadata"].get("finalizers") or []
        if names.WORKLOAD_FINALIZER not in present:
            return False
        path = f"/metadata/finalizers/{present.index(names.WORKLOAD_FINALIZER)}"
        test = {"op": "test", "path": path, "value": names.WORKLOAD_FINALIZER}
        try:
            with _as_conflict(key, CHANGED):
                patched = await self._patch(record, test, {"op": "remove", "path": path})
        except NotFound:
            return False
        self._workloads.observe(patched)
        return True

    async def _patch(self, record: ServiceRecord, *ops: Object) -> Object:
        identity = (
            {"op": "test", "path": "/metadata/uid", "value": record.id},
            {"op": "test", "path": "/metadata/resourceVersion", "value": record.version},
        )
        return await self._client.json_patch(
            WORKLOADS, _key(record), (*identity, *ops), field_manager=FIELD_MANAGER
        )

    def _record_after_write(self, obj: Object, datacenter: DatacenterInfo) -> ServiceRecord:
        """Return the record after a write, and add it to the cache."""
        return _cached_record(as_cached(self._workloads, obj), datacenter)

    def _read(self, obj: Object, datacenter: DatacenterInfo | None) -> ServiceRecord | None:
        """Return the record of an object; None if it is invalid or has only other finalizers."""
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
        log.error("BootstrapWorkload is invalid", name=key_of(obj).name, detail=str(error))


_cached_record = memoize(partial(record_of, parse=parse_cached), size=CACHE_SIZE, slot=uid_of)


def _key(record: ServiceRecord) -> ObjectKey:
    return ObjectKey("", names.workload_name(record.datacenter.name, record.name))


@contextmanager
def _as_conflict(key: ObjectKey, classes: tuple[type[ApiError], ...]) -> Iterator[None]:
    try:
        yield
    except classes as error:
        raise StoreConflictError(f"BootstrapWorkload {key}: {error}") from error
