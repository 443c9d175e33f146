"""Audit records of the services of datacenters: one log line with audit=True per step.

Uses structlog, as the audit records of backups do. Called by managers.datacenter.lifecycle.service
and managers.datacenter.lifecycle.driver, after the step is stored: a step that was not stored
leaves no record, and neither does a pass without a change.
"""

from __future__ import annotations

from typing import Final, Literal

import structlog

from contracts.datacenter.workload_records import DesiredService, ServiceProgress, ServiceRecord

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

KIND: Final = "bootstrap"
"""Field `kind` of every record of this module."""

RowStep = Literal["inserted", "updated", "retired", "removed"]


def audit_row(datacenter: str, desired: DesiredService, step: RowStep) -> None:
    """Record that a row was written, or removed with the last of its objects."""
    log.info(
        f"bootstrap row {step}",
        audit=True,
        kind=KIND,
        event_type=f"bootstrap_row_{step}",
        datacenter=datacenter,
        service=desired.name,
        source=desired.source.name,
        digest=desired.digest,
    )


def audit_progress(before: ServiceProgress, record: ServiceRecord) -> None:
    """Record that a row has another state or goal than `before`, or that an attempt failed."""
    after = record.progress
    if _step(before) == _step(after):
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


def _step(progress: ServiceProgress) -> tuple[str, str, int]:
    return progress.state, progress.digest, progress.attempts
