"""The Job that validates green before it is promoted: its identity and its stage. Pure.

| stage | recorded in the status | next action |
|---|---|---|
| Prepared | the identity of the hook | create its Job, suspended: no pod of it runs |
| Committed | the UID of that Job | resume the Job |
| Created | the Job was resumed | none; wait until it finishes |
| TerminalObserved | the result | none |
| Unknown | the recorded Job does not exist | none; a user decides |

A Job that was never resumed may be created again, so a crash before Committed is harmless. From
Committed on the UID is fixed, and any other Job of that name is ignored: the effect of a deleted
hook is unknown.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from contracts.api.cluster.status_upgrade import ValidationHookStatus
from contracts.api.cluster.upgrade import PrePromotionHook
from contracts.naming import revisions
from contracts.records.bluegreen import BlueGreenFacts
from contracts.records.upgrade import HookObservation

Step = Literal[
    "none",
    "prepare",
    "edited",
    "make",
    "commit",
    "start",
    "created",
    "ended",
    "lost",
    "wait",
    "passed",
    "failed",
    "unknown",
]
"""none: there is no hook. lost: the stage becomes Unknown; unknown: the stage is Unknown."""

RECORDED: Final[tuple[Step, ...]] = ("prepare", "commit", "created", "ended", "lost")
"""Steps that only write a new record."""
OVER: Final[tuple[Step, ...]] = ("none", "passed")
"""Steps after which the hook does not block promotion."""


@dataclass(frozen=True, slots=True)
class HookIdentity:
    """Identifies the hook of an upgrade: the name of its Job is unique."""

    cluster: str
    operation_id: str
    green_revision: str
    spec_hash: str

    @property
    def job_name(self) -> str:
        """Name of its Job."""
        return revisions.hook_job(
            self.cluster, "|".join((self.operation_id, self.green_revision, self.spec_hash))
        )


def spec_hash(hook: PrePromotionHook) -> str:
    """Return the hash of a hook's spec: 64 hexadecimal digits, equal for equal specs."""
    text = json.dumps(hook.to_object(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def receipt_of(facts: BlueGreenFacts) -> ValidationHookStatus | None:
    """Return the record of the hook of this upgrade; ignores that of another upgrade."""
    receipt, status = facts.status.validation_hook, facts.status
    if receipt is None or receipt.operation_id != status.operation_id:
        return None
    return receipt if receipt.green_revision == status.green_revision else None


def identity(facts: BlueGreenFacts, hook: PrePromotionHook) -> HookIdentity:
    """Return the identity of a hook in this upgrade."""
    return HookIdentity(
        facts.cluster.metadata.name,
        facts.status.operation_id or "",
        facts.green_revision,
        spec_hash(hook),
    )


def job_name(facts: BlueGreenFacts) -> str:
    """Return the name of the recorded Job; "" when there is none."""
    receipt = receipt_of(facts)
    return receipt.job_name if receipt else ""


def step(facts: BlueGreenFacts) -> Step:
    """Return the next step of the hook."""
    receipt, spec, job = receipt_of(facts), facts.hook_settings, facts.hook
    if receipt is None:
        return "none" if spec is None else "prepare"
    if receipt.stage == "Prepared":
        if spec is None or spec_hash(spec) != receipt.spec_hash:
            return "edited"
        return _step_of_prepared_job(job)
    if receipt.stage == "TerminalObserved":
        return "passed" if receipt.terminal_result == "Succeeded" else "failed"
    if receipt.stage == "Unknown":
        return "unknown"
    return _step_of_started_job(receipt, job)


def _step_of_prepared_job(job: HookObservation | None) -> Step:
    if job is None:
        return "make"
    if job.terminating:
        return "wait"
    return "commit" if job.suspended and not job.foreign else "lost"


def _step_of_started_job(receipt: ValidationHookStatus, job: HookObservation | None) -> Step:
    if job is None or job.foreign or job.uid != receipt.job_uid:
        return "lost"
    if receipt.stage == "Committed":
        return "start" if job.suspended else "created"
    return "wait" if job.state == "Active" else "ended"


def receipt_after(facts: BlueGreenFacts, next_step: Step) -> ValidationHookStatus | None:
    """Return the record after a step."""
    receipt, timestamp = receipt_of(facts), facts.now.replace(microsecond=0)
    if next_step in ("prepare", "edited"):
        return _first_receipt(facts, timestamp)
    if receipt is None:
        return None
    changes: dict[str, object] = {}
    if next_step == "commit" and facts.hook is not None:
        changes = {"stage": "Committed", "job_uid": facts.hook.uid, "committed_at": timestamp}
    elif next_step == "created":
        changes = {"stage": "Created", "created_at": timestamp}
    elif next_step == "ended" and facts.hook is not None:
        result = "Succeeded" if facts.hook.state == "Succeeded" else "Failed"
        changes = {
            "stage": "TerminalObserved",
            "terminal_result": result,
            "terminal_observed_at": timestamp,
        }
    elif next_step == "lost":
        changes = {"stage": "Unknown"}
    return receipt.model_copy(update=changes) if changes else receipt


def _first_receipt(facts: BlueGreenFacts, timestamp: datetime) -> ValidationHookStatus | None:
    if facts.hook_settings is None:
        return None
    hook = identity(facts, facts.hook_settings)
    return ValidationHookStatus(
        operation_id=hook.operation_id,
        green_revision=hook.green_revision,
        spec_hash=hook.spec_hash,
        stage="Prepared",
        job_name=hook.job_name,
        prepared_at=timestamp,
    )
