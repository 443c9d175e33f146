"""The two reconcilers of datacenters: one for a Datacenter and its records, one for each record.

    Datacenter         sources -> merge -> plan -> records -> status
    BootstrapWorkload  observe -> decide -> act -> store

Uses managers.datacenter.lifecycle.service for both. Composed by baoctl.controllers.datacenter;
called by runtime.controller.controller.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from contracts.api.group import API_VERSION
from contracts.conditions.message import clean_message
from contracts.datacenter import names
from contracts.datacenter.grants import NO_ACCESS, NodeAccess, ObjectKind
from contracts.datacenter.kinds import DATACENTER_KIND, DATACENTERS, WORKLOAD_KIND
from contracts.datacenter.objects import Datacenter, DatacenterSpec, InvalidDatacenterError, State
from contracts.datacenter.rules.all_rules import datacenter_violations
from contracts.datacenter.service_spec import parse_cached
from contracts.datacenter.workload_records import (
    DECLARED,
    DatacenterInfo,
    ServiceRecord,
    ServiceSource,
)
from managers.datacenter.lifecycle.plan import GATES, list_names
from managers.datacenter.lifecycle.service import (
    DatacenterReport,
    DatacenterService,
    ReconcileOptions,
)
from managers.datacenter.sources.merge import SourceResult
from managers.datacenter.status import (
    DatacenterCondition,
    DatacenterSummary,
    compute,
    summarize,
)
from managers.datacenter.store.kubernetes import FIELD_MANAGER, KubernetesStore, by_datacenter
from runtime.apply.status_client import StatusClient
from runtime.cache.cache import Cache, as_cached
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.controller.finalizer import Finalizer
from runtime.errors import NotFound, Transient
from runtime.events import EventRecorder
from runtime.memo import memoize
from runtime.outcome import Blocked, Done, Outcome, Wait, combine
from runtime.types import Object, ObjectKey, Request, is_terminating, key_of, uid_of

HOOK_INTERVAL: Final = 300.0
"""Seconds between two calls of the hooks, because no event reports a change of their results."""
DEGRADED_HOOK_INTERVAL: Final = 30.0
"""The same while a source fails."""
FIRST_STATUS_DELAY: Final = 5.0
"""Seconds to the first status of a new datacenter, unless a change of its records triggers it."""
DELETION_REQUEUE: Final = 10.0
PARSED_MAX: Final = 4096
"""Maximum number of parsed Datacenters in the cache."""
FALLBACK_STATE: Final[State] = "Maintenance"
Grant = TypeVar("Grant")
NODE_ACCESS: Final = TypeAdapter(NodeAccess)
OBJECT_KINDS: Final = TypeAdapter(tuple[ObjectKind, ...])


class NotRecordedError(Transient):
    """Records could not be inserted, updated or retired; the message names each of them."""


@dataclass(frozen=True, slots=True)
class ValidDatacenter:
    """A valid Datacenter: its info for hooks, its spec and its declared services."""

    info: DatacenterInfo
    spec: DatacenterSpec
    declared: SourceResult | None


@dataclass(frozen=True, slots=True)
class InvalidDatacenter:
    """An invalid Datacenter, with the error; its records are not changed."""

    info: DatacenterInfo
    error: str


def read(live: Object) -> ValidDatacenter | InvalidDatacenter:
    """Parse and validate an object. An invalid one is returned as a value, so that it is cached."""
    try:
        datacenter = Datacenter.from_object(live, parse_cached)
        violations = datacenter_violations(datacenter)
        if violations:
            raise InvalidDatacenterError(violations)
    except InvalidDatacenterError as error:
        return InvalidDatacenter(_fallback_info(live), clean_message(str(error)))
    services = datacenter.spec.bootstrap_services
    declared = None if services is None else SourceResult(ServiceSource(DECLARED), services)
    return ValidDatacenter(info_of(datacenter), datacenter.spec, declared)


_read = memoize(read, size=PARSED_MAX, slot=uid_of)


def info_of(datacenter: Datacenter) -> DatacenterInfo:
    """Return the info of a datacenter for hooks, stores and providers."""
    spec, metadata = datacenter.spec, datacenter.metadata
    return DatacenterInfo(
        name=metadata.name,
        uid=metadata.uid,
        namespace=spec.namespace,
        provider=spec.provider,
        region=spec.region or "",
        zone=spec.zone or "",
        labels=spec.labels,
        state=spec.state,
        node_access=spec.node_access or NO_ACCESS,
        object_kinds=spec.object_kinds,
    )


def _fallback_info(live: Object) -> DatacenterInfo:
    """Return the info of a datacenter with an invalid spec: its state and its permissions.

    The namespace and the provider are in its records.
    """
    spec: Any = live.get("spec")
    requested = (spec if isinstance(spec, dict) else {}).get("state", "Active")
    # An unknown state may come from a newer version, and may forbid changes.
    state = next((name for name in GATES if name == requested), FALLBACK_STATE)
    allowed = spec if isinstance(spec, dict) else {}
    return DatacenterInfo(
        key_of(live).name,
        uid_of(live),
        "",
        state=state,
        node_access=_read_grant(NODE_ACCESS, allowed.get("nodeAccess"), NO_ACCESS),
        object_kinds=_read_grant(OBJECT_KINDS, allowed.get("objectKinds"), ()),
    )


def _read_grant(adapter: TypeAdapter[Grant], raw: Any, default: Grant) -> Grant:
    try:
        return adapter.validate_python(raw)
    except ValidationError:
        return default


class DatacenterReconciler:
    """Reconciles the records of a datacenter with its sources, and writes its status.

    Guarantees: services of an invalid spec or a failing source are kept; the finalizer is removed
    after the last record; an unchanged datacenter causes no request.
    """

    def __init__(
        self,
        datacenters: Cache,
        store: KubernetesStore,
        service: DatacenterService,
        client: Client,
        clock: Clock,
    ) -> None:
        self._datacenters = datacenters
        self._store = store
        self._service = service
        self._clock = clock
        self._statuses = StatusClient(client, DATACENTERS, FIELD_MANAGER, datacenters)
        self._finalizer = Finalizer(client, DATACENTERS, names.DATACENTER_FINALIZER, FIELD_MANAGER)

    async def __call__(self, request: Request) -> Outcome:
        """Reconcile a Datacenter. Raises transient errors, which the controller retries."""
        live = self._datacenters.get(request)
        if live is None:
            return Done()
        datacenter = _read(live)
        if isinstance(datacenter, InvalidDatacenter) and not is_terminating(live):
            return await self._report_invalid(live, datacenter)
        return await self._finalizer.reconcile(
            live, apply=self._reconcile_sources, cleanup=self._finalize
        )

    async def _report_invalid(self, live: Object, invalid: InvalidDatacenter) -> Outcome:
        records = await self._store.list_by_datacenter(invalid.info)
        await self._write_status(
            live,
            DatacenterSummary(DatacenterCondition("False", "InvalidSpec", invalid.error), records),
        )
        return Blocked("InvalidSpec", invalid.error)

    async def _write_status(self, live: Object, summary: DatacenterSummary) -> None:
        status = compute(live, summary, self._clock.now())
        with suppress(NotFound):
            await self._statuses.apply_if_changed(live, status.to_object())

    async def _reconcile_sources(self, live: Object) -> Outcome:
        if live is not self._datacenters.get(key_of(live)):
            # `live` is the response to the patch that added the finalizer.
            live = as_cached(self._datacenters, live)
        datacenter = _read(live)
        if isinstance(datacenter, InvalidDatacenter):
            return await self._report_invalid(live, datacenter)
        spec = datacenter.spec
        tokens = {entry.name: entry.token for entry in spec.redeploy}
        options = ReconcileOptions(tokens, frozenset(spec.forget_sources))
        report = await self._service.converge(datacenter.info, datacenter.declared, options)
        if _just_created(live, report):
            return combine(report.outcome, Done(FIRST_STATUS_DELAY))
        await self._write_status(live, summarize(report, spec.state))
        _raise_failures(report)
        return combine(report.outcome, Done(_next_hook_call(report)))

    # --- deletion ---------------------------------------------------------------------------

    async def _finalize(self, live: Object) -> Outcome:
        info = _read(live).info
        records = await self._store.list_by_datacenter(info)
        # Include invalid records: the garbage collector would delete them in every state.
        remaining = [*(record.name for record in records), *self._store.invalid(info)]
        if remaining and not GATES[info.state].writes:
            message = (
                f"spec.state is {info.state}, in which no service is deleted: set it to Draining "
                f"to delete these services: {list_names(remaining)}"
            )
            await self._write_status(
                live, DatacenterSummary(DatacenterCondition("False", "Deleting", message), records)
            )
            return Wait("Deleting", message)
        report = await self._service.converge(info, None, ReconcileOptions(deleting=True))
        if not report.records:
            return Done()
        remaining_names = list_names([record.name for record in report.records])
        message = f"waiting for the deletion of these services: {remaining_names}"
        await self._write_status(
            live,
            DatacenterSummary(DatacenterCondition("False", "Deleting", message), report.records),
        )
        _raise_failures(report)
        return combine(Wait("Deleting", message, DELETION_REQUEUE), report.outcome)


def _just_created(live: Object, report: DatacenterReport) -> bool:
    """Return whether this reconcile created the records of a new datacenter.

    Their state changes within seconds, so the status is written then, once instead of twice.
    """
    return not live.get("status") and bool(report.planned.insert) and not report.failures


def _raise_failures(report: DatacenterReport) -> None:
    """Raise if a record could not be written, so that the reconcile is retried with backoff."""
    if report.failures:
        raise NotRecordedError(
            "; ".join(f"{failure.name}: {failure.message}" for failure in report.failures)
        )


def _next_hook_call(report: DatacenterReport) -> float:
    degraded = any(source.error for source in report.merge_result.sources)
    return DEGRADED_HOOK_INTERVAL if degraded else HOOK_INTERVAL


class BootstrapWorkloadReconciler:
    """Reconciles one BootstrapWorkload.

    If its Datacenter is gone, the garbage collector deletes it; its own spec is used then.
    """

    def __init__(
        self,
        datacenters: Cache,
        workloads: Cache,
        store: KubernetesStore,
        service: DatacenterService,
    ) -> None:
        self._datacenters = datacenters
        self._workloads = workloads
        self._store = store
        self._service = service

    async def __call__(self, request: Request) -> Outcome:
        """Reconcile a BootstrapWorkload. Raises transient errors, which the controller retries."""
        live = self._workloads.get(request)
        if live is None:
            return Done()
        records = [
            record
            for name in by_datacenter(live)
            for record in await self._store.list_by_datacenter(self._datacenter(name))
        ]
        current = next((record for record in records if record.id == uid_of(live)), None)
        return Done() if current is None else await self._service.drive(current, records)

    def _datacenter(self, name: str) -> DatacenterInfo:
        """Return the current datacenter; if it is gone, its name: the records have the rest."""
        live = self._datacenters.get(ObjectKey("", name))
        return DatacenterInfo(name, "", "") if live is None else _read(live).info


class EventReporter:
    """Records events about Datacenters and BootstrapWorkloads."""

    def __init__(self, events: EventRecorder) -> None:
        self._events = events

    def __call__(
        self,
        regarding: DatacenterInfo | ServiceRecord,
        kind: Literal["Normal", "Warning"],
        reason: str,
        message: str,
    ) -> None:
        """Record one event."""
        self._events.event(_identity(regarding), kind, reason, message)


def _identity(regarding: DatacenterInfo | ServiceRecord) -> Object:
    if isinstance(regarding, DatacenterInfo):
        kind, name, uid = DATACENTER_KIND, regarding.name, regarding.uid
    else:
        kind, uid = WORKLOAD_KIND, regarding.id
        name = names.workload_name(regarding.datacenter.name, regarding.name)
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, "uid": uid}}
