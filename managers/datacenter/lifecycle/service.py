"""The shared services of datacenters: reconciles records with sources, and services with records.

    sources -> merge -> plan -> records           `converge`, for one datacenter
    record -> observe -> decide -> act -> store   `drive`, for one record

Uses a store, a registry of sources, and managers.datacenter.lifecycle.driver for `drive`. Called by
the two reconcilers of managers.datacenter.reconcile, one for each of these; `reconcile` does both,
for programs that embed it. Between calls it keeps only the reported warnings about sources.
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
from managers.datacenter.lifecycle import plan as row_plan
from managers.datacenter.lifecycle.audit import RowStep, audit_row
from managers.datacenter.lifecycle.driver import AGAIN, SUPERSEDED, Driver, Tell
from managers.datacenter.lifecycle.plan import RowPlan
from managers.datacenter.sources.hooks import Body, ask_all, error_text
from managers.datacenter.sources.merge import Merged, SourceAnswer, merge
from managers.datacenter.sources.registry import SourceRegistry
from runtime.clock import Clock
from runtime.errors import LeaseLost
from runtime.outcome import Outcome, Wait, combine

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

Declared = Sequence[Body] | SourceAnswer | None
"""The declaration of a datacenter: bodies to validate, a validated answer, or nothing."""

TROUBLE: Final = "WriteFailed"
FAILURE_RECHECK: Final = 5.0
"""Seconds to the next pass after the store failed."""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """Further options of a datacenter: redeploy tokens by service, sources to forget, deletion."""

    redeploy: Mapping[str, str] = field(default_factory=dict)
    forget: frozenset[str] = frozenset()
    deleting: bool = False


NO_OPTIONS: Final = ServiceOptions()


@dataclass(frozen=True, slots=True)
class ServiceFailure:
    """A record that could not be written or driven; it does not stop the others."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class DatacenterReport:
    """The result of a pass over a datacenter. `rows` are the records after it, sorted by name.

    `outcomes` are those of single records, by name; empty after `converge`. `planned` are the
    writes that were due when the pass began.
    """

    merged: Merged
    planned: RowPlan
    rows: tuple[ServiceRecord, ...]
    troubles: tuple[ServiceFailure, ...] = ()
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        """The combined outcome of the pass, with the time of the next one."""
        parts = list(self.outcomes.values())
        if self.troubles:
            text = "; ".join(f"{one.name}: {one.message}" for one in self.troubles)
            parts.append(Wait(TROUBLE, text, FAILURE_RECHECK))
        names = {record.name for record in self.rows}
        free = [desired.name for desired in self.merged.services if desired.name not in names]
        if free and not self.planned.held:
            parts.append(Wait(SUPERSEDED, f"to be made anew: {', '.join(free)}", AGAIN))
        return combine(*parts)


