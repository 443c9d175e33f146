"""The loop of a run: observe, decide, act and write the next status, until it has to wait.

Called by the reconcilers of backups, restores and restore tests, each of which is a `Run`. After a
crash, the next reconcile repeats the action of the stored state, so each action has to be safe to
repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from contracts.state_machine import TransitionDecision
from runtime.errors import Conflict
from runtime.outcome import Blocked, Done, Outcome, Wait

Subject = TypeVar("Subject")
"""Identifies the run: its stored object, or its key."""
Observation = TypeVar("Observation")
"""The facts for the decision, and further inputs of the actions."""
Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class ActionOutcome(Generic[Observation, Facts]):
    """The observation and the decision after the action.

    `outcome` ends the reconcile after the status is written.
    """

    observation: Observation
    decision: TransitionDecision[Facts]
    outcome: Outcome | None = None


class Run(Protocol[Subject, Observation, Facts]):
    """The parts of one kind of run."""

    async def observe(self, subject: Subject) -> Observation | Outcome:
        """Read the facts; return the outcome of the reconcile if there is nothing to decide."""

    def decide(self, observation: Observation) -> TransitionDecision[Facts]:
        """Choose the transition. Pure."""

    async def act(
        self, observation: Observation, decision: TransitionDecision[Facts]
    ) -> ActionOutcome[Observation, Facts]:
        """Execute the action of a transition. A crash may cause a repetition."""

    async def write(
        self, observation: Observation, decision: TransitionDecision[Facts]
    ) -> tuple[Subject, Outcome | None]:
        """Write the next status and report the change.

        The returned outcome ends the reconcile; None continues it.
        """

    async def after_conflict(self, subject: Subject, conflict: Conflict) -> Subject | Outcome:
        """Handle a concurrent change: return the new subject, or the outcome of the reconcile."""


async def advance(
    run: Run[Subject, Observation, Facts], subject: Subject, steps: int, unfinished: Outcome
) -> Outcome:
    """Advance a run until it has to wait. Raises the errors of the methods of the run.

    `steps` limits the transitions, in case of a loop in the table; `unfinished` is the outcome
    after that many steps.
    """
    for _ in range(steps):
        try:
            observation = await run.observe(subject)
            if isinstance(observation, Done | Wait | Blocked):
                return observation
            subject, outcome = await _step(run, observation)
        except Conflict as conflict:
            current = await run.after_conflict(subject, conflict)
            if isinstance(current, Done | Wait | Blocked):
                return current
            subject, outcome = current, None
        if outcome is not None:
            return outcome
    return unfinished


async def _step(
    run: Run[Subject, Observation, Facts], observation: Observation
) -> tuple[Subject, Outcome | None]:
    decision = run.decide(observation)
    written = await run.write(observation, decision) if decision.transition.status_first else None
    result = await run.act(observation, decision)
    if written is None or result.decision is not decision:
        written = await run.write(result.observation, result.decision)
    subject, outcome = written
    return subject, result.outcome or outcome
