"""Audit records of the services of datacenters: one log line with audit=True per change.

Uses structlog, as the audit records of backups do. Called by managers.datacenter.lifecycle.service
and managers.datacenter.lifecycle.driver, after the change is stored. A failed write and a reconcile
without a change write no audit record.
"""

from __future__ import annotations

from typing import Final, Literal

import structlog

from contracts.datacenter.workload_records import DesiredService, ServiceProgress, ServiceRecord

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

KIND: Final = "bootstrap"
"""Field `kind` of every record of this module."""

WorkloadChange = Literal["created", "updated", "retired", "removed"]


def audit_change(datacenter: str, desired: DesiredService, change: WorkloadChange) -> None:
    """Record that a BootstrapWorkload was written, or removed after its last object."""
    log.info(
        f"BootstrapWorkload {change}",
        audit=True,
        kind=KIND,
        event_type=f"bootstrap_workload_{change}",
        datacenter=datacenter,
        service=desired.name,
        source=desired.source.name,
        digest=desired.digest,
    )


def audit_progress(before: ServiceProgress, record: ServiceRecord) -> None:
    """Record that a service has another state or goal than `before`, or that an attempt failed."""
    after = record.progress
    if _transition(before) == _transition(after):
        return
    state = after.state.lower()
    log.info(
        f"bootstrap service {state}",
        audit=True,
        kind=KIND,
        event_type=f"bootstrap_service_{state}",
        datacenter=record.datacenter.name,
        service=record.name,
        id=record.id,
        source=record.desired.source.name,
        digest=record.desired.digest,
        state=after.state,
        reason=after.failure.reason if after.failure else "",
        attempts=after.attempts,
    )


def _transition(progress: ServiceProgress) -> tuple[str, str, int]:
    return progress.state, progress.digest, progress.attempts
