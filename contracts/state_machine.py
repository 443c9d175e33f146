"""State machines as tables of transitions: the interpreter, and the diagram of the docs.

No I/O. The tables are in managers.upgrade and managers.datacenter; each shows all that can happen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Facts = TypeVar("Facts")
Guard = Callable[[Facts], str | None]
"""None: the transition does not apply. Otherwise a message; "" for the meaning of the reason."""


@dataclass(frozen=True, slots=True)
class Transition(Generic[Facts]):
    """One line of a table: in a state, when its guard applies, what is done.

    Without `to` the state stays. `act` names the action before the next state is written. `after`
    in seconds; None: an event is certain to wake the controller.
    """

    at: str
    when: Guard[Facts]
    says: str
    """The label of the guard in the diagram."""
    to: str | None = None
    act: str = ""
    reason: str = ""
    after: float | None = None
    blocked: bool = False
    """A user must act."""


@dataclass(frozen=True, slots=True)
class TransitionDecision(Generic[Facts]):
    """The transition that applies, and its message."""

    row: Transition[Facts]
    message: str

    @property
    def next(self) -> str:
        """The state after this."""
        return self.row.to or self.row.at


def decide(
    transitions: Sequence[Transition[Facts]], state: str, facts: Facts
) -> TransitionDecision[Facts]:
    """Return the first transition of a state whose guard applies.

    Raises ValueError without one: the last transition of each state always applies.
    """
    for transition in transitions:
        message = transition.when(facts) if transition.at == state else None
        if message is not None:
            return TransitionDecision(transition, message)
    raise ValueError(f"no row of the table applies at {state}")


def always(_: object) -> str | None:
    """The guard of the last transition of a state."""
    return ""


def diagram(transitions: Sequence[Transition[Facts]]) -> str:
    """Draw a table as a Mermaid state diagram: states, and the transitions between them.

    Several transitions from one state to the same one share an arrow. Mermaid ends the text of an
    arrow at a colon or a semicolon.
    """
    arrows: dict[tuple[str, str], list[str]] = {}
    for transition in transitions:
        if transition.to is not None and transition.to != transition.at:
            label = f"{transition.says} / {transition.act}" if transition.act else transition.says
            arrows.setdefault((transition.at, transition.to), []).append(label)
    lines = ["stateDiagram-v2", f"    [*] --> {transitions[0].at}"]
    lines += [f"    {at} --> {to}: {', or '.join(label)}" for (at, to), label in arrows.items()]
    return "\n".join(lines) + "\n"
