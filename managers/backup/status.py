"""Computes the status of an OpenBaoBackup, and selects the fields that we own. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from contracts.api.backup import BackupObjectStatus, BackupPhase
from contracts.api.cluster.status_backup import Snapshot
from contracts.api.meta import Condition
from contracts.conditions.message import clean_message
from contracts.conditions.reasons_backup import COMPLETED, RUN_REASONS
from managers.backup.inputs import BackupFacts
from managers.backup.state_machine import BackupDecision
from runtime.types import Object

STATUS_MANAGER: Final = "openbao-operator-backup"
OF_OTHERS: Final = frozenset({"report", "testReport", "test", "proof", "counted"})
"""Fields that the Jobs, managers.restore_test and managers.backup.schedule write."""
_CONDITION_STATUS: Mapping[BackupPhase, Literal["True", "False", "Unknown"]] = {
    "Completed": "True",
    "Unknown": "Unknown",
}


@dataclass(frozen=True, slots=True)
class JobReservation:
    """The fields that are stored before a Job is created."""

    key: str
    job_name: str
    cluster_uid: str
    lock_epoch: int


def next_status(
    facts: BackupFacts, decision: BackupDecision, reservation: JobReservation | None
) -> BackupObjectStatus:
    """Return the status after a decision. The same inputs give the same status.

    Raises ValueError for an unknown reason.
    """
    if decision.reason not in RUN_REASONS:
        raise ValueError(f"{decision.reason!r} is not a reason of a backup")
    fields: dict[str, Any] = {"phase": facts.status.phase or "Pending"}
    if decision.transition.to is not None:
        fields |= FIELDS_OF[decision.transition.to](facts, reservation)
    message = clean_message(decision.message or RUN_REASONS[decision.reason].message)
    fields |= {
        "observed_generation": facts.backup.metadata.generation,
        "reason": decision.reason,
        "message": message,
    }
    after = facts.status.model_copy(update=fields)
    return after.model_copy(update={"conditions": (_completed_condition(facts, after),)})


Fields = dict[str, Any]
_NO_RESERVATION: Fields = {"key": "", "job_name": "", "cluster_uid": "", "lock_epoch": None}


def _waiting_fields(_: BackupFacts, __: JobReservation | None) -> Fields:
    return {"phase": "Pending", **_NO_RESERVATION}


def _reservation_fields(_: BackupFacts, reservation: JobReservation | None) -> Fields:
    if reservation is None:
        return _waiting_fields(_, reservation)
    return {
        "phase": "Pending",
        "key": reservation.key,
        "job_name": reservation.job_name,
        "cluster_uid": reservation.cluster_uid,
        "lock_epoch": reservation.lock_epoch,
    }


def _running_fields(facts: BackupFacts, _: JobReservation | None) -> Fields:
    job = facts.job
    started_at = (job.created_at if job else None) or facts.now
    return {
        "phase": "Running",
        "job_uid": job.uid if job else "",
        "started_at": started_at.replace(microsecond=0),
    }


def _final_fields(phase: BackupPhase) -> Callable[[BackupFacts, JobReservation | None], Fields]:
    def fields(facts: BackupFacts, _: JobReservation | None) -> Fields:
        return {
            "phase": phase,
            "completed_at": _completed_at(facts).replace(microsecond=0),
            "snapshot": _snapshot(facts) if phase == "Completed" else None,
        }

    return fields


FIELDS_OF: Mapping[str, Callable[[BackupFacts, JobReservation | None], Fields]] = {
    "Waiting": _waiting_fields,
    "Prepared": _reservation_fields,
    "Running": _running_fields,
    "Completed": _final_fields("Completed"),
    "Failed": _final_fields("Failed"),
    "Unknown": _final_fields("Unknown"),
}
"""The status fields to set on entering a state."""


def _completed_at(facts: BackupFacts) -> datetime:
    report, job = facts.report, facts.job
    reported = report.finished_at if report else None
    observed = job.finished_at if job else None
    return reported or observed or facts.now


def _snapshot(facts: BackupFacts) -> Snapshot:
    snapshot = facts.report.snapshot if facts.report else None
    # Always the key of the reservation; a key in the report is ignored.
    return (snapshot or Snapshot()).model_copy(update={"key": facts.status.key})


def _completed_condition(facts: BackupFacts, after: BackupObjectStatus) -> Condition:
    status = _CONDITION_STATUS.get(after.phase or "Pending", "False")
    conditions = (c for c in facts.status.conditions if c.type == COMPLETED)
    stored = next(conditions, None)
    unchanged = stored is not None and stored.status == status
    since = stored.last_transition_time if unchanged and stored is not None else None
    return Condition(
        type=COMPLETED,
        status=status,
        reason=after.reason,
        message=after.message,
        observed_generation=after.observed_generation,
        last_transition_time=since or facts.now.replace(microsecond=0),
    )


def without_foreign_fields(status: Object) -> Object:
    """Return a stored status without the fields of other controllers."""
    return {field: value for field, value in status.items() if field not in OF_OTHERS}


def own_fields(status: BackupObjectStatus) -> Object:
    """Return the fields to apply, without empty ones, so that the API server removes those."""
    return {
        name: value
        for name, value in without_foreign_fields(status.to_object()).items()
        if value != ""
    }
