"""Leases in memory, and processes of shards that hold them. Called by the tests of shards."""

import asyncio
import random
from dataclasses import dataclass, field

from runtime.clock import Clock
from runtime.errors import TransportError
from runtime.leader.leader import LeaderElector, LeaseLock
from runtime.leader.shard import Shard
from runtime.leader.shard_elector import (
    GROUP_OPTIONS,
    Election,
    GroupElector,
    ShardElector,
    group_lock,
    shard_lock,
)
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource
from tests.runtime.lease_world import LeaseServer, PausedClock, allows

NAME = "operator"
CHANGE = GROUP_OPTIONS.lease_duration + 2 * 2.2 * GROUP_OPTIONS.retry_period
"""Seconds until a process with another number of shards takes over: it observes the last renewal
one pause late, and its expiry another pause late."""
TAKEOVER = 15.0 + 2 * 2.2 * 2.0
"""The same for the standby of a shard."""


class Leases:
    """The client of all processes: one LeaseServer for each name."""

    def __init__(self) -> None:
        self.servers: dict[str, LeaseServer] = {}

    def __getitem__(self, name: str) -> LeaseServer:
        return self.servers.setdefault(name, LeaseServer())

    def holder(self, name: str = NAME) -> str:
        return str(self[name].spec["holderIdentity"])


@dataclass
class Line:
    """The client of one process; its requests and responses wait while the process is paused."""

    leases: Leases
    process: PausedClock
    cut: set[str] = field(default_factory=set)
    """Leases that it cannot reach."""

    async def server(self, name: str) -> LeaseServer:
        await self.process.running.wait()
        if name in self.cut:
            raise TransportError("cut")
        return self.leases[name]

    async def get(self, resource: Resource, key: ObjectKey, /) -> Object:
        return (await self.server(key.name)).read()

    async def create(self, resource: Resource, body: Object, /, *, field_manager: str) -> Object:
        return (await self.server(body["metadata"]["name"])).create(body)

    async def update(self, resource: Resource, body: Object, /) -> Object:
        return (await self.server(body["metadata"]["name"])).update(body)


@dataclass
class Process:
    """A process of one shard, or one without shards; its work runs until it is stopped."""

    leases: Leases
    base: ManualClock
    shard: Shard = field(default_factory=Shard)
    identity: str = "a"
    seed: int = 0

    def __post_init__(self) -> None:
        self.clock = PausedClock(self.base)
        self.line = Line(self.leases, self.clock)
        self.election = self._election()
        self.task = asyncio.create_task(self.election.run(self._work))

    def _election(self) -> Election:
        clock: Clock = self.clock
        line, metrics, rng = self.line, Metrics(), random.Random(self.seed)
        lock = LeaseLock("system", NAME, self.identity)
        if self.shard.is_only:
            return LeaderElector(line, lock, clock=clock, rng=rng, metrics=metrics)

        def candidacy() -> tuple[GroupElector, LeaderElector]:
            group = GroupElector(
                line,
                group_lock(lock, self.shard),
                clock=clock,
                rng=rng,
                metrics=metrics,
                options=GROUP_OPTIONS,
            )
            own = LeaderElector(
                line, shard_lock(lock, self.shard), clock=clock, rng=rng, metrics=metrics
            )
            return group, own

        return ShardElector(candidacy)

    async def _work(self) -> None:
        await asyncio.Event().wait()

    def may_write(self) -> bool:
        return allows(self.election.guard)

    def pause(self) -> None:
        self.clock.running.clear()

    def resume(self) -> None:
        self.clock.running.set()

    def kill(self) -> None:
        """End without a release, as when a node fails: it never runs again."""
        self.pause()

    async def stop(self) -> None:
        """Stop gracefully."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def end(*processes: Process) -> None:
    for process in processes:
        process.resume()
        process.task.cancel()
    await asyncio.gather(*(process.task for process in processes), return_exceptions=True)


def together(processes: list[Process]) -> list[tuple[Process, Process]]:
    """Pairs that may write now and share an object; those with different numbers of shards always
    do."""
    writers = [process for process in processes if process.may_write()]
    return [
        (writer, other)
        for number, writer in enumerate(writers)
        for other in writers[number + 1 :]
        if writer.shard.count != other.shard.count or writer.shard == other.shard
    ]
