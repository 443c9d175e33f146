"""How many server pods there are to be right now: a table, whose first row with a say wins. Pure.

Each row lives in a module of its own; what it cannot do at once it says, and is asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.records.desired import Effect, Operation
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from runtime.outcome import Done, Outcome

SETTLED = Done()
SCALING = "Scaling"
# What a leader says of its members changes without any event.
SCALE_RECHECK = 1.0


@dataclass(frozen=True, slots=True)
class Size:
    """A number of pods, and what has to be done before the next one."""

    replicas: int
    outcome: Outcome = SETTLED
    effects: tuple[Effect, ...] = ()
    operation: Operation | None = None
    alone: bool = False
    """A server is leaving right now: no other pod may be replaced meanwhile."""


SizeRule = Callable[[Resolved, Observed], Size | None]


def standing(resolved: Resolved, observed: Observed) -> int:
    """How many servers there are by now, whether or not their StatefulSet is there."""
    live = observed.stateful_set
    if live is not None:
        return live.replicas
    highest = max((pod.ordinal for pod in observed.pods), default=-1)
    return highest + 1


def guarded(resolved: Resolved, observed: Observed, size: Size) -> int:
    """How many servers a disruption budget has to reckon with: wanted, on their way, or there.

    Whoever asks for fewer has them leave one after the other, and each votes until it has left.
    Those of a second set vote beside them.
    """
    live, green = observed.stateful_set, observed.green
    current = max(live.replicas if live else 0, len(observed.pods))
    green_servers = max(green.stateful_set.replicas if green.stateful_set else 0, len(green.pods))
    return max(resolved.replicas, size.replicas, current) + green_servers


def first_boot(resolved: Resolved, observed: Observed) -> Size | None:
    """Start a cluster without data as one pod."""
    return None if resolved.initialized else Size(1)
