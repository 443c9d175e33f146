"""Computes `status.blueGreen` after an action or transition of a blue/green upgrade. Pure."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from contracts.api.cluster.status_upgrade import BlueGreenStatus
from contracts.conditions.message import clean_message
from contracts.naming import names
from contracts.records.bluegreen import BlueGreenFacts
from contracts.records.bluegreen_phases import (
    CLEANUP,
    DEMOTING,
    IDLE,
    ROLLBACK_CLEANUP,
    ROLLING_BACK,
)
from contracts.state_machine import TransitionDecision
from managers.upgrade.bluegreen.guards import job_succeeded
from managers.upgrade.bluegreen.validation_hook import receipt_after, step
from managers.upgrade.rolling.outcome import snapshot_attempt

Choice = TransitionDecision[BlueGreenFacts]

_ID = 10
_ROLLBACK_PHASES = (ROLLING_BACK, ROLLBACK_CLEANUP)


def _timestamp(facts: BlueGreenFacts) -> datetime:
    return facts.now.replace(microsecond=0)


def begin(facts: BlueGreenFacts, _: Choice) -> BlueGreenStatus:
    """Freeze the inputs of the upgrade: no later edit of the spec changes them."""
    spec, requested, timestamp = facts.cluster.spec, facts.requested, _timestamp(facts)
    revision = facts.next_revision
    salt = f"{revision}|{timestamp.isoformat()}|{facts.pending('retry')}"
    identity = f"{facts.cluster.metadata.uid}|{facts.cluster.metadata.generation}|{salt}"
    operation = hashlib.sha256(identity.encode()).hexdigest()[:_ID]
    upgrade = spec.upgrade
    snapshot = facts.settings.pre_upgrade_snapshot or bool(upgrade and upgrade.pre_upgrade_snapshot)
    return BlueGreenStatus(
        phase=IDLE,
        operation_id=operation,
        blue_revision=facts.status.blue_revision,
        blue_image=facts.accepted.image or None,
        blue_replicas=facts.blue.replicas or spec.replicas,
        green_revision=revision,
        green_image=requested.image or None,
        green_version=requested.version,
        green_replicas=spec.replicas,
        manual_promotion_required=not facts.settings.auto_promote,
        manual_cleanup_required=not facts.settings.auto_cleanup,
        pre_upgrade_snapshot_job_name=_snapshot(facts, operation, 1) if snapshot else None,
        start_time=timestamp,
    )


def _snapshot(facts: BlueGreenFacts, operation: str, number: int) -> str:
    owner = facts.cluster.metadata
    return names.pre_upgrade_backup(owner.name, owner.uid, snapshot_attempt(operation, number))


def drop(facts: BlueGreenFacts, _: Choice) -> BlueGreenStatus:
    """End an upgrade before anything was created."""
    return _idle(facts)


def abort(facts: BlueGreenFacts, choice: Choice) -> BlueGreenStatus:
    """End an upgrade before anything was created, and record why."""
    return _idle(facts).model_copy(
        update={
            "failed_revision": facts.status.green_revision,
            "rollback_reason": clean_message(choice.message),
            "rollback_start_time": _timestamp(facts),
        }
    )


def _idle(facts: BlueGreenFacts) -> BlueGreenStatus:
    """Return an idle status with the fields of blue and of the last failure."""
    status = facts.status
    return BlueGreenStatus(
        phase=IDLE,
        blue_revision=status.blue_revision,
        blue_image=status.blue_image,
        blue_replicas=status.blue_replicas,
        rollback_reason=status.rollback_reason,
        rollback_start_time=status.rollback_start_time,
        failed_revision=status.failed_revision,
        traffic_switched_time=status.traffic_switched_time,
    )


def after_transition(facts: BlueGreenFacts, choice: Choice) -> dict[str, Any]:
    """Return the fields that change with the phase."""
    to, timestamp = choice.next, _timestamp(facts)
    if to == IDLE or choice.transition.at == CLEANUP:
        ended = _after_cleanup(facts, to) if choice.transition.at == CLEANUP else _idle(facts)
        return {name: getattr(ended, name) for name in BlueGreenStatus.model_fields}
    changes: dict[str, Any] = {
        "phase": to,
        "start_time": timestamp,
        "job_failure_count": None,
        "last_job_failure": None,
        "completed_job": None,
    }
    if to == DEMOTING:
        changes["traffic_switched_time"] = timestamp
    if to in _ROLLBACK_PHASES and choice.transition.at not in _ROLLBACK_PHASES:
        # A release that a user reverted may be requested again; a failed one needs a retry.
        failed = None if facts.requested == facts.accepted else facts.status.green_revision
        changes |= {
            "rollback_reason": clean_message(choice.message),
            "rollback_start_time": timestamp,
            "rollback_attempt": None,
            "failed_revision": failed,
            "last_job_failure": facts.job_name if facts.job else None,
        }
    return changes


def _after_cleanup(facts: BlueGreenFacts, to: str) -> BlueGreenStatus:
    """Return the status with green as the new blue: only green is left."""
    status = facts.status
    progress = {"operation_id": status.operation_id, "start_time": _timestamp(facts)}
    ended = BlueGreenStatus(
        blue_revision=status.green_revision,
        blue_image=status.green_image,
        blue_replicas=status.green_replicas,
        traffic_switched_time=status.traffic_switched_time,
    )
    return ended if to == IDLE else ended.model_copy(update={"phase": to, **progress})


def clocks(facts: BlueGreenFacts) -> dict[str, Any]:
    """Return the fields that change within a phase, whatever the action is."""
    status, timestamp = facts.status, _timestamp(facts)
    if job_succeeded(facts) and status.completed_job != facts.job_name:
        # Kubernetes deletes the Job after an hour; the status keeps its success.
        return {"completed_job": facts.job_name, "start_time": timestamp}
    # A pause cleared the start time: the step gets its full deadline again.
    cleared = status.phase != IDLE and status.start_time is None
    return {"start_time": timestamp} if cleared else {}


def with_failure(facts: BlueGreenFacts, choice: Choice) -> dict[str, Any]:
    """Count a Job that failed, or that changed nothing."""
    return {
        "job_failure_count": (facts.status.job_failure_count or 0) + 1,
        "last_job_failure": clean_message(choice.message),
        "completed_job": None,
    }


def with_next_snapshot(facts: BlueGreenFacts, _: Choice) -> dict[str, Any]:
    """Name the next OpenBaoBackup after one that failed."""
    attempt = (facts.status.job_failure_count or 0) + 1
    name = _snapshot(facts, facts.status.operation_id or "", attempt + 1)
    return {"job_failure_count": attempt, "pre_upgrade_snapshot_job_name": name}


def with_hook(facts: BlueGreenFacts, _: Choice) -> dict[str, Any]:
    """Record the next stage of the validation hook."""
    return {"validation_hook": receipt_after(facts, step(facts))}


def without_hook(_: BlueGreenFacts, __: Choice) -> dict[str, Any]:
    """Clear the record of the validation hook, so that it runs again."""
    return {"validation_hook": None}


def with_next_rollback(facts: BlueGreenFacts, _: Choice) -> dict[str, Any]:
    """Restart the rollback after a user acknowledged its failure."""
    if facts.status.phase not in _ROLLBACK_PHASES:
        return {}
    return {
        "rollback_attempt": (facts.status.rollback_attempt or 0) + 1,
        "job_failure_count": None,
        "completed_job": None,
        "start_time": _timestamp(facts),
    }
