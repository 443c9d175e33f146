"""Computes the status of an OpenBaoRestore. Pure.

The reconciler applies only the fields of the operator, never those of the job, and only if the
object has not changed since it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Literal

from contracts.api.meta import Condition
from contracts.api.restore import (
    ENDED,
    Execution,
    FreshTarget,
    RestoreObjectStatus,
    RestorePhase,
    Stage,
)
from contracts.conditions.message import clean_message
from contracts.conditions.reasons_restore import (
    OPERATION_LOCK_OVERRIDE,
    RECOVERY_RELEASED,
    RESTORE_COMPLETE,
    RESTORE_REASONS,
    TYPES,
)
from contracts.naming import names
from managers.restore.guards import lock_to_override
from managers.restore.inputs import RestoreFacts, SnapshotSource
from managers.restore.state_machine import RestoreDecision
from runtime.types import Object

STATUS_MANAGER: Final = "openbao-operator-restore"
OF_THE_JOB: Final = ("report", "submissionClaim")
"""Fields that the job writes (contracts.api.job_result)."""


def next_status(
    facts: RestoreFacts, decision: RestoreDecision, generation: int
) -> RestoreObjectStatus:
    """Return the status after a decision. `generation` is that of the spec.

    Without a reason the message is unchanged. Raises ValueError for an unknown reason.
    """
    status = facts.status
    fields: dict[str, Any] = {"observed_generation": generation, "target": _fresh(facts)}
    if isinstance(facts.source, SnapshotSource):
        fields["snapshot_key"] = facts.source.key
    if decision.transition.to is not None:
        fields |= FIELDS_OF[decision.transition.to](facts, facts.now.replace(microsecond=0))
    if not decision.reason:
        return status.model_copy(update=fields)
    if decision.reason not in RESTORE_REASONS:
        raise ValueError(f"{decision.reason!r} is not a reason of a restore")
    fields["message"] = clean_message(decision.message)
    after = status.model_copy(update=fields)
    conditions = _conditions(facts, decision, after, generation)
    return after.model_copy(update={"conditions": conditions})


Fields = dict[str, Any]


def _validating(_: RestoreFacts, now: datetime) -> Fields:
    return {"phase": "Validating", "start_time": now}


def _prepared(facts: RestoreFacts, now: datetime) -> Fields:
    return {"phase": "Running", "execution": _execution(facts, now)}


def _committed(facts: RestoreFacts, now: datetime) -> Fields:
    return _staged(facts, "Committed", committed_at=now)


def _created(facts: RestoreFacts, now: datetime) -> Fields:
    uid = facts.job.uid if facts.job else ""
    return _staged(facts, "Created", job_uid=uid, created_at=now)


def _observed(result: Literal["Succeeded", "Failed"]) -> Callable[[RestoreFacts, datetime], Fields]:
    def fields(facts: RestoreFacts, now: datetime) -> Fields:
        staged = _staged(
            facts, "TerminalObserved", terminal_result=result, terminal_observed_at=now
        )
        return {**staged, "phase": "Running", "snapshot_size": _size(facts)}

    return fields


def _recovering(facts: RestoreFacts, now: datetime) -> Fields:
    observed_at = facts.execution.terminal_observed_at if facts.execution else None
    staged = _staged(facts, "Recovering", terminal_observed_at=observed_at or now)
    return {**staged, "phase": "Running", **_disposition(facts)}


def _unknown(facts: RestoreFacts, _: datetime) -> Fields:
    return {**_staged(facts, "Unknown"), "phase": "Unknown"}


def _ended(phase: RestorePhase) -> Callable[[RestoreFacts, datetime], Fields]:
    def fields(facts: RestoreFacts, now: datetime) -> Fields:
        return {"phase": phase, "completion_time": now, **_disposition(facts)}

    return fields


FIELDS_OF: Mapping[str, Callable[[RestoreFacts, datetime], Fields]] = {
    "Validating": _validating,
    "Prepared": _prepared,
    "Committed": _committed,
    "Created": _created,
    "Succeeded": _observed("Succeeded"),
    "Failed": _observed("Failed"),
    "Recovering": _recovering,
    "Unknown": _unknown,
    "Completed": _ended("Completed"),
    "End": _ended("Failed"),
}
"""The status fields to set on entering a state."""


def _execution(facts: RestoreFacts, now: datetime) -> Execution:
    target = facts.target
    return Execution(
        operation_id=facts.uid,
        stage="Prepared",
        job_name=names.run_job("restore", facts.name),
        target_uid=target.uid if target else "",
        lock_epoch=target.lock.epoch if target and target.lock else 0,
        prepared_at=now,
    )


def _staged(facts: RestoreFacts, stage: Stage, **more: Any) -> dict[str, Any]:
    if facts.execution is None:
        return {}
    return {"execution": facts.execution.model_copy(update={"stage": stage, **more})}


def _disposition(facts: RestoreFacts) -> dict[str, Any]:
    """Return the status field for the decision of a user."""
    return {"administrator_disposition": facts.answer} if facts.answer else {}


def _size(facts: RestoreFacts) -> int | None:
    report, claim = facts.status.report, facts.status.submission_claim
    if report is not None and report.snapshot is not None and report.snapshot.size:
        return report.snapshot.size
    return claim.size if claim is not None else None


def _fresh(facts: RestoreFacts) -> FreshTarget | None:
    """Return the record of the cluster that this restore created; its UID never changes."""
    created, target = facts.status.target, facts.target
    if facts.spec.cluster_template is None:
        return None
    if created is None:
        if target is None or target.origin != facts.uid:
            return None
        created = FreshTarget(uid=target.uid)
    if facts.spec.target_lifecycle != "Disposable" or facts.status.phase not in ENDED:
        return created
    deleted = target is None or target.uid != created.uid
    return created.model_copy(update={"cleanup": "Complete" if deleted else "Pending"})


# --- conditions ---------------------------------------------------------------------------------


def _conditions(
    facts: RestoreFacts, decision: RestoreDecision, after: RestoreObjectStatus, generation: int
) -> tuple[Condition, ...]:
    conditions = {
        RESTORE_COMPLETE: _condition(RESTORE_COMPLETE, _complete(after), decision, generation)
    }
    if (
        decision.transition.action == "take-lock"
        and (message := lock_to_override(facts)) is not None
    ):
        conditions[OPERATION_LOCK_OVERRIDE] = Condition(
            type=OPERATION_LOCK_OVERRIDE,
            status="True",
            reason="OperationLockOverridden",
            message=clean_message(message),
            observed_generation=generation,
        )
    execution = after.execution
    if execution is not None and execution.stage == "Recovering":
        released: Literal["True", "False"] = "True" if after.phase == "Completed" else "False"
        conditions[RECOVERY_RELEASED] = _condition(
            RECOVERY_RELEASED, released, decision, generation
        )
    stored = {condition.type: condition for condition in facts.status.conditions}
    merged = (
        _with_transition_time(conditions.get(kind), stored.get(kind), facts.now) for kind in TYPES
    )
    return tuple(condition for condition in merged if condition is not None)


def _complete(after: RestoreObjectStatus) -> Literal["True", "False", "Unknown"]:
    if after.phase == "Completed":
        return "True"
    return "Unknown" if after.phase == "Unknown" else "False"


def _condition(
    kind: str,
    status: Literal["True", "False", "Unknown"],
    decision: RestoreDecision,
    generation: int,
) -> Condition:
    reason = decision.reason
    if kind == RECOVERY_RELEASED and status == "True":
        reason = "RecoveryReleased"
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=clean_message(decision.message or RESTORE_REASONS[reason].message),
        observed_generation=generation,
    )


def _with_transition_time(
    new: Condition | None, old: Condition | None, now: datetime
) -> Condition | None:
    """Return the new condition with its last transition time, or the old one if there is none."""
    if new is None:
        return old
    since = old.last_transition_time if old is not None and old.status == new.status else None
    return new.model_copy(update={"last_transition_time": since or now.replace(microsecond=0)})


def changed_conditions(
    before: Iterable[Condition], after: Iterable[Condition]
) -> tuple[tuple[str, str, str], ...]:
    """Return type, reason and message of the conditions whose status or reason changed."""
    old = {condition.type: (condition.status, condition.reason) for condition in before}
    return tuple(
        (condition.type, condition.reason, condition.message)
        for condition in after
        if old.get(condition.type) != (condition.status, condition.reason)
    )


def without_foreign_fields(status: Object) -> Object:
    """Return a stored status without the fields of the job."""
    return {field: value for field, value in status.items() if field not in OF_THE_JOB}
