"""The table of all that may happen to one service of a datacenter. Pure.

| state | what it means |
|---|---|
| Pending | nothing of it is there: it waits for others, or for its datacenter |
| Provisioning | it is being made or changed, or its pods are not all ready |
| Running | everything is as the wish asks, and the workload says that it is well |
| Failed | the last attempt at this wish failed, and the next one is later |
| Retiring | it is to go, and something of it may be there |
| Retired | nothing of it is left; the row goes at once |

Uses contracts.state_machine, contracts.datacenter and managers.datacenter.backoff. Called by
managers.datacenter.lifecycle.service. Where a row is follows from what is observed and from the
failure that is kept for its present goal. That it ran before chooses between two places of the same
outcome, so that the diagram shows the way back; the stored state is shown again only while nobody
looks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, get_args

from contracts import state_machine
from contracts.conditions.condition import clean_message
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

Act = Literal["", "provision", "deprovision", "remove"]
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
"""Why nothing can be done for a row whose provider nobody has; over as soon as it is observed."""

LOOKS: Final = {PENDING: 60.0, PROVISIONING: 30.0, RUNNING: 600.0, FAILED: 600.0, RETIRING: 5.0}
"""Seconds to the next look when no event and no retry comes before."""
CLOSED_LOOK: Final = 600.0
"""The same while the datacenter lets nothing happen."""


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """What the guards look at. `gate` is the state of the datacenter.

    `observation` is None when nobody looked. `waits_for` names dependencies that are not Running,
    `held_by` present services that depend on this one. `gone`: deprovision has proven that nothing
    is left.
    """

    row: ServiceRecord
    observation: Observation | None
    gate: State
    now: datetime
    waits_for: tuple[str, ...] = ()
    held_by: tuple[str, ...] = ()
    gone: bool = False

    @property
    def seen(self) -> Observation:
        """What is there; nothing, where nobody looked."""
        return self.observation or Observation()

    @property
    def as_wanted(self) -> bool:
        """Tell whether everything there was made from the present wish."""
        return self.seen.digest == self.row.wish.digest

    @property
    def failure(self) -> Failure | None:
        """Why the last attempt at the present goal failed."""
        failure = failed(self.row.progress, goal_of(self.row))
        return None if failure is None or failure.reason == UNKNOWN_PROVIDER else failure


@dataclass(frozen=True, slots=True)
class ServiceVerdict:
    """Where a row is, a sentence for people, and what is to be done."""

    state: RowState
    message: str
    act: Act


Ask = Guard[ServiceFacts]


def _unseen(now: ServiceFacts) -> str | None:
    if now.observation is not None:
        return None
    return f"the datacenter is {now.gate}: nobody looks at this service, and this is old news"


def _unwanted(now: ServiceFacts) -> str | None:
    return "" if now.row.retiring else None


def _well(now: ServiceFacts) -> str | None:
    return now.seen.message if now.as_wanted and now.seen.well else None


def _not_well(now: ServiceFacts) -> str | None:
    if not now.as_wanted:
        return None
    return now.seen.message or f"{now.seen.ready} of {now.seen.wanted} pods are ready"


def _failed(now: ServiceFacts) -> str | None:
    return None if now.failure is None else now.failure.message


def _failed_lately(now: ServiceFacts) -> str | None:
    later = now.failure is not None and not due(now.row.progress, goal_of(now.row), now.now)
    return _failed(now) if later else None


def _closed(now: ServiceFacts) -> str | None:
    if GATES[now.gate].writes:
        return None
    return f"the datacenter is in {now.gate}: nothing is changed until that ends"


def _waits(now: ServiceFacts) -> str | None:
    return f"waits until these are Running: {_names(now.waits_for)}" if now.waits_for else None


def _held(now: ServiceFacts) -> str | None:
    return f"waits until these are gone: {_names(now.held_by)}" if now.held_by else None


def _gone(now: ServiceFacts) -> str | None:
    return "nothing of it is left" if now.gone else None


def _to_do(text: str) -> Ask:
    return lambda _: text


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names)


_MAKE = _to_do("its objects are being made")
_CHANGE = _to_do("its objects are being brought to what is asked")
_TAKE_AWAY = _to_do("its objects are being taken away")

TABLE: Final[tuple[state_machine.Transition[ServiceFacts], ...]] = (
    *(state_machine.Transition(state, _unseen, "not looked at") for state in STATES),
    #
    state_machine.Transition(PENDING, _unwanted, "no longer wanted", RETIRING),
    state_machine.Transition(PENDING, _waits, "waits for others"),
    state_machine.Transition(PENDING, _failed, "the last attempt failed", FAILED),
    state_machine.Transition(PENDING, _closed, "the datacenter is closed"),
    state_machine.Transition(
        PENDING, _MAKE, "all it depends on is Running", PROVISIONING, PROVISION
    ),
    #
    state_machine.Transition(PROVISIONING, _unwanted, "no longer wanted", RETIRING),
    state_machine.Transition(PROVISIONING, _well, "as wanted and well", RUNNING),
    state_machine.Transition(PROVISIONING, _not_well, "as wanted, not yet well"),
    state_machine.Transition(PROVISIONING, _failed, "the last attempt failed", FAILED),
    state_machine.Transition(PROVISIONING, _closed, "the datacenter is closed"),
    state_machine.Transition(PROVISIONING, _CHANGE, "differs or is not whole", act=PROVISION),
    #
    state_machine.Transition(RUNNING, _unwanted, "no longer wanted", RETIRING),
    state_machine.Transition(RUNNING, _well, "as wanted and well"),
    state_machine.Transition(RUNNING, always, "not well, differs or is not whole", PROVISIONING),
    #
    state_machine.Transition(FAILED, _failed_lately, "the next attempt is later"),
    state_machine.Transition(FAILED, _closed, "the datacenter is closed"),
    state_machine.Transition(FAILED, _CHANGE, "its next attempt is due", PROVISIONING, PROVISION),
    #
    state_machine.Transition(RETIRING, _gone, "nothing is left", RETIRED, REMOVE),
    state_machine.Transition(RETIRING, _closed, "the datacenter is closed"),
    state_machine.Transition(RETIRING, _held, "others depend on it"),
    state_machine.Transition(RETIRING, _failed_lately, "the next attempt is later"),
    state_machine.Transition(RETIRING, _TAKE_AWAY, "nobody depends on it", act=DEPROVISION),
    #
    state_machine.Transition(RETIRED, always, "the row goes"),
)


def place_of(facts: ServiceFacts) -> RowState:
    """Where a row is before the table is asked, told by what is there."""
    if facts.observation is None:
        return facts.row.progress.state
    if not facts.observation.present:
        return PENDING
    return RUNNING if facts.row.progress.running_since is not None else PROVISIONING


def decide_row(facts: ServiceFacts) -> ServiceVerdict:
    """Say where a row is and what to do, by the rows of TABLE from its place on.

    A row that leads elsewhere and does nothing is followed at once.
    """
    place: str = place_of(facts)
    while True:
        decision = state_machine.decide(TABLE, place, facts)
        if decision.row.act or decision.next == place:
            return ServiceVerdict(_STATE[decision.next], decision.message, _ACT[decision.row.act])
        place = decision.next


def progress_of(facts: ServiceFacts, verdict: ServiceVerdict) -> ServiceProgress:
    """What is to be recorded of a row; equal to what is recorded while nothing has happened.

    A new goal that is attempted, or was reached, forgets the failures of the former one.
    """
    before = facts.row.progress
    if facts.observation is None:
        return replace(before, message=clean_message(verdict.message))
    goal = goal_of(facts.row)
    reached = facts.as_wanted and not facts.row.retiring
    begun = bool(verdict.act) and before.digest != goal
    known = after_success(before, goal) if reached or begun else _without_void(before)
    running = verdict.state == RUNNING
    since = before.running_since if before.digest == known.digest else None
    return replace(
        known,
        state=verdict.state,
        message=clean_message(verdict.message),
        attempts=0 if not running and ran_calmly(before, facts.now) else known.attempts,
        running_since=(since or facts.now.replace(microsecond=0)) if running else None,
        ready=f"{facts.seen.ready}/{facts.seen.wanted}" if facts.seen.present else "",
        provider_ref=facts.seen.provider_ref,
        service_refs=tuple(sorted(dict(facts.seen.service_refs).items()))[:REFS_MAX],
    )


def notes(row: ServiceRecord, after: ServiceProgress) -> tuple[EventRecord, ...]:
    """What the change from the recorded progress of a row to another one is worth telling."""
    before = row.progress
    told = []
    other = before.digest != after.digest
    if after.state == PROVISIONING and other:
        told.append(EventRecord("Normal", "Started", f"service {row.name} is being provisioned"))
    if after.state == RUNNING != before.state:
        told.append(EventRecord("Normal", "Succeeded", f"service {row.name} is Running"))
    failure = after.failure
    known = None if other or before.failure is None else before.failure.reason
    if failure is not None and failure.reason != known:
        text = f"service {row.name}: {failure.reason}: {failure.message}"
        told.append(EventRecord("Warning", "Failed", text))
    return tuple(told)


def next_look(state: RowState, progress: ServiceProgress, gate: State, now: datetime) -> float:
    """Seconds after which a row is looked at again, whatever happens before."""
    if not GATES[gate].writes:
        return CLOSED_LOOK
    if progress.failure is None or state not in (FAILED, RETIRING):
        return LOOKS[state]
    if progress.next_retry is None:
        return LOOKS[FAILED]
    return min(max((progress.next_retry - now).total_seconds(), 1.0), LOOKS[FAILED])


def _without_void(progress: ServiceProgress) -> ServiceProgress:
    """Drop a failure that is over because somebody could look."""
    if progress.failure is None or progress.failure.reason != UNKNOWN_PROVIDER:
        return progress
    return replace(progress, failure=None, next_retry=None, attempts=0)


_STATE: Final[dict[str, RowState]] = {state: state for state in STATES}
_ACT: Final[dict[str, Act]] = {act: act for act in get_args(Act)}
