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
stored for the present goal. Whether it ran before chooses between two states of the same outcome,
so that the diagram shows the way back; the stored state is used only while nothing is observed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, get_args

from contracts import state_machine
from contracts.conditions.message import clean_message
from contracts.datacenter.grants import NODE_ACCESS_DENIED, OBJECT_KIND_DENIED
from contracts.datacenter.objects import State
from contracts.datacenter.workload import REFS_MAX, RowState
from contracts.datacenter.workload_records import (
    Failure,
    Observation,
    ServiceProgress,
    ServiceRecord,
)
from contracts.records.event import EventRecord
from contracts.state_machine import Guard, always
from managers.datacenter.backoff import after_success, due, failed, goal_of, ran_calmly
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
STATES: Final[tuple[RowState, ...]] = get_args(RowState)

UNKNOWN_PROVIDER: Final = "UnknownProvider"
"""The record names a provider that is not installed; cleared as soon as it is observed."""
NO_ATTEMPTS: Final = frozenset({UNKNOWN_PROVIDER, NODE_ACCESS_DENIED, OBJECT_KIND_DENIED})
"""Failures without an attempt: they are found anew each time, and are over when they are not."""

RECHECKS: Final = {PENDING: 60.0, PROVISIONING: 30.0, RUNNING: 600.0, FAILED: 600.0, RETIRING: 5.0}
"""Seconds to the next pass if no event and no retry comes before."""
CLOSED_RECHECK: Final = 600.0
"""The same while the datacenter allows no changes."""


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """The input of the guards. `gate` is the state of the datacenter.

    `observation` is None if nothing was observed. `waits_for` names dependencies that are not
    Running, `held_by` present services that depend on this one. `gone`: deprovision has confirmed
    that no object is left.
    """

    record: ServiceRecord
    observation: Observation | None
    gate: State
    now: datetime
    waits_for: tuple[str, ...] = ()
    held_by: tuple[str, ...] = ()
    gone: bool = False

    @property
    def observed(self) -> Observation:
        """The observation; an empty one if nothing was observed."""
        return self.observation or Observation()

    @property
    def up_to_date(self) -> bool:
        """Whether all objects were created from the present desired service."""
        return self.observed.digest == self.record.desired.digest

    @property
    def failure(self) -> Failure | None:
        """The failure of the last attempt at the present goal."""
        failure = failed(self.record.progress, goal_of(self.record))
        return None if failure is None or failure.reason in NO_ATTEMPTS else failure


@dataclass(frozen=True, slots=True)
class ServiceVerdict:
    """The state of a record, a message for users, and the next action."""

    state: RowState
    message: str
    action: Action


ServiceGuard = Guard[ServiceFacts]


def _unobserved(facts: ServiceFacts) -> str | None:
    if facts.observation is not None:
        return None
    return f"the datacenter is {facts.gate}: nobody looks at this service, and this is old news"


def _retiring(facts: ServiceFacts) -> str | None:
    return "" if facts.record.retiring else None


def _healthy(facts: ServiceFacts) -> str | None:
    return facts.observed.message if facts.up_to_date and facts.observed.well else None


def _unhealthy(facts: ServiceFacts) -> str | None:
    if not facts.up_to_date:
        return None
    return (
        facts.observed.message
        or f"{facts.observed.ready} of {facts.observed.wanted} pods are ready"
    )


def _failed(facts: ServiceFacts) -> str | None:
    return None if facts.failure is None else facts.failure.message


def _failed_lately(facts: ServiceFacts) -> str | None:
    later = facts.failure is not None and not due(
        facts.record.progress, goal_of(facts.record), facts.now
    )
    return _failed(facts) if later else None


def _closed(facts: ServiceFacts) -> str | None:
    if GATES[facts.gate].writes:
        return None
    return f"the datacenter is in {facts.gate}: nothing is changed until that ends"


def _waits(facts: ServiceFacts) -> str | None:
    return f"waits until these are Running: {_names(facts.waits_for)}" if facts.waits_for else None


def _held(facts: ServiceFacts) -> str | None:
    return f"waits until these are gone: {_names(facts.held_by)}" if facts.held_by else None


def _gone(facts: ServiceFacts) -> str | None:
    return "nothing of it is left" if facts.gone else None


def _always_with(text: str) -> ServiceGuard:
    return lambda _: text


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names)


_CREATE = _always_with("its objects are being made")
_UPDATE = _always_with("its objects are being brought to what is asked")
_DELETE = _always_with("its objects are being taken away")

