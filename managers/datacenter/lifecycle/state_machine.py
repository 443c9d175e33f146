"""The state machine of one service of a datacenter. Pure.

| state | meaning |
|---|---|
| Pending | no object exists: it waits for its dependencies or for its datacenter |
| Provisioning | its objects are created or changed, or not all of its pods are ready |
| Running | all objects match the spec, and the workload is healthy |
| Failed | the last attempt at this spec failed; a later one is scheduled |
| Retiring | it is being removed, and some of its objects may still exist |
| Retired | no object is left; the BootstrapWorkload is removed at once |

Uses contracts.state_machine, contracts.datacenter and managers.datacenter.backoff. Called by
managers.datacenter.lifecycle.driver. The state is derived from the observation and from the failure
stored for the current goal. Whether the service was Running before only selects the initial state,
Running or Provisioning; both lead to the same result. The stored state is used only while nothing
is observed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, get_args

from contracts import state_machine
from contracts.conditions.message import clean_message
from contracts.datacenter.grants import NODE_ACCESS_DENIED, OBJECT_KIND_DENIED
from contracts.datacenter.objects import State
from contracts.datacenter.workload import REFS_MAX, ServiceState
from contracts.datacenter.workload_records import (
    Failure,
    Observation,
    ServiceProgress,
    ServiceRecord,
)
from contracts.records.event import EventRecord
from contracts.state_machine import APPLIES, Guard, GuardMessage, always
from managers.datacenter.backoff import after_success, due, failure_of, goal_of, ran_stably
from managers.datacenter.lifecycle.plan import GATES

Action = Literal["", "provision", "deprovision", "remove"]
PROVISION: Final = "provision"
DEPROVISION: Final = "deprovision"
REMOVE: Final = "remove"

PENDING: Final = "Pending"
PROVISIONING: Final = "Provisioning"
RUNNING: Final = "Running"
FAILED: Final = "Failed"
RETIRING: Final = "Retiring"
RETIRED: Final = "Retired"
STATES: Final[tuple[ServiceState, ...]] = get_args(ServiceState)

UNKNOWN_PROVIDER: Final = "UnknownProvider"
"""The provider of the record is not installed; cleared by the next observation."""
REFUSALS: Final = frozenset({UNKNOWN_PROVIDER, NODE_ACCESS_DENIED, OBJECT_KIND_DENIED})
"""Failures without an attempt: checked in each reconcile, and cleared when the check succeeds."""

REQUEUE_AFTER: Final = {
    PENDING: 60.0,
    PROVISIONING: 30.0,
    RUNNING: 600.0,
    FAILED: 600.0,
    RETIRING: 5.0,
}
"""Seconds to the next reconcile without an event or a retry."""
BLOCKED_REQUEUE: Final = 600.0
"""The same while the datacenter allows no changes."""


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """The input of the guards.

    `observation` is None if nothing was observed. `unmet_dependencies` are the dependencies that
    are not Running, `dependents` the services that depend on this one. `gone`: deprovision
    confirmed that no object is left.
    """

    record: ServiceRecord
    observation: Observation | None
    datacenter_state: State
    now: datetime
    unmet_dependencies: tuple[str, ...] = ()
    dependents: tuple[str, ...] = ()
    gone: bool = False

    @property
    def observed(self) -> Observation:
        """The observation; an empty one if nothing was observed."""
        return self.observation or Observation()

    @property
    def up_to_date(self) -> bool:
        """Whether all objects were created from the current desired service."""
        return self.observed.digest == self.record.desired.digest

    @property
    def failure(self) -> Failure | None:
        """The failure of the last attempt at the current goal."""
        failure = failure_of(self.record.progress, goal_of(self.record))
        return None if failure is None or failure.reason in REFUSALS else failure


@dataclass(frozen=True, slots=True)
class ServiceVerdict:
    """The state of a record, a message for users, and the next action."""

    state: ServiceState
    message: str
    action: Action


ServiceGuard = Guard[ServiceFacts]


def _unobserved(facts: ServiceFacts) -> GuardMessage | None:
    if facts.observation is not None:
        return None
    return GuardMessage(
        f"the datacenter is {facts.datacenter_state}: its services are not observed, and this "
        "status may be outdated"
    )


def _retiring(facts: ServiceFacts) -> GuardMessage | None:
    return APPLIES if facts.record.retiring else None


def _healthy(facts: ServiceFacts) -> GuardMessage | None:
    return (
        GuardMessage(facts.observed.message)
        if facts.up_to_date and facts.observed.healthy
        else None
    )


def _unhealthy(facts: ServiceFacts) -> GuardMessage | None:
    if not facts.up_to_date:
        return None
    return GuardMessage(
        facts.observed.message
        or f"{facts.observed.ready} of {facts.observed.desired} pods are ready"
    )


def _failed(facts: ServiceFacts) -> GuardMessage | None:
    return None if facts.failure is None else GuardMessage(facts.failure.message)


def _backing_off(facts: ServiceFacts) -> GuardMessage | None:
    is_due = due(facts.record.progress, goal_of(facts.record), facts.now)
    return None if is_due else _failed(facts)


def _changes_blocked(facts: ServiceFacts) -> GuardMessage | None:
    if GATES[facts.datacenter_state].writes:
        return None
    return GuardMessage(
        f"the datacenter is in {facts.datacenter_state}: its services are not changed"
    )


def _dependencies_unmet(facts: ServiceFacts) -> GuardMessage | None:
    return (
        GuardMessage(f"waiting for these services to run: {_names(facts.unmet_dependencies)}")
        if facts.unmet_dependencies
        else None
    )


def _has_dependents(facts: ServiceFacts) -> GuardMessage | None:
    if not facts.dependents:
        return None
    return GuardMessage(f"waiting for the deletion of these services: {_names(facts.dependents)}")


def _gone(facts: ServiceFacts) -> GuardMessage | None:
    return GuardMessage("all of its objects are deleted") if facts.gone else None


def _always_with(text: str) -> ServiceGuard:
    return lambda _: GuardMessage(text)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names)


_CREATE = _always_with("its objects are being created")
_UPDATE = _always_with("its objects are being updated")
_DELETE = _always_with("its objects are being deleted")

TABLE: Final[tuple[state_machine.Transition[ServiceFacts], ...]] = (
    *(state_machine.Transition(state, _unobserved, "not observed") for state in STATES),
    #
    state_machine.Transition(PENDING, _retiring, "marked for deletion", RETIRING),
    state_machine.Transition(PENDING, _dependencies_unmet, "waits for its dependencies"),
    state_machine.Transition(PENDING, _failed, "the last attempt failed", FAILED),
    state_machine.Transition(PENDING, _changes_blocked, "the datacenter blocks changes"),
    state_machine.Transition(
        PENDING, _CREATE, "all dependencies are Running", PROVISIONING, PROVISION
    ),
    #
    state_machine.Transition(PROVISIONING, _retiring, "marked for deletion", RETIRING),
    state_machine.Transition(PROVISIONING, _healthy, "up to date and healthy", RUNNING),
    state_machine.Transition(PROVISIONING, _unhealthy, "up to date, not yet healthy"),
    state_machine.Transition(PROVISIONING, _failed, "the last attempt failed", FAILED),
    state_machine.Transition(PROVISIONING, _changes_blocked, "the datacenter blocks changes"),
    state_machine.Transition(PROVISIONING, _UPDATE, "outdated or incomplete", action=PROVISION),
    #
    state_machine.Transition(RUNNING, _retiring, "marked for deletion", RETIRING),
    state_machine.Transition(RUNNING, _healthy, "up to date and healthy"),
    state_machine.Transition(RUNNING, always, "unhealthy, outdated or incomplete", PROVISIONING),
    #
    state_machine.Transition(FAILED, _backing_off, "the next attempt is not due"),
    state_machine.Transition(FAILED, _changes_blocked, "the datacenter blocks changes"),
    state_machine.Transition(FAILED, _UPDATE, "the next attempt is due", PROVISIONING, PROVISION),
    #
    state_machine.Transition(RETIRING, _gone, "all objects are deleted", RETIRED, REMOVE),
    state_machine.Transition(RETIRING, _changes_blocked, "the datacenter blocks changes"),
    state_machine.Transition(RETIRING, _has_dependents, "other services depend on it"),
    state_machine.Transition(RETIRING, _backing_off, "the next attempt is not due"),
    state_machine.Transition(RETIRING, _DELETE, "no service depends on it", action=DEPROVISION),
    #
    state_machine.Transition(RETIRED, always, "the BootstrapWorkload is removed"),
)


def initial_state(facts: ServiceFacts) -> ServiceState:
    """Return the state of a record before any transition, derived from the observation."""
    if facts.observation is None:
        return facts.record.progress.state
    if not facts.observation.present:
        return PENDING
    return RUNNING if facts.record.progress.running_since is not None else PROVISIONING


def decide_service(facts: ServiceFacts) -> ServiceVerdict:
    """Return the state of a record and its next action, by the transitions of TABLE.

    Transitions to another state are followed until one has an action or the state remains.
    """
    state: str = initial_state(facts)
    while True:
        decision = state_machine.decide(TABLE, state, facts)
        if decision.transition.action or decision.next == state:
            return ServiceVerdict(
                _STATE[decision.next], decision.message, _ACTIONS[decision.transition.action]
            )
        state = decision.next


def progress_of(facts: ServiceFacts, verdict: ServiceVerdict) -> ServiceProgress:
    """Return the progress to store for a record; equal to the stored progress if nothing changed.

    A new goal that is attempted or reached clears the failures of the previous goal.
    """
    before = facts.record.progress
    if facts.observation is None:
        return replace(before, message=clean_message(verdict.message))
    goal = goal_of(facts.record)
    reached = facts.up_to_date and not facts.record.retiring
    attempted = bool(verdict.action) and before.digest != goal
    progress = after_success(before, goal) if reached or attempted else _clear_refusal(before)
    running = verdict.state == RUNNING
    since = before.running_since if before.digest == progress.digest else None
    return replace(
        progress,
        state=verdict.state,
        message=clean_message(verdict.message),
        attempts=0 if not running and ran_stably(before, facts.now) else progress.attempts,
        running_since=(since or facts.now.replace(microsecond=0)) if running else None,
        ready=f"{facts.observed.ready}/{facts.observed.desired}" if facts.observed.present else "",
        provider_ref=facts.observed.provider_ref,
        service_refs=tuple(sorted(dict(facts.observed.service_refs).items()))[:REFS_MAX],
    )


def events_for(record: ServiceRecord, after: ServiceProgress) -> tuple[EventRecord, ...]:
    """Return the events for the change from the stored progress of a record to `after`."""
    before = record.progress
    events = []
    new_goal = before.digest != after.digest
    if after.state == PROVISIONING and new_goal:
        events.append(
            EventRecord("Normal", "Started", f"service {record.name} is being provisioned")
        )
    if after.state == RUNNING != before.state:
        events.append(EventRecord("Normal", "Succeeded", f"service {record.name} is Running"))
    failure = after.failure
    old_reason = None if new_goal or before.failure is None else before.failure.reason
    if failure is not None and failure.reason != old_reason:
        text = f"service {record.name}: {failure.reason}: {failure.message}"
        events.append(EventRecord("Warning", "Failed", text))
    return tuple(events)


def requeue_after(
    state: ServiceState, progress: ServiceProgress, datacenter_state: State, now: datetime
) -> float:
    """Return the seconds to the next reconcile of a record without an event."""
    if not GATES[datacenter_state].writes:
        return BLOCKED_REQUEUE
    if progress.failure is None or state not in (FAILED, RETIRING):
        return REQUEUE_AFTER[state]
    if progress.next_retry is None:
        return REQUEUE_AFTER[FAILED]
    return min(max((progress.next_retry - now).total_seconds(), 1.0), REQUEUE_AFTER[FAILED])


def _clear_refusal(progress: ServiceProgress) -> ServiceProgress:
    """Clear a refusal: the record was observed, so its checks succeeded."""
    if progress.failure is None or progress.failure.reason not in REFUSALS:
        return progress
    return replace(progress, failure=None, next_retry=None, attempts=0)


_STATE: Final[dict[str, ServiceState]] = {state: state for state in STATES}
_ACTIONS: Final[dict[str, Action]] = {action: action for action in get_args(Action)}
