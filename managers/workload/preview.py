"""Preview of the order in which servers are replaced, by the functions of the rollout. Pure.

Called by `baoctl upgrade plan`. It assumes that every server is healthy: the preflight checks of
an upgrade report the unhealthy ones.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from contracts.records.observed import Observed, PodFacts, PoolFacts
from managers.workload.read_pool import next_read_replica
from managers.workload.rollout.next_pod import next_action


@dataclass(frozen=True, slots=True)
class PlannedReplacement:
    """One replacement of a server."""

    pod: str
    leads: bool = False
    """Whether it is the leader now and steps down first; False without a leader."""
    votes: bool = True


def replacements(observed: Observed, done: Collection[int] = ()) -> tuple[PlannedReplacement, ...]:
    """Return the order of replacement of the existing servers: read replicas, then voters.

    `done`: ordinals of voters that already have the new template.
    """
    return (*_readers(observed), *_voters(observed, done))


def _voters(observed: Observed, done: Collection[int]) -> tuple[PlannedReplacement, ...]:
    live = observed.stateful_set
    if live is None or not observed.pods:
        return ()
    leaders = {pod.uid for pod in observed.leaders}
    chosen = leaders if len(leaders) == 1 else {min(observed.pods, key=_ordinal).uid}
    pods = tuple(_healthy(pod, leads=pod.uid in chosen) for pod in observed.pods)
    healthy = replace(
        observed,
        stateful_set=replace(live, generation_observed=True),
        pods=pods,
        read=PoolFacts(),
        quorum=None,
        attempts=(),
    )
    remaining = [pod for pod in pods if pod.ordinal not in done]
    planned = []
    while remaining:
        target = next_action(healthy, remaining, len(pods)).pod
        assert target is not None, "healthy servers never block a replacement"
        remaining.remove(target)
        planned.append(
            PlannedReplacement(target.name, leads=target.uid in leaders and len(pods) > 1)
        )
    return tuple(planned)


def _readers(observed: Observed) -> tuple[PlannedReplacement, ...]:
    pool = observed.read
    if pool.stateful_set is None:
        return ()
    pods = tuple(_healthy(pod, leads=False) for pod in pool.pods)
    stateful_set = replace(pool.stateful_set, generation_observed=True)
    healthy = replace(observed, stateful_set=stateful_set, pods=pods, quorum=None)
    remaining, planned = list(pods), []
    while remaining:
        target = next_read_replica(healthy, remaining, len(pods))
        assert target is not None, "healthy servers never block a replacement"
        remaining.remove(target)
        planned.append(PlannedReplacement(target.name, votes=False))
    return tuple(planned)


def _healthy(pod: PodFacts, *, leads: bool) -> PodFacts:
    registration = replace(pod.registration, active=leads)
    return replace(
        pod,
        ready=True,
        terminating=False,
        waiting="",
        creation_timestamp=None,
        registration=registration,
    )


def _ordinal(pod: PodFacts) -> int:
    return pod.ordinal
