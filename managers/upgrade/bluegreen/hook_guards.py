"""Guards of managers.upgrade.bluegreen.table on the validation hook. Pure.

Each returns None when its transition does not apply, otherwise a message for users.
"""

from __future__ import annotations

from contracts.records.bluegreen import BlueGreenFacts
from contracts.state_machine import Guard, GuardMessage
from managers.upgrade.bluegreen.validation_hook import Step, step

Facts = BlueGreenFacts


def is_at(*steps: Step) -> Guard[Facts]:
    """Return a guard that applies at these steps of the hook."""
    message = GuardMessage("the validation hook runs")
    return lambda facts: message if step(facts) in steps else None


def failed_with_rollback(facts: Facts) -> GuardMessage | None:
    if step(facts) != "failed" or not facts.auto_rollback.enabled:
        return None
    return (
        GuardMessage("the validation hook failed")
        if facts.auto_rollback.on_validation_failure
        else None
    )


def retry_request(facts: Facts) -> GuardMessage | None:
    retry = step(facts) in ("failed", "unknown") and facts.pending("retry")
    return GuardMessage("the validation hook is retried") if retry else None


def job_refusal(facts: Facts) -> GuardMessage | None:
    if step(facts) != "make" or not facts.hook_refusal:
        return None
    return GuardMessage(f"the validation hook cannot run: {facts.hook_refusal}")


def job_refusal_is_old(facts: Facts) -> GuardMessage | None:
    return job_refusal(facts) if facts.retry_allowed else None


def needs_user(facts: Facts) -> GuardMessage | None:
    current = step(facts)
    if current == "unknown":
        return GuardMessage(
            "the hook Job was deleted; check its effect, then set spec.upgrade.requests.retry"
        )
    return GuardMessage("the validation hook failed") if current == "failed" else None
