"""A datacenter and its services as a value, and as JSON. Pure.

Created by baoctl.commands.datacenter.reading; baoctl.commands.datacenter.tree prints it as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Final

from baoctl.exit_codes import ExitCode
from contracts.datacenter import names
from contracts.datacenter.reasons import NO_CONFLICTS, READY
from contracts.rfc3339 import rfc3339
from runtime.types import Object, key_of

UNREADABLE: Final = "Unreadable"
"""State of a BootstrapWorkload that cannot be read."""


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


def service_of(datacenter: str, workload: Object) -> str:
    """Return the name of the service of a BootstrapWorkload."""
    return key_of(workload).name.removeprefix(names.workload_name(datacenter, ""))
