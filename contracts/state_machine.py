"""State machines as tables of rows: the one interpreter, and the diagram that the docs print.

No I/O. The tables are in managers.upgrade; whoever reads one sees all that may happen there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Facts = TypeVar("Facts")
Guard = Callable[[Facts], str | None]
"""None: the row does not apply. Otherwise a message for people; "" for what the reason means."""


@dataclass(frozen=True, slots=True)
class Transition(Generic[Facts]):
    """One line of a table: at a place, when a guard has something to say, what is done.

    Without `to` it stays where it is. `act` names what is done before the next place is written.
    `after` in seconds; None: an event is certain to wake us.
    """

    at: str
    when: Guard[Facts]
    says: str
    """The guard in a few words, for the diagram."""
    to: str | None = None
    act: str = ""
    reason: str = ""
    after: float | None = None
    blocked: bool = False
    """A person must act."""


@dataclass(frozen=True, slots=True)
class TransitionDecision(Generic[Facts]):
    """The row that decided, and its message."""

    row: Transition[Facts]
    message: str

    @property
    def next(self) -> str:
        """Where the machine is after this."""
        return self.row.to or self.row.at


def decide(
    transitions: Sequence[Transition[Facts]], state: str, facts: Facts
) -> TransitionDecision[Facts]:
    """Let the first row of a place decide whose guard has something to say.

    Raises ValueError when none has: each place of a table ends with a row that always applies.
    """
    for transition in transitions:
        message = transition.when(facts) if transition.at == state else None
        if message is not None:
            return TransitionDecision(transition, message)
    raise ValueError(f"no row of the table applies at {state}")


def always(_: object) -> str | None:
    """The guard of the last row of a place."""
    return ""


def diagram(transitions: Sequence[Transition[Facts]]) -> str:
    """Draw a table as a Mermaid state diagram: places, and the rows that lead elsewhere.

    Several rows from one place to the same one are told on one arrow. Mermaid ends the words of an
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
