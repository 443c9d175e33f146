"""Computes the status of an OpenBaoBackup, and selects the fields of it that we own. Pure."""

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
"""Fields that the jobs, managers.restore_test and managers.backup.schedule write."""
_ANSWERS: Mapping[BackupPhase, Literal["True", "False", "Unknown"]] = {
    "Completed": "True",
    "Unknown": "Unknown",
}


@dataclass(frozen=True, slots=True)
class JobReservation:
    """What is stored before a Job is created."""

    key: str
    job_name: str
    cluster_uid: str
    lock_epoch: int


def next_status(
    facts: BackupFacts, decision: BackupDecision, reservation: JobReservation | None
) -> BackupObjectStatus:
    """Return the status after a decision was carried out; deterministic.

    Raises ValueError for an unknown reason.
    """
    if decision.reason not in RUN_REASONS:
        raise ValueError(f"{decision.reason!r} is no reason of a backup")
    fields: dict[str, Any] = {"phase": facts.status.phase or "Pending"}
    if decision.row.to is not None:
        fields |= MOVES[decision.row.to](facts, reservation)
    message = clean_message(decision.message or RUN_REASONS[decision.reason].meaning)
    fields |= {
        "observed_generation": facts.backup.metadata.generation,
        "reason": decision.reason,
        "message": message,
    }
    after = facts.status.model_copy(update=fields)
    return after.model_copy(update={"conditions": (_completed(facts, after),)})


Fields = dict[str, Any]
_NOTHING: Fields = {"key": "", "job_name": "", "cluster_uid": "", "lock_epoch": None}


def _waiting(_: BackupFacts, __: JobReservation | None) -> Fields:
    return {"phase": "Pending", **_NOTHING}


def _prepared(_: BackupFacts, reservation: JobReservation | None) -> Fields:
    if reservation is None:
        return _waiting(_, reservation)
    return {
        "phase": "Pending",
        "key": reservation.key,
        "job_name": reservation.job_name,
        "cluster_uid": reservation.cluster_uid,
        "lock_epoch": reservation.lock_epoch,
    }


def _running(facts: BackupFacts, _: JobReservation | None) -> Fields:
    job = facts.job
    began = (job.created_at if job else None) or facts.now
    return {
        "phase": "Running",
        "job_uid": job.uid if job else "",
        "started_at": began.replace(microsecond=0),
    }


def _ended(phase: BackupPhase) -> Callable[[BackupFacts, JobReservation | None], Fields]:
    def fields(facts: BackupFacts, _: JobReservation | None) -> Fields:
        return {
            "phase": phase,
            "completed_at": _end(facts).replace(microsecond=0),
            "snapshot": _snapshot(facts) if phase == "Completed" else None,
        }

    return fields


MOVES: Mapping[str, Callable[[BackupFacts, JobReservation | None], Fields]] = {
    "Waiting": _waiting,
    "Prepared": _prepared,
    "Running": _running,
    "Completed": _ended("Completed"),
    "Failed": _ended("Failed"),
    "Unknown": _ended("Unknown"),
}
"""The status fields to set on entering a state."""


def _end(facts: BackupFacts) -> datetime:
    report, job = facts.report, facts.job
    reported = report.finished_at if report else None
    observed = job.finished_at if job else None
    return reported or observed or facts.now


def _snapshot(facts: BackupFacts) -> Snapshot:
    snapshot = facts.report.snapshot if facts.report else None
    # Always the key of the reservation: other keys that a job reports are ignored.
    return (snapshot or Snapshot()).model_copy(update={"key": facts.status.key})


def _completed(facts: BackupFacts, after: BackupObjectStatus) -> Condition:
    answer = _ANSWERS.get(after.phase or "Pending", "False")
    stored = next((one for one in facts.status.conditions if one.type == COMPLETED), None)
    same = stored is not None and stored.status == answer
    since = stored.last_transition_time if same and stored is not None else None
    return Condition(
        type=COMPLETED,
        status=answer,
        reason=after.reason,
        message=after.message,
        observed_generation=after.observed_generation,
        last_transition_time=since or facts.now.replace(microsecond=0),
    )


def own_part(status: Object) -> Object:
    """Return a stored status without the fields of other controllers."""
    return {field: value for field, value in status.items() if field not in OF_OTHERS}


def own_fields(status: BackupObjectStatus) -> Object:
    """Return the fields to apply; an empty one is left out, which removes it."""
    return {name: value for name, value in own_part(status.to_object()).items() if value != ""}
