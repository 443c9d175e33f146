"""Number of server pods now: a list of rules, of which the first applicable one decides. Pure.

Each rule has its own module; its outcome reports what it waits for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.records.desired import Operation
from contracts.records.effects import Effect
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from runtime.outcome import Done, Outcome

SETTLED = Done()
SCALING = "Scaling"
# The members that a leader reports change without any event.
SCALE_RECHECK = 1.0


@dataclass(frozen=True, slots=True)
class Size:
    """A number of pods, and the effects that must precede the next change."""

    replicas: int
    outcome: Outcome = SETTLED
    effects: tuple[Effect, ...] = ()
    operation: Operation | None = None
    alone: bool = False
    """A server is being removed: no other pod may be replaced at the same time."""


SizeRule = Callable[[Resolved, Observed], Size | None]


def current_replicas(resolved: Resolved, observed: Observed) -> int:
    """Return the current number of servers, whether or not the StatefulSet exists."""
    live = observed.stateful_set
    if live is not None:
        return live.replicas
    highest = max((pod.ordinal for pod in observed.pods), default=-1)
    return highest + 1


def budget_size(resolved: Resolved, observed: Observed, size: Size) -> int:
    """Return the number of servers that the disruption budget covers: desired, joining, or present.

    A scale-down removes servers one at a time, and each votes until it is removed. The voters of
    the green pool count too.
    """
    live, green = observed.stateful_set, observed.green
    current = max(live.replicas if live else 0, len(observed.pods))
    green_servers = max(green.stateful_set.replicas if green.stateful_set else 0, len(green.pods))
    return max(resolved.replicas, size.replicas, current) + green_servers


def first_boot(resolved: Resolved, observed: Observed) -> Size | None:
    """Start a cluster without data as one pod."""
    return None if resolved.initialized else Size(1)