class DatacenterService:
    """Advances the services of datacenters, one step per call; calls are idempotent.

    LeaseLost and the caller's cancellation pass through every method.
    """

    def __init__(
        self,
        store: WorkloadStore,
        providers: Mapping[str, Provider],
        registry: SourceRegistry,
        clock: Clock,
        rng: random.Random,
        tell: Tell,
    ) -> None:
        """`providers` by what spec.provider calls them."""
        self._store = store
        self._registry = registry
        self._clock = clock
        self._tell = tell
        self._driver = Driver(store, providers, clock, rng, tell)
        self._reported: dict[str, frozenset[tuple[str, ...]]] = {}

    async def reconcile(
        self,
        datacenter: DatacenterInfo,
        declared: Declared,
        options: ServiceOptions = NO_OPTIONS,
    ) -> DatacenterReport:
        """Converge a datacenter, then drive each of its records, in dependency order.

        `declared` is None when the datacenter declares nothing, which keeps what it declared
        before; a SourceAnswer was validated by the caller.
        Raises what the store raises when its records cannot be listed.
        """
        report = await self.converge(datacenter, declared, options)
        outcomes: dict[str, Outcome] = {}
        troubles = list(report.troubles)
        for name in _driving_order(report.rows):
            records = await self._store.list_by_datacenter(datacenter)
            record = next((one for one in records if one.name == name), None)
            if record is None:
                continue
            try:
                outcomes[name] = await self.drive(record, records)
            except LeaseLost:
                raise
            except Exception as error:  # noqa: BLE001 - one record never stops the others
                troubles.append(ServiceFailure(name, error_text(error)))
        records = await self._store.list_by_datacenter(datacenter)
        return replace(report, rows=records, troubles=tuple(troubles), outcomes=outcomes)

    async def converge(
        self,
        datacenter: DatacenterInfo,
        declared: Declared,
        options: ServiceOptions = NO_OPTIONS,
    ) -> DatacenterReport:
        """Query the sources of a datacenter, and insert, update and retire its records.

        Raises what the store raises when its records cannot be listed.
        """
        answers = () if options.deleting else await self._answers(datacenter, declared)
        records = await self._store.list_by_datacenter(datacenter)
        # A datacenter that is being deleted requests nothing.
        merged = Merged((), (), ())
        if not options.deleting:
            merged = merge(answers, records, options.redeploy, options.forget)
        self._report_sources(datacenter, merged)
        planned = row_plan.plan(datacenter, merged, records, options.deleting)
        troubles = await self._write(datacenter, planned)
        if planned != RowPlan(held=planned.held):
            records = await self._store.list_by_datacenter(datacenter)
        return DatacenterReport(merged, planned, records, troubles)

    async def drive(self, record: ServiceRecord, records: Iterable[ServiceRecord]) -> Outcome:
        """Advance one record by one step; `records` are those of its datacenter, itself included.

        `record.datacenter.state` must be the present one, as list_by_datacenter returns it. Returns
        Done when it runs or is gone, else Wait, with its state as reason and the next time.
        Raises what the medium of the store raises.
        """
        return await self._driver.drive(record, tuple(records))

    async def list_by_datacenter(self, datacenter: DatacenterInfo) -> tuple[ServiceRecord, ...]:
        """Return the records of a datacenter, sorted by name."""
        return await self._store.list_by_datacenter(datacenter)

    async def get(self, record_id: str) -> ServiceRecord | None:
        """Return a record by its id; None when it is gone."""
        return await self._store.get(record_id)

    # --- from sources to records ------------------------------------------------------------------

    async def _answers(
        self, datacenter: DatacenterInfo, declared: Declared
    ) -> tuple[SourceAnswer, ...]:
        answers = await ask_all(self._registry.snapshot(), datacenter, self._clock)
        return (_declared(datacenter, declared), *answers)

    async def _write(
        self, datacenter: DatacenterInfo, planned: RowPlan
    ) -> tuple[ServiceFailure, ...]:
        store = self._store
        writes: list[tuple[RowStep, DesiredService, Callable[[], Awaitable[object]]]] = [
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
                ("inserted", desired, lambda desired=desired: store.insert(datacenter, desired))
                for desired in planned.insert
            ),
        ]
        troubles = []
        for step, desired, write in writes:
            try:
                await write()
            except LeaseLost:
                raise
            except Exception as error:  # noqa: BLE001 - one record never stops the others
                troubles.append(ServiceFailure(desired.name, error_text(error)))
            else:
                audit_row(datacenter.name, desired, step)
        return tuple(troubles)

    def _report_sources(self, datacenter: DatacenterInfo, merged: Merged) -> None:
        """Log and send events for warnings that are new since the last pass over this datacenter.

        Not with every pass: one broken hook would fill the log for each datacenter of a fleet.
        """
        warnings: dict[tuple[str, ...], str] = {
            ("SourceDegraded", one.source.name): f"source {one.source.name}: {one.error}"
            for one in merged.sources
            if one.error
        }
        for conflict in merged.conflicts:
            warnings["Conflict", conflict.name, conflict.winner, conflict.loser] = conflict.message
        before = self._reported.pop(datacenter.name, frozenset())
        if warnings:
            self._reported[datacenter.name] = frozenset(warnings)
        for key in sorted(warnings.keys() - before):
            reason, message = key[0], warnings[key]
            log.warning("sources", datacenter=datacenter.name, reason=reason, message=message)
            self._tell(datacenter, "Warning", reason, message)


def _declared(datacenter: DatacenterInfo, declared: Declared) -> SourceAnswer:
    if isinstance(declared, SourceAnswer):
        return declared
    source = ServiceSource(DECLARED)
    if declared is None:
        return SourceAnswer(source, None)
    try:
        return SourceAnswer(
            source, read_services(declared, "spec.bootstrapServices", datacenter.name)
        )
    except InvalidDatacenterError as error:
        return SourceAnswer(source, None, error_text(error))


def _driving_order(records: Sequence[ServiceRecord]) -> list[str]:
    """Order records: retiring ones first, in reverse; then each after its dependencies."""
    order = [
        service.name for service in creation_order(record.desired.service for record in records)
    ]
    going = {record.name for record in records if record.retiring}
    return [name for name in reversed(order) if name in going] + [
        name for name in order if name not in going
    ]
