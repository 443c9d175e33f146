"""Computes the status of a datacenter: counts, sources and three conditions.

Uses contracts.datacenter.reasons. Called by managers.datacenter.reconcile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final, Literal

from contracts.api.meta import Condition
from contracts.conditions.message import clean_message
from contracts.datacenter.objects import SOURCES_MAX, DatacenterStatus, SourceStatus, State
from contracts.datacenter.reasons import DATACENTER_REASONS, NO_CONFLICTS, READY, SOURCES_READY
from contracts.datacenter.workload_records import ServiceRecord
from managers.datacenter.lifecycle.service import DatacenterReport
from managers.datacenter.lifecycle.state_machine import FAILED, RUNNING
from managers.datacenter.sources.merge import MergeResult, SourceReport
from runtime.types import Object

NAMES_MAX: Final = 5
"""Maximum number of services, sources or conflicts in a message."""

ConditionStatus = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class DatacenterCondition:
    """The status of one condition. Raises ValueError for an unknown reason."""

    status: ConditionStatus
    reason: str
    message: str = ""

    def __post_init__(self) -> None:
        if self.reason not in DATACENTER_REASONS:
            raise ValueError(f"{self.reason!r} is not a reason of a Datacenter")


@dataclass(frozen=True, slots=True)
class DatacenterSummary:
    """The result of a reconcile: services, and sources if they were called."""

    ready: DatacenterCondition
    records: tuple[ServiceRecord, ...] = ()
    merge_result: MergeResult | None = None


def summarize(report: DatacenterReport, state: State) -> DatacenterSummary:
    """Summarize a reconcile of the sources and records of a datacenter."""
    return DatacenterSummary(_ready(report, state), report.records, report.merge_result)


def _ready(report: DatacenterReport, state: State) -> DatacenterCondition:
    if state == "Offline":
        return DatacenterCondition("Unknown", "Offline")
    failed = [record for record in report.records if record.progress.state == FAILED]
    if failed:
        return DatacenterCondition(
            "False", "ServicesFailed", _list(_describe(record) for record in failed)
        )
    if report.planned.blocked and state == "Maintenance":
        return DatacenterCondition("False", "Maintenance", report.planned.blocked)
    unmet = [
        *(f"{failure.name}: {failure.message}" for failure in report.failures),
        *(_describe(record) for record in report.records if not _runs(record)),
        *(f"{name}: not created yet" for name in _absent(report)),
    ]
    return (
        DatacenterCondition("False", "ServicesNotRunning", _list(unmet)) if unmet else _ALL_RUNNING
    )


_ALL_RUNNING: Final = DatacenterCondition("True", "AllRunning")


def _absent(report: DatacenterReport) -> list[str]:
    existing = {record.name for record in report.records} | {
        failure.name for failure in report.failures
    }
    return [
        service.name for service in report.merge_result.services if service.name not in existing
    ]


def _runs(record: ServiceRecord) -> bool:
    """Return whether a record runs as desired."""
    progress = record.progress
    return (
        progress.state == RUNNING
        and progress.digest == record.desired.digest
        and not record.retiring
    )


def _describe(record: ServiceRecord) -> str:
    return f"{record.name}: {record.progress.message or record.progress.state}"


def compute(live: Object, summary: DatacenterSummary, now: datetime) -> DatacenterStatus:
    """Compute the status of a datacenter; unchanged conditions and sources keep their time."""
    before = DatacenterStatus.lenient(live.get("status"))
    generation = int(live["metadata"].get("generation") or 0)
    desired = _desired_digests(summary)
    running = sum(
        _runs(record) and desired.get(record.name) == record.desired.digest
        for record in summary.records
    )
    current_conditions = {READY: summary.ready, **_of_sources(summary.merge_result)}
    old = {condition.type: condition for condition in before.conditions}
    conditions = [
        _condition(kind, current, old.get(kind), generation, now)
        for kind, current in current_conditions.items()
    ]
    if summary.merge_result is None:
        conditions += [old[kind] for kind in (SOURCES_READY, NO_CONFLICTS) if kind in old]
    return DatacenterStatus(
        observed_generation=generation,
        services=len(desired),
        running=running,
        failed=sum(record.progress.state == FAILED for record in summary.records),
        summary=f"{running}/{len(desired)}",
        sources=_sources(summary.merge_result, before.sources, now),
        conditions=tuple(conditions),
    )


def _desired_digests(summary: DatacenterSummary) -> dict[str, str]:
    """Return the digests of the desired services; of the records, if sources were not called."""
    if summary.merge_result is None:
        return {record.name: record.desired.digest for record in summary.records}
    return {service.name: service.digest for service in summary.merge_result.services}


def _of_sources(merge_result: MergeResult | None) -> dict[str, DatacenterCondition]:
    if merge_result is None:
        return {}
    failing = [source for source in merge_result.sources if source.error]
    degraded = DatacenterCondition(
        "False",
        "SourceDegraded",
        _list(f"{source.source.name}: {source.error}" for source in failing),
    )
    conflicting = DatacenterCondition(
        "False", "Conflict", _list(conflict.message for conflict in merge_result.conflicts)
    )
    return {
        SOURCES_READY: degraded if failing else DatacenterCondition("True", "AllSourcesReady"),
        NO_CONFLICTS: conflicting
        if merge_result.conflicts
        else DatacenterCondition("True", "NoConflict"),
    }


def _list(texts: Iterable[str]) -> str:
    return "; ".join(islice(texts, NAMES_MAX))


def _sources(
    merge_result: MergeResult | None, before: tuple[SourceStatus, ...], now: datetime
) -> tuple[SourceStatus, ...]:
    if merge_result is None:
        return before
    old = {status.name: status for status in before}
    return tuple(
        _source(source, old.get(source.source.name), now) for source in merge_result.sources
    )[:SOURCES_MAX]


def _source(report: SourceReport, old: SourceStatus | None, now: datetime) -> SourceStatus:
    same = old is not None and old.last_good == report.digest
    since = old.last_good_time if same and old is not None else now.replace(microsecond=0)
    return SourceStatus(
        name=report.source.name,
        priority=report.source.priority,
        services=report.services,
        last_good=report.digest,
        last_good_time=since if report.digest else None,
        error=clean_message(report.error),
    )


def _condition(
    kind: str, current: DatacenterCondition, old: Condition | None, generation: int, now: datetime
) -> Condition:
    since = old.last_transition_time if old is not None and old.status == current.status else None
    return Condition(
        type=kind,
        status=current.status,
        reason=current.reason,
        message=clean_message(current.message or DATACENTER_REASONS[current.reason].message),
        observed_generation=generation,
        last_transition_time=since or now.replace(microsecond=0),
    )
