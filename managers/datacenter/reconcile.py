"""The two reconcilers of datacenters: one for a Datacenter and its records, one for each record.

    Datacenter         sources -> merge -> plan -> records -> status
    BootstrapWorkload  observe -> decide -> act -> store

Uses managers.datacenter.lifecycle.service for both. Composed by baoctl.controllers.datacenter;
called by runtime.controller.controller.
"""

from __future__ import annotations

from collections.abc import Iterable
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
from contracts.datacenter.service_spec import known_body
from contracts.datacenter.workload_records import (
    DECLARED,
    DatacenterInfo,
    ServiceRecord,
    ServiceSource,
)
from managers.datacenter.lifecycle.plan import GATES
from managers.datacenter.lifecycle.service import (
    DatacenterReport,
    DatacenterService,
    ServiceOptions,
)
from managers.datacenter.sources.merge import SourceAnswer
from managers.datacenter.status import (
    DatacenterCondition,
    DatacenterSummary,
    account_of,
    compute,
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

ASK_AGAIN: Final = 300.0
"""Seconds after which hooks are called again: a change of their answer causes no event."""
DEGRADED_AGAIN: Final = 30.0
"""The same while one of them fails."""
BEGUN_LOOK: Final = 5.0
"""Seconds to the first status of a new datacenter, if its records do not trigger it before."""
LEAVING: Final = 10.0
FLEET: Final = 4096
"""Parsed Datacenters that are cached."""
SHOWN: Final = 5
CLOSED: Final[State] = "Maintenance"
Grant = TypeVar("Grant")
NODE_ACCESS: Final = TypeAdapter(NodeAccess)
OBJECT_KINDS: Final = TypeAdapter(tuple[ObjectKind, ...])


class NotRecordedError(Transient):
    """Records could not be inserted, updated or retired; the message names each of them."""


@dataclass(frozen=True, slots=True)
class AcceptedDatacenter:
    """A valid Datacenter: its info for hooks, its spec and its declaration."""

    info: DatacenterInfo
    spec: DatacenterSpec
    declared: SourceAnswer | None


@dataclass(frozen=True, slots=True)
class RefusedDatacenter:
    """An invalid Datacenter, and why; its records stay as they are."""

    info: DatacenterInfo
    why: str


def read(live: Object) -> AcceptedDatacenter | RefusedDatacenter:
    """Parse and validate an object; a refusal is a value, so that it is cached per version."""
    try:
        datacenter = Datacenter.from_object(live, known_body)
        violations = datacenter_violations(datacenter)
        if violations:
            raise InvalidDatacenterError(violations)
    except InvalidDatacenterError as error:
        return RefusedDatacenter(_remains(live), clean_message(str(error)))
    services = datacenter.spec.bootstrap_services
    declared = None if services is None else SourceAnswer(ServiceSource(DECLARED), services)
    return AcceptedDatacenter(info_of(datacenter), datacenter.spec, declared)


_read = memoize(read, size=FLEET, slot=uid_of)


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


def _remains(live: Object) -> DatacenterInfo:
    """Return the info of a datacenter with an invalid spec: above all, whether changes are allowed.

    Its records have their own location.
    """
    spec: Any = live.get("spec")
    requested = (spec if isinstance(spec, dict) else {}).get("state", "Active")
    # An unknown value of a newer version: it may forbid changes.
    state = next((name for name in GATES if name == requested), CLOSED)
    allowed = spec if isinstance(spec, dict) else {}
    return DatacenterInfo(
        key_of(live).name,
        uid_of(live),
        "",
        state=state,
        node_access=_read_grant(NODE_ACCESS, allowed.get("nodeAccess"), NO_ACCESS),
        object_kinds=_read_grant(OBJECT_KINDS, allowed.get("objectKinds"), ()),
    )


def _read_grant(adapter: TypeAdapter[Grant], raw: Any, nothing: Grant) -> Grant:
    try:
        return adapter.validate_python(raw)
    except ValidationError:
        return nothing


class DatacenterReconciler:
    """Reconciles the records of a datacenter with its sources, and writes its status.

    Guarantees: contributions of an invalid spec or a failing source stay; the finalizer is removed
    when no record is left; an unchanged datacenter costs no request.
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
        """Run one pass. Raises transient errors, which the controller retries with backoff."""
        live = self._datacenters.get(request)
        if live is None:
            return Done()
        datacenter = _read(live)
        if isinstance(datacenter, RefusedDatacenter) and not is_terminating(live):
            return await self._refuse(live, datacenter)
        return await self._finalizer.reconcile(live, apply=self._serve, cleanup=self._leave)

    async def _refuse(self, live: Object, refused: RefusedDatacenter) -> Outcome:
        records = await self._store.list_by_datacenter(refused.info)
        await self._write_status(
            live,
            DatacenterSummary(DatacenterCondition("False", "InvalidSpec", refused.why), records),
        )
        return Blocked("InvalidSpec", refused.why)

    async def _write_status(self, live: Object, summary: DatacenterSummary) -> None:
        status = compute(live, summary, self._clock.now())
        with suppress(NotFound):
            await self._statuses.apply_if_changed(live, status.to_object())

    async def _serve(self, live: Object) -> Outcome:
        if live is not self._datacenters.get(key_of(live)):
            # The response to the write of the finalizer.
            live = as_cached(self._datacenters, live)
        datacenter = _read(live)
        if isinstance(datacenter, RefusedDatacenter):
            return await self._refuse(live, datacenter)
        spec = datacenter.spec
        orders = {one.name: one.token for one in spec.redeploy}
        options = ServiceOptions(orders, frozenset(spec.forget_sources))
        report = await self._service.converge(datacenter.info, datacenter.declared, options)
        if _is_begun(live, report):
            return combine(report.outcome, Done(BEGUN_LOOK))
        await self._write_status(live, account_of(report, spec.state))
        _expect_written(report)
        return combine(report.outcome, Done(_next_question(report)))

    # --- deletion ---------------------------------------------------------------------------

    async def _leave(self, live: Object) -> Outcome:
        info = _read(live).info
        records = await self._store.list_by_datacenter(info)
        if records and not GATES[info.state].writes:
            message = (
                f"spec.state is {info.state}, in which nothing is taken away: set it to Draining, "
                f"and these services go: {_names(records)}"
            )
            await self._write_status(
                live, DatacenterSummary(DatacenterCondition("False", "Deleting", message), records)
            )
            return Wait("Deleting", message)
        report = await self._service.converge(info, None, ServiceOptions(deleting=True))
        if not report.rows:
            return Done()
        message = f"waits until these services are gone: {_names(report.rows)}"
        await self._write_status(
            live,
            DatacenterSummary(DatacenterCondition("False", "Deleting", message), report.rows),
        )
        _expect_written(report)
        return combine(Wait("Deleting", message, LEAVING), report.outcome)


def _is_begun(live: Object, report: DatacenterReport) -> bool:
    """Return whether a new datacenter has only just inserted its records.

    Their state follows within seconds: so a new fleet writes each status once.
    """
    return not live.get("status") and bool(report.planned.insert) and not report.troubles


def _expect_written(report: DatacenterReport) -> None:
    """Raise if a record could not be written, so that the pass is retried with backoff."""
    if report.troubles:
        raise NotRecordedError("; ".join(f"{one.name}: {one.message}" for one in report.troubles))


def _next_question(report: DatacenterReport) -> float:
    degraded = any(source.error for source in report.merged.sources)
    return DEGRADED_AGAIN if degraded else ASK_AGAIN


def _names(records: Iterable[ServiceRecord]) -> str:
    found = [record.name for record in records]
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


class BootstrapWorkloadReconciler:
    """Advances one record by one step.

    A record whose Datacenter is gone is being garbage-collected; it is driven by its own spec.
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
        """Run one pass. Raises transient errors, which the controller retries with backoff."""
        live = self._workloads.get(request)
        if live is None:
            return Done()
        records = [
            record
            for name in by_datacenter(live)
            for record in await self._store.list_by_datacenter(self._datacenter(name))
        ]
        current = next((one for one in records if one.id == uid_of(live)), None)
        return Done() if current is None else await self._service.drive(current, records)

    def _datacenter(self, name: str) -> DatacenterInfo:
        """Return the present datacenter; if it is gone, its records have what they need."""
        live = self._datacenters.get(ObjectKey("", name))
        return DatacenterInfo(name, "", "") if live is None else _read(live).info


class EventReporter:
    """Sends transitions as events, for a Datacenter or a BootstrapWorkload."""

    def __init__(self, events: EventRecorder) -> None:
        self._events = events

    def __call__(
        self,
        about: DatacenterInfo | ServiceRecord,
        kind: Literal["Normal", "Warning"],
        reason: str,
        message: str,
    ) -> None:
        """Record one event."""
        self._events.event(_identity(about), kind, reason, message)


def _identity(about: DatacenterInfo | ServiceRecord) -> Object:
    if isinstance(about, DatacenterInfo):
        kind, name, uid = DATACENTER_KIND, about.name, about.uid
    else:
        kind, uid = WORKLOAD_KIND, about.id
        name = names.workload_name(about.datacenter.name, about.name)
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, "uid": uid}}