TABLE: Final[tuple[state_machine.Transition[ServiceFacts], ...]] = (
    *(state_machine.Transition(state, _unobserved, "not looked at") for state in STATES),
    #
    state_machine.Transition(PENDING, _retiring, "no longer wanted", RETIRING),
    state_machine.Transition(PENDING, _waits, "waits for others"),
    state_machine.Transition(PENDING, _failed, "the last attempt failed", FAILED),
    state_machine.Transition(PENDING, _closed, "the datacenter is closed"),
    state_machine.Transition(
        PENDING, _CREATE, "all it depends on is Running", PROVISIONING, PROVISION
    ),
    #
    state_machine.Transition(PROVISIONING, _retiring, "no longer wanted", RETIRING),
    state_machine.Transition(PROVISIONING, _healthy, "as wanted and well", RUNNING),
    state_machine.Transition(PROVISIONING, _unhealthy, "as wanted, not yet well"),
    state_machine.Transition(PROVISIONING, _failed, "the last attempt failed", FAILED),
    state_machine.Transition(PROVISIONING, _closed, "the datacenter is closed"),
    state_machine.Transition(PROVISIONING, _UPDATE, "differs or is not whole", action=PROVISION),
    #
    state_machine.Transition(RUNNING, _retiring, "no longer wanted", RETIRING),
    state_machine.Transition(RUNNING, _healthy, "as wanted and well"),
    state_machine.Transition(RUNNING, always, "not well, differs or is not whole", PROVISIONING),
    #
    state_machine.Transition(FAILED, _failed_lately, "the next attempt is later"),
    state_machine.Transition(FAILED, _closed, "the datacenter is closed"),
    state_machine.Transition(FAILED, _UPDATE, "its next attempt is due", PROVISIONING, PROVISION),
    #
    state_machine.Transition(RETIRING, _gone, "nothing is left", RETIRED, REMOVE),
    state_machine.Transition(RETIRING, _closed, "the datacenter is closed"),
    state_machine.Transition(RETIRING, _held, "others depend on it"),
    state_machine.Transition(RETIRING, _failed_lately, "the next attempt is later"),
    state_machine.Transition(RETIRING, _DELETE, "nobody depends on it", action=DEPROVISION),
    #
    state_machine.Transition(RETIRED, always, "the BootstrapWorkload is removed"),
)


def initial_state(facts: ServiceFacts) -> RowState:
    """Return the state of a record before any transition, derived from the observation."""
    if facts.observation is None:
        return facts.record.progress.state
    if not facts.observation.present:
        return PENDING
    return RUNNING if facts.record.progress.running_since is not None else PROVISIONING


def decide_service(facts: ServiceFacts) -> ServiceVerdict:
    """Return the state of a record and its next action, by the transitions of TABLE.

    A transition to another state without an action is followed at once.
    """
    state: str = initial_state(facts)
    while True:
        decision = state_machine.decide(TABLE, state, facts)
        if decision.row.action or decision.next == state:
            return ServiceVerdict(
                _STATE[decision.next], decision.message, _ACTIONS[decision.row.action]
            )
        state = decision.next


def progress_of(facts: ServiceFacts, verdict: ServiceVerdict) -> ServiceProgress:
    """Return the progress to store for a record; equal to the stored one without a change.

    A new goal that is attempted, or was reached, clears the failures of the former one.
    """
    before = facts.record.progress
    if facts.observation is None:
        return replace(before, message=clean_message(verdict.message))
    goal = goal_of(facts.record)
    reached = facts.up_to_date and not facts.record.retiring
    attempted = bool(verdict.action) and before.digest != goal
    progress = after_success(before, goal) if reached or attempted else _without_void(before)
    running = verdict.state == RUNNING
    since = before.running_since if before.digest == progress.digest else None
    return replace(
        progress,
        state=verdict.state,
        message=clean_message(verdict.message),
        attempts=0 if not running and ran_calmly(before, facts.now) else progress.attempts,
        running_since=(since or facts.now.replace(microsecond=0)) if running else None,
        ready=f"{facts.observed.ready}/{facts.observed.wanted}" if facts.observed.present else "",
        provider_ref=facts.observed.provider_ref,
        service_refs=tuple(sorted(dict(facts.observed.service_refs).items()))[:REFS_MAX],
    )


def notes(record: ServiceRecord, after: ServiceProgress) -> tuple[EventRecord, ...]:
    """Return the events for the change from the stored progress of a record to another one."""
    before = record.progress
    events = []
    other = before.digest != after.digest
    if after.state == PROVISIONING and other:
        events.append(
            EventRecord("Normal", "Started", f"service {record.name} is being provisioned")
        )
    if after.state == RUNNING != before.state:
        events.append(EventRecord("Normal", "Succeeded", f"service {record.name} is Running"))
    failure = after.failure
    old_reason = None if other or before.failure is None else before.failure.reason
    if failure is not None and failure.reason != old_reason:
        text = f"service {record.name}: {failure.reason}: {failure.message}"
        events.append(EventRecord("Warning", "Failed", text))
    return tuple(events)


def recheck_after(state: RowState, progress: ServiceProgress, gate: State, now: datetime) -> float:
    """Return the seconds until a record is driven again without an event."""
    if not GATES[gate].writes:
        return CLOSED_RECHECK
    if progress.failure is None or state not in (FAILED, RETIRING):
        return RECHECKS[state]
    if progress.next_retry is None:
        return RECHECKS[FAILED]
    return min(max((progress.next_retry - now).total_seconds(), 1.0), RECHECKS[FAILED])


def _without_void(progress: ServiceProgress) -> ServiceProgress:
    """Clear a failure without an attempt, because the record was observed."""
    if progress.failure is None or progress.failure.reason not in NO_ATTEMPTS:
        return progress
    return replace(progress, failure=None, next_retry=None, attempts=0)


_STATE: Final[dict[str, RowState]] = {state: state for state in STATES}
_ACTIONS: Final[dict[str, Action]] = {action: action for action in get_args(Action)}
