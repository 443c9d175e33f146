"""The sets of servers of one cluster as they are observed: one question to the caches. Pure.

Called by `managers.cluster.observe.observer`. Which set is which follows from the status and,
before an upgrade, from what would be made next (managers.upgrade.bluegreen.facts); any other one is
nobody's here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import names
from contracts.naming.revision_patterns import pod_of_claim, stateful_set_of
from contracts.records.observed import PodFacts, PoolFacts
from managers.cluster.observe.from_objects import (
    claim_facts,
    own_set_facts,
    pod_facts,
    read_pool_facts,
    second_set_facts,
)
from managers.upgrade.bluegreen.facts import sets_in_sight
from runtime.apply.ownership import Owner
from runtime.types import Object, ObjectKey, key_of

NOTHING = PoolFacts()


@dataclass(frozen=True, slots=True)
class ObservedPools:
    """The voters that serve, a second set of voters, and the read replicas."""

    voters: PoolFacts
    second: PoolFacts
    read: PoolFacts
    strays: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    """Both as in contracts.records.observed."""

    @property
    def servers(self) -> tuple[PodFacts, ...]:
        """Return the pods of all, in this order."""
        return self.voters.pods + self.second.pods + self.read.pods

    def seen(self, servers: tuple[PodFacts, ...]) -> ObservedPools:
        """Return the same with what more was found of each pod, in the order of `servers`."""
        first = len(self.voters.pods)
        last = first + len(self.second.pods)
        return replace(
            self,
            voters=_with(self.voters, servers[:first]),
            second=_with(self.second, servers[first:last]),
            read=_with(self.read, servers[last:]),
        )


def _with(pool: PoolFacts, pods: tuple[PodFacts, ...]) -> PoolFacts:
    return pool if pods == pool.pods else replace(pool, pods=pods)


def pools_of(
    cluster: OpenBaoCluster,
    owner: Owner,
    stateful_set: Callable[[ObjectKey], Object | None],
    found: tuple[Iterable[Object], Iterable[Object]],
) -> ObservedPools:
    """Read the sets of a cluster; `found` are its pods and its data volume claims."""
    pods, claims = found
    serving, *others = sets = sets_in_sight(cluster)

    def live(name: str) -> Object | None:
        return stateful_set(ObjectKey(owner.namespace, name))

    serves = own_set_facts(owner, live(serving.stateful_set))
    strays = () if serves else _strays(owner.name, {one.stateful_set for one in sets}, found)
    return ObservedPools(
        strays=strays,
        rivals=tuple(one for one in strays if own_set_facts(owner, live(one)) is not None),
        voters=PoolFacts(
            serves,
            pod_facts(serving, pods),
            claim_facts(serving, claims),
        ),
        second=next(
            (second_set_facts(owner, one, live(one.stateful_set), found) for one in others),
            NOTHING,
        ),
        read=read_pool_facts(owner, live(names.read_stateful_set(owner.name)), pods, claims),
    )


def _strays(
    cluster: str, known: Collection[str], found: tuple[Iterable[Object], Iterable[Object]]
) -> tuple[str, ...]:
    pods, claims = ([key_of(one).name for one in some] for some in found)
    sets = {stateful_set_of(cluster, name) for name in (*pods, *map(pod_of_claim, claims))}
    return tuple(sorted(name for name in sets if name is not None and name not in known))
