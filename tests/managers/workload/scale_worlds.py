"""A builder of clusters that scale. Used by the tests of managers.workload.scale."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from contracts.records.observed import Observed, Quorum, RaftServer, ServerClientConfig
from tests import gen

REACH = ServerClientConfig("the authority", "the name")
ONE, TWO, THREE, FIVE = (gen.cluster(replicas=n).initialized() for n in (1, 2, 3, 5))


@dataclass(frozen=True, slots=True)
class Servers:
    """A cluster with this number of servers; pod 0 leads."""

    world: gen.World
    quorum: Quorum | None
    members: int | None = None

    def facts(self) -> Observed:
        return replace(
            self.world.facts(), client_config=REACH, quorum=self.quorum, members=self.members
        )

    def pods(self, *pods: gen.Pod) -> "Servers":
        return replace(self, world=self.world.with_pods(*pods))

    def set_to(self, live: gen.StatefulSet | None) -> "Servers":
        return replace(self, world=self.world.with_set(live))

    def with_raft(self, *servers: RaftServer, error: str = "") -> "Servers":
        return replace(self, quorum=Quorum(servers, error=error))

    def silent(self) -> "Servers":
        return replace(self, quorum=None)

    def with_removal_marks(self, *ordinals: int, **other: Any) -> "Servers":
        """Annotate these volumes as those of removed peers."""
        claims = tuple(
            replace(claim, removed_peer=claim.name.removeprefix("data-"), **other)
            if int(claim.name[-1]) in ordinals
            else claim
            for claim in self.world.claims
        )
        return replace(self, world=replace(self.world, claims=claims))

    def volumes(self, *ordinals: int, **fields: Any) -> "Servers":
        """Replace the volumes."""
        world = replace(self.world, claims=()).with_claims(*ordinals)
        claims = tuple(replace(claim, **fields) for claim in world.claims)
        return replace(self, world=replace(world, claims=claims))

    def with_attempt(self, effect: str, uid: str, ago: timedelta, refused: str = "") -> "Servers":
        return replace(self, world=self.world.with_attempt(effect, uid, ago, refused))


def raft(
    *names: str, ill: Iterable[str] = (), joining: Iterable[str] = ()
) -> tuple[RaftServer, ...]:
    return tuple(
        RaftServer(name, voter=name not in joining, healthy=name not in ill) for name in names
    )


def pod_names(count: int) -> list[str]:
    return [f"x-{n}" for n in range(count)]


def pods(count: int, *, leading: int = 0) -> list[gen.Pod]:
    return [gen.pod(n).ready(leading=n == leading) for n in range(count)]


def servers(count: int, *, leading: int = 0) -> Servers:
    world = gen.world().with_set(gen.stateful_set().with_replicas(count))
    world = world.with_pods(*pods(count, leading=leading)).with_claims(*range(count))
    return Servers(world, Quorum(raft(*pod_names(count)), count // 2 - (count % 2 == 0)))


def servers_after_stop(count: int, *, raft_of: int, volumes: int) -> Servers:
    """A cluster whose other servers have stopped; raft may list them, and volumes are left."""
    there = servers(count).volumes(*range(volumes))
    return there.with_raft(*raft(*pod_names(raft_of)))


ALONE_OF_TWO = servers_after_stop(1, raft_of=1, volumes=2)
ALONE_OF_THREE = servers_after_stop(1, raft_of=1, volumes=3)
