"""The desired objects of a reconcile, which the plan step creates. No I/O."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.api.cluster.status import OperationKind
from contracts.records.effects import Effect
from runtime.apply.intent import Intent
from runtime.outcome import Done, Outcome
from runtime.types import ObjectKey, Resource

CONTENT = Done()
Named = tuple[Resource, ObjectKey]
"""One object by kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A long operation on the cluster, for `status.operation`.

    `done` of `total` steps are complete. The first plan step with an operation decides which one
    the status shows.
    """

    kind: OperationKind
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """Progress of the rollout of the newest template to the voters."""

    updated: tuple[int, ...] = ()
    """Ordinals of the voters that are ready and have the newest template."""
    complete: bool = False
    """All voters are updated, and none is being replaced."""
    pod: str = ""
    """The pod that is about to be replaced, or is not ready again yet; "" if none."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The desired objects of one step of the plan.

    After a `Wait` or `Blocked` the other steps continue; only with `gate` it blocks the objects
    that start or stop pods.
    """

    intents: tuple[Intent, ...] = ()
    effects: tuple[Effect, ...] = ()
    outcome: Outcome = CONTENT
    gate: bool = False
    """The pods may not be changed until this step is Done."""
    operation: Operation | None = None
    """The operation on the pods, if it takes several reconciles."""
    rollout: RolloutProgress | None = None
    """None: this step does not handle pods."""
    retained: tuple[Named, ...] = ()
    """Objects that are no longer desired but must not be changed or pruned yet."""
    optional: tuple[Intent, ...] = ()
    """Objects that no pod needs: applied last, and a problem with them blocks nothing."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The whole plan of one reconcile, in the order of the apply."""

    foundation: tuple[Intent, ...]
    """Objects that a pod needs before it starts, or that protect it; independent of each other."""
    workload: tuple[Intent, ...]
    """Objects that start or stop pods; applied only after the whole foundation."""
    effects: tuple[Effect, ...]
    outcomes: tuple[Outcome, ...]
    complete: bool
    """Every step has planned its objects, so objects that are not listed here may be pruned."""
    operation: Operation | None = None
    rollout: RolloutProgress | None = None
    """None: the pods were not read."""
    retained: tuple[Named, ...] = ()
    """Objects that are not in `intents` but must not be pruned."""

    optional: tuple[Intent, ...] = ()
    """Objects that no pod needs, applied after all others."""
    optional_kinds: tuple[Resource, ...] = ()
    """Optional kinds that the API server serves: objects that are not listed may be pruned."""

    @property
    def intents(self) -> tuple[Intent, ...]:
        """All objects of the plan."""
        return self.foundation + self.workload + self.optional
