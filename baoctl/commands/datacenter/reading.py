"""Returns the view of a Datacenter and its BootstrapWorkloads. Pure.

Uses the models of contracts.datacenter and the readers of managers.datacenter, which take a fifth
of a second to import. Called by baoctl.commands.datacenter.status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import ValidationError

from baoctl.commands.datacenter.view import (
    UNREADABLE,
    ConditionSummary,
    ServiceView,
    SourceView,
    View,
    service_of,
)
from contracts.api.meta import StoredStatus
from contracts.datacenter.kinds import WORKLOAD_KIND
from contracts.datacenter.objects import Datacenter, DatacenterStatus, InvalidDatacenterError
from contracts.datacenter.workload import BootstrapWorkloadStatus
from contracts.datacenter.workload_records import ServiceRecord
from managers.datacenter.store.workload_object import record_of
from runtime.types import Object, is_terminating, key_of

_STATUS_UNREADABLE: Final = "its status cannot be read; the operator rewrites it"


def view_of(live: Object, workloads: Iterable[Object]) -> View:
    """Return the view of a Datacenter and its BootstrapWorkloads; malformed objects are allowed."""
    name = key_of(live).name
    spec, status = _texts(live.get("spec")), DatacenterStatus.lenient(live.get("status"))
    return View(
        name=name,
        state=spec.get("state", "Active"),
        region=spec.get("region", ""),
        zone=spec.get("zone", ""),
        namespace=spec.get("namespace", ""),
        deleting=is_terminating(live),
        generation=int(live["metadata"].get("generation") or 0),
        observed_generation=status.observed_generation,
        services=status.services,
        running=status.running,
        failed=status.failed,
        conditions=tuple(
            ConditionSummary(condition.type, condition.status, condition.reason, condition.message)
            for condition in status.conditions
        ),
        sources=tuple(
            SourceView(
                source.name, source.priority, source.services, source.last_good_time, source.error
            )
            for source in status.sources
        ),
        workloads=tuple(
            sorted(
                (_service(name, workload) for workload in workloads),
                key=lambda service: service.name,
            )
        ),
        problems=tuple(_problems(live)),
    )


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {name: text for name, text in value.items() if isinstance(text, str)}


def _problems(live: Object) -> Iterator[str]:
    try:
        Datacenter.from_object(live)
    except InvalidDatacenterError as error:
        yield f"its spec cannot be read: {error}"
    if _has_invalid_status(DatacenterStatus, live):
        yield _STATUS_UNREADABLE


def _has_invalid_status(kind: type[StoredStatus], live: Object) -> bool:
    """Whether a status is invalid, and therefore ignored."""
    try:
        kind.model_validate(live.get("status") or {})
    except ValidationError:
        return True
    return False


def _service(datacenter: str, obj: Object) -> ServiceView:
    try:
        record = record_of(obj)
    except InvalidDatacenterError as error:
        return _unreadable(datacenter, obj, str(error))
    if record.datacenter.name != datacenter:
        problem = f"its label names {datacenter}, its spec names {record.datacenter.name}"
        return _unreadable(datacenter, obj, problem)
    is_invalid = _has_invalid_status(BootstrapWorkloadStatus, obj)
    return _readable(record, _STATUS_UNREADABLE if is_invalid else "")


def _unreadable(datacenter: str, obj: Object, problem: str) -> ServiceView:
    name = service_of(datacenter, obj)
    message = f"{WORKLOAD_KIND} {key_of(obj).name}: {problem}"
    return ServiceView(name, UNREADABLE, retiring=is_terminating(obj), problem=message)


def _readable(record: ServiceRecord, problem: str) -> ServiceView:
    service, progress = record.desired.service, record.progress
    failure = progress.failure
    return ServiceView(
        name=record.name,
        state=progress.state,
        kind=service.kind,
        ready=progress.ready,
        source=record.desired.source.name,
        depends_on=service.depends_on,
        message=progress.message,
        attempts=progress.attempts,
        next_retry=_aware(progress.next_retry),
        error_reason=failure.reason if failure else "",
        error=failure.message if failure else "",
        retiring=record.retiring,
        outdated=progress.digest not in ("", record.desired.digest) and not record.retiring,
        running_since=progress.running_since,
        provider_ref=progress.provider_ref,
        service_refs=dict(progress.service_refs),
        problem=problem,
    )


def _aware(moment: datetime | None) -> datetime | None:
    """Return a time with a time zone, by default UTC: without one it cannot be compared."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
