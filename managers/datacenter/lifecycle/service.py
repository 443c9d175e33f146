"""Shared services of datacenters: reconciles records with sources, and services with records.

    sources -> merge -> plan -> records           `converge`, for one datacenter
    record -> observe -> decide -> act -> store   `drive`, for one record

Uses a store, a registry of sources, and managers.datacenter.lifecycle.driver for `drive`. Called by
the two reconcilers of managers.datacenter.reconcile, one for each of these; `reconcile` does both,
for programs that embed it. Between calls it stores only which warnings about sources it reported.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from contracts.datacenter.dependencies import creation_order
from contracts.datacenter.objects import InvalidDatacenterError
from contracts.datacenter.rules.all_rules import read_services
from contracts.datacenter.workload_records import (
    DECLARED,
    DatacenterInfo,
    DesiredService,
    ServiceRecord,
    ServiceSource,
)
from managers.datacenter.interfaces import Provider, WorkloadStore
from managers.datacenter.lifecycle import plan as record_plan
from managers.datacenter.lifecycle.audit import WorkloadChange, audit_change
from managers.datacenter.lifecycle.driver import REQUEUE_SOON, SUPERSEDED, Driver, EventCallback
from managers.datacenter.lifecycle.plan import RecordPlan
from managers.datacenter.sources.hooks import Body, call_hooks, error_text
from managers.datacenter.sources.merge import MergeResult, SourceResult, merge
from managers.datacenter.sources.registry import SourceRegistry
from runtime.clock import Clock
from runtime.errors import LeaseLost
from runtime.outcome import Outcome, Wait, combine

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

DeclaredServices = Sequence[Body] | SourceResult | None
"""The services that a datacenter declares: unvalidated, validated, or None for an omitted field."""

WRITE_FAILED: Final = "WriteFailed"
FAILURE_REQUEUE: Final = 5.0
"""Seconds to the next reconcile after a write failed."""


@dataclass(frozen=True, slots=True)
class ReconcileOptions:
    """Options of a reconcile: redeploy tokens by service, and names of sources to forget.

    `deleting`: the datacenter is being deleted.
    """

    redeploy: Mapping[str, str] = field(default_factory=dict)
    forget: frozenset[str] = frozenset()
    deleting: bool = False


NO_OPTIONS: Final = ReconcileOptions()


@dataclass(frozen=True, slots=True)
class ServiceFailure:
    """A record that could not be written or reconciled; it does not affect the others."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class DatacenterReport:
    """The result of a reconcile of a datacenter.

    `planned` are the writes that were planned, `records` the records after these writes, sorted by
    name. `outcomes` has the outcome of each record by its name; it is empty after `converge`.
    """

    merge_result: MergeResult
    planned: RecordPlan
    records: tuple[ServiceRecord, ...]
    failures: tuple[ServiceFailure, ...] = ()
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        """The combined outcome, with the time of the next reconcile."""
        parts = list(self.outcomes.values())
        if self.failures:
            text = "; ".join(f"{failure.name}: {failure.message}" for failure in self.failures)
            parts.append(Wait(WRITE_FAILED, text, FAILURE_REQUEUE))
        names = {record.name for record in self.records}
        absent = [
            desired.name for desired in self.merge_result.services if desired.name not in names
        ]
        if absent and not self.planned.blocked:
            text = f"services to be recreated: {', '.join(absent)}"
            parts.append(Wait(SUPERSEDED, text, REQUEUE_SOON))
        return combine(*parts)


