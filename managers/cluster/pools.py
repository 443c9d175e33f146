"""The sets of servers of one cluster as they are observed: one question to the caches. Pure.

Called by `managers.cluster.observe`. Which set is which follows from the status alone
(contracts.sets); a set that no status names is nobody's here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from contracts import names
from contracts.api.cluster import OpenBaoCluster
from contracts.observed import PodFacts, ReadPoolFacts
from contracts.sets import voter_sets
from managers.cluster.facts import (
    claim_facts,
    pod_facts,
    read_pool_facts,
    second_set_facts,
    stateful_set_facts,
)
from runtime.ownership import Owner
from runtime.types import Object, ObjectKey

NOTHING = ReadPoolFacts()


@dataclass(frozen=True, slots=True)
class Pools:
    """The voters that serve, a second set of voters, and the read replicas."""

    voters: ReadPoolFacts
    second: ReadPoolFacts
    read: ReadPoolFacts

    @property
    def servers(self) -> tuple[PodFacts, ...]:
        """Return the pods of all, in this order."""
        return self.voters.pods + self.second.pods + self.read.pods

    def seen(self, servers: tuple[PodFacts, ...]) -> Pools:
        """Return the same with what more was found of each pod, in the order of `servers`."""
        first = len(self.voters.pods)
        last = first + len(self.second.pods)
        pods = (servers[:first], servers[first:last], servers[last:])
        return Pools(*map(_with, (self.voters, self.second, self.read), pods))


def _with(pool: ReadPoolFacts, pods: tuple[PodFacts, ...]) -> ReadPoolFacts:
    return pool if pods == pool.pods else replace(pool, pods=pods)


def pools_of(
    cluster: OpenBaoCluster,
    owner: Owner,
    stateful_set: Callable[[ObjectKey], Object | None],
    found: tuple[Iterable[Object], Iterable[Object]],
) -> Pools:
    """Read the sets of a cluster; `found` are its pods and its data volume claims."""
    pods, claims = found
    serving, *others = voter_sets(cluster)

    def live(name: str) -> Object | None:
        return stateful_set(ObjectKey(owner.namespace, name))

    return Pools(
        voters=ReadPoolFacts(
            stateful_set_facts(live(serving.stateful_set)),
            pod_facts(serving, pods),
            claim_facts(serving, claims),
        ),
        second=next(
            (second_set_facts(owner, one, live(one.stateful_set), found) for one in others),
            NOTHING,
        ),
        read=read_pool_facts(owner, live(names.read_stateful_set(owner.name)), pods, claims),
    )
