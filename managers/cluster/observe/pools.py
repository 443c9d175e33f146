"""The observed server pools of one cluster, from the caches. Pure.

Called by `managers.cluster.observe.observer`. The status names the pools. Before an upgrade,
managers.upgrade.bluegreen.facts adds the pool that would be created next. Any other is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming.revision_patterns import pod_of_claim, stateful_set_of
from contracts.pools.voter_pool import ServerPool
from contracts.records.observed import PodFacts, PoolFacts
from managers.cluster.observe.from_objects import (
    own_stateful_set_facts,
    pool_facts,
)
from managers.upgrade.bluegreen.facts import pools_to_observe
from runtime.apply.ownership import Owner
from runtime.types import Object, ObjectKey, key_of

EMPTY_POOL = PoolFacts()


@dataclass(frozen=True, slots=True)
class ObservedPools:
    """The serving voters, the green pool, and the read replicas."""

    voters: PoolFacts
    green: PoolFacts
    read: PoolFacts
    unknown_pools: tuple[str, ...] = ()
    existing_pools: tuple[str, ...] = ()
    """Both as in contracts.records.observed."""

    @property
    def servers(self) -> tuple[PodFacts, ...]:
        """Return the pods of all pools, in this order."""
        return self.voters.pods + self.green.pods + self.read.pods

    def with_pod_facts(self, servers: tuple[PodFacts, ...]) -> ObservedPools:
        """Return the pools with these pods, in the order of `servers`."""
        first = len(self.voters.pods)
        last = first + len(self.green.pods)
        return replace(
            self,
            voters=_with(self.voters, servers[:first]),
            green=_with(self.green, servers[first:last]),
            read=_with(self.read, servers[last:]),
        )


def _with(pool: PoolFacts, pods: tuple[PodFacts, ...]) -> PoolFacts:
    return pool if pods == pool.pods else replace(pool, pods=pods)


def pools_of(
    cluster: OpenBaoCluster,
    owner: Owner,
    stateful_set: Callable[[ObjectKey], Object | None],
    objects: tuple[Iterable[Object], Iterable[Object]],
) -> ObservedPools:
    """Read the pools of a cluster; `objects` are its pods and its data PVCs."""
    serving, *others = pools = pools_to_observe(cluster)

    def live(name: str) -> Object | None:
        return stateful_set(ObjectKey(owner.namespace, name))

    def facts(pool: ServerPool) -> PoolFacts:
        return pool_facts(owner, pool, live(pool.stateful_set), objects)

    voters = facts(serving)
    unknown_pools = (
        ()
        if voters.stateful_set
        else _unknown_pools(owner.name, {pool.stateful_set for pool in pools}, objects)
    )
    return ObservedPools(
        unknown_pools=unknown_pools,
        existing_pools=tuple(
            name for name in unknown_pools if own_stateful_set_facts(owner, live(name)) is not None
        ),
        voters=voters,
        green=facts(others[0]) if others else EMPTY_POOL,
        read=facts(ServerPool(owner.name, reads=True)),
    )


def _unknown_pools(
    cluster: str, expected: Collection[str], objects: tuple[Iterable[Object], Iterable[Object]]
) -> tuple[str, ...]:
    pods, claims = ([key_of(obj).name for obj in kind] for kind in objects)
    live = {stateful_set_of(cluster, name) for name in (*pods, *map(pod_of_claim, claims))}
    return tuple(sorted(name for name in live if name is not None and name not in expected))