class DatacenterService:
    """Reconciles the services of datacenters. Every call is idempotent.

    Every method propagates LeaseLost and the cancellation of its caller.
    """

    def __init__(
        self,
        store: WorkloadStore,
        providers: Mapping[str, Provider],
        registry: SourceRegistry,
        clock: Clock,
        rng: random.Random,
        emit: EventCallback,
    ) -> None:
        """`providers` has each provider by its value of spec.provider."""
        self._store = store
        self._registry = registry
        self._clock = clock
        self._emit = emit
        self._driver = Driver(store, providers, clock, rng, emit)
        self._reported: dict[str, frozenset[tuple[str, ...]]] = {}

    async def reconcile(
        self,
        datacenter: DatacenterInfo,
        declared: DeclaredServices,
        options: ReconcileOptions = NO_OPTIONS,
    ) -> DatacenterReport:
        """Converge a datacenter, then drive each of its records, in dependency order.

        `declared` is None if the datacenter omits the field, which keeps the services that it
        declared before; a SourceResult was validated by the caller.
        Raises the errors of the store if its records cannot be listed.
        """
        report = await self.converge(datacenter, declared, options)
        outcomes: dict[str, Outcome] = {}
        failures = list(report.failures)
        for name in _reconcile_order(report.records):
            records = await self._store.list_by_datacenter(datacenter)
            record = next((candidate for candidate in records if candidate.name == name), None)
            if record is None:
                continue
            try:
                outcomes[name] = await self.drive(record, records)
            except LeaseLost:
                raise
            except Exception as error:  # noqa: BLE001 - a failed record must not affect the others
                failures.append(ServiceFailure(name, error_text(error)))
        records = await self._store.list_by_datacenter(datacenter)
        return replace(report, records=records, failures=tuple(failures), outcomes=outcomes)

    async def converge(
        self,
        datacenter: DatacenterInfo,
        declared: DeclaredServices,
        options: ReconcileOptions = NO_OPTIONS,
    ) -> DatacenterReport:
        """Call the sources of a datacenter, and insert, update and retire its records.

        Raises the errors of the store if its records cannot be listed.
        """
        results = () if options.deleting else await self._call_sources(datacenter, declared)
        records = await self._store.list_by_datacenter(datacenter)
        # A datacenter that is being deleted requests nothing.
        merge_result = MergeResult((), (), ())
        if not options.deleting:
            merge_result = merge(results, records, options.redeploy, options.forget)
        self._report_sources(datacenter, merge_result)
        planned = record_plan.plan(datacenter, merge_result, records, options.deleting)
        failures = await self._write(datacenter, planned)
        if planned != RecordPlan(blocked=planned.blocked):
            records = await self._store.list_by_datacenter(datacenter)
        return DatacenterReport(merge_result, planned, records, failures)

    async def drive(self, record: ServiceRecord, records: Iterable[ServiceRecord]) -> Outcome:
        """Reconcile one record; `records` are all records of its datacenter.

        `record.datacenter.state` must be current, as list_by_datacenter returns it. Returns
        Done when the service runs or is removed, else Wait, with its state as reason and the time
        of the next reconcile.
        Raises the errors of the backend of the store.
        """
        return await self._driver.drive(record, tuple(records))

    async def list_by_datacenter(self, datacenter: DatacenterInfo) -> tuple[ServiceRecord, ...]:
        """Return the records of a datacenter, sorted by name."""
        return await self._store.list_by_datacenter(datacenter)

    async def get(self, record_id: str) -> ServiceRecord | None:
        """Return a record by its id; None if it does not exist."""
        return await self._store.get(record_id)

    # --- from sources to records ------------------------------------------------------------------

    async def _call_sources(
        self, datacenter: DatacenterInfo, declared: DeclaredServices
    ) -> tuple[SourceResult, ...]:
        results = await call_hooks(self._registry.snapshot(), datacenter, self._clock)
        return (_declared_result(datacenter, declared), *results)

    async def _write(
        self, datacenter: DatacenterInfo, planned: RecordPlan
    ) -> tuple[ServiceFailure, ...]:
        store = self._store
        writes: list[tuple[WorkloadChange, DesiredService, Callable[[], Awaitable[object]]]] = [
            *(
                ("retired", record.desired, lambda record=record: store.retire(record))
                for record in planned.retire
            ),
            *(
                (
                    "updated",
                    desired,
                    lambda record=record, desired=desired: store.update(record, desired),
                )
                for record, desired in planned.update
            ),
            *(
                ("created", desired, lambda desired=desired: store.insert(datacenter, desired))
                for desired in planned.insert
            ),
        ]
        failures = []
        for change, desired, write in writes:
            try:
                await write()
            except LeaseLost:
                raise
            except Exception as error:  # noqa: BLE001 - a failed record must not affect the others
                failures.append(ServiceFailure(desired.name, error_text(error)))
            else:
                audit_change(datacenter.name, desired, change)
        return tuple(failures)

    def _report_sources(self, datacenter: DatacenterInfo, merge_result: MergeResult) -> None:
        """Log each new warning about a source, and send an event for it.

        A warning is not repeated in every reconcile: otherwise one broken hook would write a log
        line for each datacenter every time.
        """
        warnings: dict[tuple[str, ...], str] = {
            ("SourceDegraded", source.source.name): f"source {source.source.name}: {source.error}"
            for source in merge_result.sources
            if source.error
        }
        for conflict in merge_result.conflicts:
            warnings["Conflict", conflict.name, conflict.winner, conflict.loser] = conflict.message
        before = self._reported.pop(datacenter.name, frozenset())
        if warnings:
            self._reported[datacenter.name] = frozenset(warnings)
        for key in sorted(warnings.keys() - before):
            reason, message = key[0], warnings[key]
            log.warning(
                "problem with a source of services",
                datacenter=datacenter.name,
                reason=reason,
                message=message,
            )
            self._emit(datacenter, "Warning", reason, message)


def _declared_result(datacenter: DatacenterInfo, declared: DeclaredServices) -> SourceResult:
    if isinstance(declared, SourceResult):
        return declared
    source = ServiceSource(DECLARED)
    if declared is None:
        return SourceResult(source, None)
    try:
        return SourceResult(
            source, read_services(declared, "spec.bootstrapServices", datacenter.name)
        )
    except InvalidDatacenterError as error:
        return SourceResult(source, None, error_text(error))


def _reconcile_order(records: Sequence[ServiceRecord]) -> list[str]:
    """Return the names in the order of their reconciles.

    Retiring records are first, each before its dependencies; each of the others is after its
    dependencies.
    """
    order = [
        service.name for service in creation_order(record.desired.service for record in records)
    ]
    retiring = {record.name for record in records if record.retiring}
    return [name for name in reversed(order) if name in retiring] + [
        name for name in order if name not in retiring
    ]
