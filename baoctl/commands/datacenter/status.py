"""Reads the status of a datacenter and its services; returns it as a value and as JSON.

Uses runtime.client.client and managers.datacenter. Changes nothing. Called by the other modules of
baoctl.commands.datacenter; baoctl.commands.datacenter.tree prints the status as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import ValidationError

from baoctl.commands.api_client import RequestError
from baoctl.exit_codes import ExitCode
from contracts.api.meta import StoredStatus
from contracts.datacenter import names
from contracts.datacenter.container_files import NAME_PATTERN
from contracts.datacenter.kinds import DATACENTERS, WORKLOAD_KIND, WORKLOADS
from contracts.datacenter.objects import Datacenter, DatacenterStatus, InvalidDatacenterError
from contracts.datacenter.reasons import NO_CONFLICTS, READY
from contracts.datacenter.workload import BootstrapWorkloadStatus
from contracts.datacenter.workload_records import ServiceRecord
from contracts.rfc3339 import rfc3339
from managers.datacenter.store.workload_object import record_of
from runtime.client.client import Client
from runtime.client.listing import ListOptions
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, Resource, is_terminating, key_of

UNREADABLE: Final = "Unreadable"
"""State of a BootstrapWorkload that cannot be read."""
NAMES_MAX: Final = 10
"""Maximum number of names in a message."""
_STATUS_UNREADABLE: Final = "its status cannot be read; the operator rewrites it"


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """A condition of the datacenter."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source of services; `error` is "" if its last read succeeded."""

    name: str
    priority: int
    services: int
    last_good_time: datetime | None
    error: str


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A service, as its BootstrapWorkload shows it."""

    name: str
    state: str
    """One of contracts.datacenter.workload.ServiceState, or UNREADABLE."""
    kind: str = ""
    ready: str = ""
    """Ready and desired pods, such as 1/3; "" if there are none."""
    source: str = ""
    depends_on: tuple[str, ...] = ()
    message: str = ""
    attempts: int = 0
    next_retry: datetime | None = None
    error_reason: str = ""
    error: str = ""
    retiring: bool = False
    outdated: bool = False
    """The progress is for an older spec: the operator has not reconciled the current one."""
    running_since: datetime | None = None
    provider_ref: str = ""
    service_refs: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    """Why the BootstrapWorkload, or its status, cannot be read."""


@dataclass(frozen=True, slots=True)
class View:
    """A datacenter: its spec, its status, and its services by name."""

    name: str
    state: str
    region: str
    zone: str
    namespace: str
    deleting: bool
    generation: int
    observed_generation: int
    services: int
    running: int
    failed: int
    conditions: tuple[ConditionSummary, ...]
    sources: tuple[SourceView, ...]
    workloads: tuple[ServiceView, ...]
    problems: tuple[str, ...] = ()
    """Why its spec or its status cannot be read."""

    def condition(self, kind: str) -> ConditionSummary | None:
        """Return the condition of a type; None if there is none."""
        return next((condition for condition in self.conditions if condition.type == kind), None)

    @property
    def is_stale(self) -> bool:
        """Whether the spec was changed after the status was written."""
        return self.observed_generation < self.generation

    @property
    def is_ready(self) -> bool:
        """Whether the datacenter is Ready for its current spec, and is not being deleted."""
        ready = self.condition(READY)
        is_true = ready is not None and ready.status == "True"
        return is_true and not self.is_stale and not self.deleting

    @property
    def conflict(self) -> str:
        """Message about sources that declare the same service; "" if there are none."""
        condition = self.condition(NO_CONFLICTS)
        return condition.message if condition is not None and condition.status == "False" else ""

    @property
    def exit_code(self) -> int:
        """0 if the datacenter is ready, else 3."""
        return 0 if self.is_ready else ExitCode.NOT_READY


def as_json(view: View) -> str:
    """Return a view as JSON; times are RFC 3339, in UTC."""
    fields = {**asdict(view), "ready": view.is_ready}
    return json.dumps(fields, indent=2, default=rfc3339) + "\n"


# --- requests -----------------------------------------------------------------------------------


async def fetch(client: Client, name: str) -> View:
    """Read a datacenter and its BootstrapWorkloads.

    Raises RequestError if it does not exist, and the errors of the client.
    """
    live = await find(client, name)
    by_datacenter = ListOptions(label_selector=f"{names.DATACENTER}={name}")
    workloads = await client.list(WORKLOADS, options=by_datacenter)
    return view_of(live, workloads.items)


async def find(client: Client, name: str) -> Object:
    """Read a Datacenter. Raises RequestError with the existing names if it does not exist."""
    if not re.fullmatch(NAME_PATTERN, name):
        rule = "must be lower-case letters, digits and dashes, and begin with a letter"
        raise RequestError(f"{name!r} is not a valid name of a datacenter: {rule}", ExitCode.USAGE)
    try:
        return await client.get(DATACENTERS, ObjectKey("", name))
    except NotFound:
        raise RequestError(await _not_found_message(client, name), ExitCode.NOT_FOUND) from None


async def metadata_of_all(client: Client, kind: Resource) -> tuple[Object, ...]:
    """List the metadata of a kind. Raises RequestError if its definition is missing."""
    try:
        listing = await client.list(kind, options=ListOptions(metadata_only=True))
    except NotFound:
        message = "the API server does not serve datacenters: apply config/crd first"
        raise RequestError(message, ExitCode.NOT_FOUND) from None
    return tuple(listing.items)


async def _not_found_message(client: Client, name: str) -> str:
    existing = format_names(
        key_of(datacenter).name for datacenter in await metadata_of_all(client, DATACENTERS)
    )
    return (
        f"there is no Datacenter {name}, only {existing}"
        if existing
        else f"there is no Datacenter {name}; there are no Datacenters"
    )


def format_names(items: Iterable[str]) -> str:
    """Return the first names, sorted, and the number of the others; "" for none."""
    ordered = sorted(items)
    more = f" and {len(ordered) - NAMES_MAX} more" if len(ordered) > NAMES_MAX else ""
    return ", ".join(ordered[:NAMES_MAX]) + more


# --- reading ------------------------------------------------------------------------------------


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


def service_of(datacenter: str, workload: Object) -> str:
    """Return the name of the service of a BootstrapWorkload."""
    return key_of(workload).name.removeprefix(names.workload_name(datacenter, ""))


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
