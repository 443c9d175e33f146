"""Leader election of one shard: the Lease of all shards, and inside of it the Lease of this one.

The Lease that a process without shards holds alone is shared by all processes of one number of
shards: their identity in it is that number. So a process of another number, or one that knows no
shards, sees a Lease that another holds, and does not begin before the last of them has been silent
for its whole duration. Nobody releases it: the others go on.

Inside of that, the processes of one shard elect their leader on a Lease of their own, by the
protocol of runtime.leader.leader. A write has to pass the guards of both.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Protocol

import structlog

from runtime.errors import AlreadyExists, Conflict, LeaseLost
from runtime.leader.leader import Attempt, LeaderElector, LeaderOptions, LeaseLock
from runtime.leader.shard import Shard, group_identity, lease_of_shard

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

GROUP_OPTIONS: Final = LeaderOptions(lease_duration=30.0, renew_deadline=20.0, retry_period=5.0)
"""Slower than those of a leader: many processes renew this Lease, and only a change of the number
of shards waits for its end."""

COLLISION_PAUSE: Final = 0.5
"""Seconds; at most so long until a write to the shared Lease is tried again that met another."""


class Election(Protocol):
    """What the parts of a process know of its election."""

    @property
    def is_leader(self) -> bool:
        """Whether this process acts."""
        ...

    def guard(self) -> None:
        """Raises LeaseLost unless a write sent now ends before anyone else may lead."""
        ...

    def health(self) -> str | None:
        """Why this process should be replaced, or None."""
        ...

    async def run(self, on_started: Callable[[], Awaitable[None]], /) -> None:
        """Wait for leadership, and do the work while it lasts."""
        ...


def group_lock(lock: LeaseLock, shard: Shard) -> LeaseLock:
    """The Lease of a process without shards, with the identity that all shards have in it.

    No event tells of it: its holder is no process.
    """
    return replace(lock, identity=group_identity(shard.count), reporter=None)


def shard_lock(lock: LeaseLock, shard: Shard) -> LeaseLock:
    """The Lease of one shard."""
    return replace(lock, name=lease_of_shard(lock.name, shard.index))


class GroupElector(LeaderElector):
    """Holds a Lease together with every other process of the same identity."""

    async def _acquire_or_renew(self) -> Attempt:
        """Read it first: another one has probably renewed it meanwhile."""
        while True:
            try:
                return await self._read_and_put()
            except (AlreadyExists, Conflict):
                await self._clock.sleep(COLLISION_PAUSE * self._rng.random())

    async def _release(self) -> None:
        log.info("lease left to the rest of its group", lease=str(self._key))


class ShardElector:
    """Takes part in the elections of one shard; `run` once per instance.

    The Lease of all is tried first. So a process of another number of shards holds no Lease of a
    shard while it waits. `make` makes the electors of one candidacy: that of all, and that of the
    shard.
    """

    def __init__(self, make: Callable[[], tuple[GroupElector, LeaderElector]]) -> None:
        self._make = make
        self._group, self._own = make()

    @property
    def is_leader(self) -> bool:
        """From acquiring both Leases to losing or releasing one. For writes, ask `guard`."""
        return self._group.is_leader and self._own.is_leader

    @property
    def epoch(self) -> int | None:
        """That of the Lease of the shard: it is not compared across numbers of shards."""
        return self._own.epoch

    def guard(self) -> None:
        """Raises LeaseLost unless a write sent now ends before anyone else may lead."""
        self._group.guard()
        self._own.guard()

    def health(self) -> str | None:
        """For the liveness check: why this process should be replaced, or None."""
        return self._group.health() or self._own.health()

    async def run(self, on_started: Callable[[], Awaitable[None]]) -> None:
        """Do the work while both Leases are ours, as LeaderElector.run does with one.

        A standby that loses the Lease of all has done nothing that could go on: it stays, and
        begins anew. So an outage of the API server does not end all processes at once.
        """
        while True:
            try:
                return await self._group.run(lambda: self._own.run(on_started))
            except LeaseLost:
                # A loss hides a cancellation that came with it.
                if self._own.epoch is not None or _is_cancelled():
                    raise
            self._group, self._own = self._make()


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
