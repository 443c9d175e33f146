"""The state machine of a restore test: when a snapshot is tested, and the steps of a test. Pure.

| state | meaning |
|---|---|
| Idle | no test of the cluster is recorded |
| Prepared | a test is recorded on the OpenBaoBackup, with the name of its Job |
| Running | the UID of the Job is recorded; the report of the Job determines the result |

In each state the first transition whose guard returns a message applies (contracts.state_machine).
The reconciler carries out its action, then writes the next state. After a crash between the two the
action is repeated, which is safe: the name of the Job is recorded before the Job is created, so a
run never has two Jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from contracts import state_machine
from contracts.rfc3339 import rfc3339
from contracts.state_machine import (
    APPLIES,
    GuardMessage,
    GuardReason,
    Transition,
    TransitionDecision,
    always,
)
from managers.restore_test.facts import RestoreTestFacts
from managers.restore_test.status import result_of_report

State = Literal["Idle", "Prepared", "Running"]
Action = Literal["", "make-job", "settle", "cancel"]
"""settle sets a TTL on the Job and removes the RBAC of its pod; cancel deletes the Job instead."""

POLL_SECONDS = 5.0
"""Interval for polling the Job: a Job that ends without a report causes no watch event."""


@dataclass(frozen=True, slots=True)
class RestoreTestTransition(Transition[RestoreTestFacts]):
    """One transition of a restore test.

    In a transition to Prepared the reason is the cause of the test, and the message of the guard
    identifies the request. In a transition to Idle the reason is that of the result
    (contracts.conditions.reasons_restore_test).
    """

    at: State
    to: State | None = None
    action: Action = ""


def state_of(facts: RestoreTestFacts) -> State:
    """Return the state of the test of a cluster, derived from its OpenBaoBackups."""
    running = facts.running
    if running is None or running.test is None:
        return "Idle"
    return "Running" if running.test.job_uid else "Prepared"


def decide(facts: RestoreTestFacts) -> TransitionDecision[RestoreTestFacts]:
    """Return the next step for one cluster. Only one test runs at a time."""
    return state_machine.decide(TRANSITIONS, state_of(facts), facts)


def wait_decision(
    decision: TransitionDecision[RestoreTestFacts], message: str, after: float
) -> TransitionDecision[RestoreTestFacts]:
    """Return the decision for an action that has to wait."""
    return TransitionDecision(
        replace(decision.transition, to=None, action="", after=after), "", message
    )


def refuse_job(
    decision: TransitionDecision[RestoreTestFacts], message: str
) -> TransitionDecision[RestoreTestFacts]:
    """Return the decision for a Job that was permanently rejected."""
    transition = replace(decision.transition, to="Idle", action="settle")
    return TransitionDecision(transition, "PreparationFailed", message)


def recheck_after(
    facts: RestoreTestFacts, decision: TransitionDecision[RestoreTestFacts], now: datetime
) -> float | None:
    """Return the seconds until an unchanged state is checked again; None: only after an event."""
    scheduled = facts.status.next_scheduled_test
    if decision.transition.at != "Idle" or scheduled is None or scheduled <= now:
        # An overdue test waits for a snapshot, whose completion triggers a reconcile.
        return decision.transition.after
    return (scheduled - now).total_seconds()


# --- guards: when a test is due -----------------------------------------------------------------


def _untestable(facts: RestoreTestFacts) -> GuardMessage | None:
    """A user requests a test of a backup that ended without a snapshot of this cluster."""
    candidate = facts.requested
    if candidate is None or candidate.is_testable(facts.cluster_uid) or not candidate.ended:
        return None
    return GuardMessage(f"OpenBaoBackup {candidate.name} has no snapshot of this cluster")


def _requested(facts: RestoreTestFacts) -> GuardMessage | None:
    """A user requests a test of one snapshot.

    The completion of a running backup triggers the next reconcile.
    """
    candidate = facts.requested
    if candidate is None or not candidate.is_testable(facts.cluster_uid):
        return None
    return GuardMessage(candidate.request)


def _counted(facts: RestoreTestFacts) -> GuardMessage | None:
    """Enough snapshots were taken since the last test."""
    spec = facts.spec
    if spec is None or facts.newest is None or spec.every_successful_backups is None:
        return None
    since = facts.successful - (facts.status.last_backup_count or 0)
    # The count is lower than at the last test if the status was lost since.
    return (
        None if 0 <= since < spec.every_successful_backups else GuardMessage(str(facts.successful))
    )


def _scheduled(facts: RestoreTestFacts) -> GuardMessage | None:
    """A scheduled time has passed; one test covers all missed times."""
    spec, scheduled = facts.spec, facts.status.next_scheduled_test
    if spec is None or spec.schedule is None or facts.newest is None:
        return None
    if scheduled is None or scheduled > facts.now or facts.status.schedule != spec.schedule:
        return None
    return GuardMessage(rfc3339(scheduled))


# --- guards: the Job ----------------------------------------------------------------------------


def _job(facts: RestoreTestFacts) -> str:
    run = facts.running.test if facts.running else None
    return run.job_name if run else ""


def _reported(facts: RestoreTestFacts) -> GuardReason | None:
    running = facts.running
    if running is None or running.test is None or running.current_report is None:
        return None
    result = result_of_report(running.current_report, running.test, facts.now)
    return GuardReason(result.reason, result.message)


def _job_gone(facts: RestoreTestFacts) -> GuardMessage | None:
    return GuardMessage(_job(facts)) if facts.job is None else None


def _job_unstarted(facts: RestoreTestFacts) -> GuardMessage | None:
    if facts.job is None or not facts.job.unstarted(facts.now, facts.resumed):
        return None
    return GuardMessage(f"no pod of Job {_job(facts)} runs: check its events and its node")


def _job_runs(facts: RestoreTestFacts) -> GuardMessage | None:
    return APPLIES if facts.job is not None and facts.job.state == "Active" else None


def _job_ended(facts: RestoreTestFacts) -> GuardMessage:
    cause = f"{facts.job.reason} {facts.job.message}" if facts.job else ""
    return GuardMessage(f"Job {_job(facts)}: {cause}".strip())


TRANSITIONS: Final[tuple[RestoreTestTransition, ...]] = (
    RestoreTestTransition("Idle", _untestable, to="Idle", reason="NothingToTest"),
    RestoreTestTransition("Idle", _requested, to="Prepared", reason="Requested"),
    RestoreTestTransition("Idle", _counted, to="Prepared", reason="Counted"),
    RestoreTestTransition("Idle", _scheduled, to="Prepared", reason="Scheduled"),
    RestoreTestTransition("Idle", always),
    RestoreTestTransition("Prepared", always, to="Running", action="make-job"),
    RestoreTestTransition("Running", _reported, to="Idle", action="settle"),
    RestoreTestTransition("Running", _job_gone, to="Idle", action="settle", reason="JobGone"),
    RestoreTestTransition(
        "Running", _job_unstarted, to="Idle", action="cancel", reason="JobNotStarted"
    ),
    RestoreTestTransition("Running", _job_runs, after=POLL_SECONDS),
    RestoreTestTransition("Running", _job_ended, to="Idle", action="settle", reason="JobFailed"),
)
