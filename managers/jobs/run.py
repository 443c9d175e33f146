"""The loop of a run: observe, decide, act and write the next status, while there is more to do.

Called by the reconcilers of backups, restores and restore tests, each of which is a `Run`. After a
crash at any point the next reconcile repeats the action of the stored state, so each action has to
be safe to repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from contracts.state_machine import TransitionDecision
from runtime.errors import Conflict
from runtime.outcome import Blocked, Done, Outcome, Wait

Subject = TypeVar("Subject")
"""What identifies the run: its object as stored, or its key."""
Seen = TypeVar("Seen")
"""The observation: the facts, and further inputs of the actions."""
Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class Acted(Generic[Seen, Facts]):
    """The observation and the decision after the action.

    `outcome` ends the reconcile after the status is written.
    """

    seen: Seen
    decision: TransitionDecision[Facts]
    outcome: Outcome | None = None


class Run(Protocol[Subject, Seen, Facts]):
    """The parts of one kind of run."""

    async def observe(self, subject: Subject) -> Seen | Outcome:
        """Read the facts, or return the outcome when there is nothing to decide."""

    def decide(self, seen: Seen) -> TransitionDecision[Facts]:
        """Choose the transition. Pure."""

    async def act(self, seen: Seen, decision: TransitionDecision[Facts]) -> Acted[Seen, Facts]:
        """Carry out the action of a transition. It may be repeated after a crash."""

    async def write(
        self, seen: Seen, decision: TransitionDecision[Facts]
    ) -> tuple[Subject, Outcome | None]:
        """Write the next status and report the change.

        The outcome is None while there is more to do immediately.
        """

    async def after_conflict(self, subject: Subject, conflict: Conflict) -> Subject | Outcome:
        """Return the new subject after a concurrent change, or the outcome of the reconcile."""


async def advance(
    run: Run[Subject, Seen, Facts], subject: Subject, steps: int, unfinished: Outcome
) -> Outcome:
    """Advance a run as far as possible now. Raises the errors of the parts of the run.

    `steps` stops a loop in its table; `unfinished` is the outcome after that many steps.
    """
    for _ in range(steps):
        try:
            seen = await run.observe(subject)
            if isinstance(seen, Done | Wait | Blocked):
                return seen
            subject, outcome = await _step(run, seen)
        except Conflict as conflict:
            current = await run.after_conflict(subject, conflict)
            if isinstance(current, Done | Wait | Blocked):
                return current
            subject, outcome = current, None
        if outcome is not None:
            return outcome
    return unfinished


async def _step(run: Run[Subject, Seen, Facts], seen: Seen) -> tuple[Subject, Outcome | None]:
    decision = run.decide(seen)
    written = await run.write(seen, decision) if decision.row.status_first else None
    acted = await run.act(seen, decision)
    if written is None or acted.decision is not decision:
        written = await run.write(acted.seen, acted.decision)
    subject, outcome = written
    return subject, acted.outcome or outcome
