"""State machines as tables of transitions: the interpreter, and the diagram of the docs.

No I/O. The tables are in managers.backup, managers.datacenter, managers.restore,
managers.restore_test and managers.upgrade; each lists all transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, NewType, TypeVar

Facts = TypeVar("Facts")
GuardMessage = NewType("GuardMessage", str)
"""The message of a guard that applies. A type of its own, because elsewhere an empty message means
that there is no objection."""
APPLIES: Final = GuardMessage("")
"""A guard applies, and the meaning of the reason is enough."""


@dataclass(frozen=True, slots=True)
class GuardReason:
    """The message of a guard, with a reason that replaces the reason of its transition."""

    reason: str
    message: str


Guard = Callable[[Facts], GuardReason | GuardMessage | None]
"""None: the transition does not apply."""


@dataclass(frozen=True, slots=True)
class Transition(Generic[Facts]):
    """One line of a table: state, guard, action and next state.

    Without `to` the state stays. The action runs before the next state is written. `after` is the
    time until the next reconcile in seconds; None: an event triggers it.
    """

    at: str
    when: Guard[Facts]
    guard_label: str = ""
    """The label of the guard in the diagram; "" in a table without one."""
    to: str | None = None
    action: str = ""
    reason: str = ""
    after: float | None = None
    blocked: bool = False
    """A user must act."""
    status_first: bool = False
    """The status is written before the action. A crash between them loses the action, which the
    next reconcile decides again, but not the report."""


@dataclass(frozen=True, slots=True)
class TransitionDecision(Generic[Facts]):
    """The transition that applies, with the reason and message for the status."""

    transition: Transition[Facts]
    reason: str
    message: str

    @property
    def next(self) -> str:
        """The next state."""
        return self.transition.to or self.transition.at


def decide(
    transitions: Sequence[Transition[Facts]], state: str, facts: Facts
) -> TransitionDecision[Facts]:
    """Return the first transition of a state whose guard applies.

    Raises ValueError if none applies: the last transition of each state must always apply.
    """
    for transition in transitions:
        result = transition.when(facts) if transition.at == state else None
        if isinstance(result, GuardReason):
            return TransitionDecision(transition, result.reason, result.message)
        if result is not None:
            return TransitionDecision(transition, transition.reason, result)
    raise ValueError(f"no transition of the table applies in state {state}")


def always(_: object) -> GuardMessage:
    """Guard that always applies; for the last transition of a state."""
    return APPLIES


def diagram(transitions: Sequence[Transition[Facts]]) -> str:
    """Draw a table as a Mermaid state diagram: states, and the transitions between them.

    Several transitions from one state to the same one share an arrow. Mermaid ends the text of an
    arrow at a colon or a semicolon.
    """
    arrows: dict[tuple[str, str], list[str]] = {}
    for transition in transitions:
        if transition.to is not None and transition.to != transition.at:
            label = (
                f"{transition.guard_label} / {transition.action}"
                if transition.action
                else transition.guard_label
            )
            arrows.setdefault((transition.at, transition.to), []).append(label)
    lines = ["stateDiagram-v2", f"    [*] --> {transitions[0].at}"]
    lines += [f"    {at} --> {to}: {', or '.join(label)}" for (at, to), label in arrows.items()]
    return "\n".join(lines) + "\n"
