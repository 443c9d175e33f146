"""The desired objects of a reconcile, and the applied ones: two types, so that status cannot be
computed from objects that were merely built.

`Desired` is made by the plan step, `AppliedObjects` by the apply step. No I/O.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.api.cluster.status import OperationKind
from contracts.records.effects import Effect
from runtime.apply.apply_result import Applied
from runtime.apply.intent import Intent
from runtime.outcome import Done, Outcome
from runtime.types import ObjectKey, Resource
from runtime.verdict import Verdict

CONTENT = Done()
Named = tuple[Resource, ObjectKey]
"""One object by kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something larger that is being done to the cluster, for `status.operation`.

    `done` of `total` steps are behind it; the order of kinds when several go on is that of the
    steps of the plan.
    """

    kind: OperationKind
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """How far the voters are on the way to the newest template."""

    renewed: tuple[int, ...] = ()
    """Ordinals of those that are ready and from the newest template."""
    complete: bool = False
    """All are, and none is on its way."""
    pod: str = ""
    """The one that is about to go, or is not back yet; "" when none is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The desired objects of one step of the plan.

    After a `Wait` or `Blocked` the other steps continue; only with `gate` does it hold back the
    objects that start or stop pods.
    """

    intents: tuple[Intent, ...] = ()
    effects: tuple[Effect, ...] = ()
    outcome: Outcome = CONTENT
    gate: bool = False
    """The pods may not be touched until this step is content."""
    operation: Operation | None = None
    """What is being done to the pods, if it takes several passes."""
    rolled: RolloutProgress | None = None
    """None: this step knows nothing of pods."""
    spared: tuple[Named, ...] = ()
    """Objects that are no longer wanted and must stay for now; they are not touched."""
    optional: tuple[Intent, ...] = ()
    """Objects that no pod needs: applied last, and whatever is wrong with them stops nothing."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The whole plan of one reconcile, in the order in which it is applied."""

    foundation: tuple[Intent, ...]
    """Objects that a pod needs before it starts, or that guard it; independent of each other."""
    workload: tuple[Intent, ...]
    """Objects that start or stop pods; only after the foundation is in place."""
    effects: tuple[Effect, ...]
    outcomes: tuple[Outcome, ...]
    complete: bool
    """Every step had its say: what is not named here is not wanted and may be pruned."""
    operation: Operation | None = None
    rolled: RolloutProgress | None = None
    """None: the pods were not read."""
    spared: tuple[Named, ...] = ()
    """What is not named in `intents` and may not be pruned either."""

    optional: tuple[Intent, ...] = ()
    """Objects that no pod needs, after all others."""
    optional_kinds: tuple[Resource, ...] = ()
    """Kinds of others that are there, of which objects that are not named here may be pruned."""

    @property
    def intents(self) -> tuple[Intent, ...]:
        """All objects of the plan."""
        return self.foundation + self.workload + self.optional


@dataclass(frozen=True, slots=True)
class AppliedObjects:
    """What became of a `Desired`."""

    desired: Desired
    objects: tuple[Applied, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    optional: tuple[Applied, ...] = ()
    """What became of the objects that no pod needs."""

    @property
    def in_place(self) -> bool:
        """Every object that pods need is now as planned."""
        return all(applied.in_place for applied in self.objects)

    def of(self, *verdicts: Verdict) -> tuple[Applied, ...]:
        """Return the answers with one of the given verdicts."""
        return tuple(
            applied for applied in (*self.objects, *self.optional) if applied.verdict in verdicts
        )

    @property
    def conflicts(self) -> tuple[str, ...]:
        """One sentence for each object that is not ours and blocks an apply."""
        return tuple(applied.message for applied in self.of(Verdict.FOREIGN))
