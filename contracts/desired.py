"""What a pass wants, and what became of it: two types, so that status cannot be computed from
things that were merely built.

`Desired` is made by the plan step, `AppliedSet` by the apply step. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.applied import Applied, Verdict
from runtime.intent import Intent
from runtime.outcome import Done, Outcome

CONTENT = Done()


@dataclass(frozen=True, slots=True)
class Effect:
    """A named action that is not the apply of an object, with frozen arguments.

    `name` is looked up in the table of `managers.cluster.effects`.
    """

    name: str
    target: str = ""
    uid: str = ""
    body: Mapping[str, Any] | None = field(default=None, hash=False)
    """What is to be sent, when the plan says more than a name."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one step of the plan wants.

    A `Wait` or `Blocked` lets the other steps go on; only with `gate` does it hold back the
    objects that start or stop pods.
    """

    intents: tuple[Intent, ...] = ()
    effects: tuple[Effect, ...] = ()
    outcome: Outcome = CONTENT
    gate: bool = False
    """The pods may not be touched until this step is content."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The whole plan of one pass, in the order in which it is applied."""

    foundation: tuple[Intent, ...]
    """Objects that a pod needs before it starts, or that guard it; independent of each other."""
    workload: tuple[Intent, ...]
    """Objects that start or stop pods; only after the foundation is in place."""
    effects: tuple[Effect, ...]
    outcomes: tuple[Outcome, ...]
    complete: bool
    """Every step had its say: what is not named here is not wanted and may be pruned."""

    @property
    def intents(self) -> tuple[Intent, ...]:
        """All objects of the plan."""
        return self.foundation + self.workload


@dataclass(frozen=True, slots=True)
class AppliedSet:
    """What became of a `Desired`."""

    desired: Desired
    objects: tuple[Applied, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    @property
    def in_place(self) -> bool:
        """Every object of the plan is now as planned."""
        return all(applied.in_place for applied in self.objects)

    def of(self, *verdicts: Verdict) -> tuple[Applied, ...]:
        """Return the answers with one of the given verdicts."""
        return tuple(applied for applied in self.objects if applied.verdict in verdicts)

    @property
    def conflicts(self) -> tuple[str, ...]:
        """One sentence for each object of somebody else that stands in our way."""
        return tuple(applied.message for applied in self.of(Verdict.FOREIGN))
