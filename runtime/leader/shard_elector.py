"""Leader election of one shard: the Lease that all shards share, and the Lease of this shard.

All processes with the same number of shards share the Lease that a process without shards would
hold alone: their identity in it is that number. So a process with another number, or without
shards, sees another holder, and waits until none of them has renewed the Lease for its whole
duration. They never release it, because the others continue.

In addition, the processes of one shard elect their leader on the Lease of the shard, by the
protocol of runtime.leader.leader. A write must pass both guards.
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
of shards waits until it expires."""

COLLISION_PAUSE: Final = 0.5
"""Longest pause in seconds before a write to the shared Lease is retried after a conflict."""


class Election(Protocol):
    """The election of a process, as its components use it."""

    @property
    def is_leader(self) -> bool:
        """Whether this process is the leader."""
        ...

    def guard(self) -> None:
        """Raises LeaseLost unless a write sent now ends before anyone else may lead."""
        ...

    def health(self) -> str | None:
        """Why this process should be restarted, or None."""
        ...

    async def run(self, on_started: Callable[[], Awaitable[None]], /) -> None:
        """Wait for leadership, and run `on_started` while it lasts."""
        ...


def group_lock(lock: LeaseLock, shard: Shard) -> LeaseLock:
    """The Lease of a process without shards, with the identity that all shards share.

    No events: the holder is not a process.
    """
    return replace(lock, identity=group_identity(shard.count), reporter=None)


def shard_lock(lock: LeaseLock, shard: Shard) -> LeaseLock:
    """The Lease of one shard."""
    return replace(lock, name=lease_of_shard(lock.name, shard.index))


class GroupElector(LeaderElector):
    """Holds a Lease together with all other processes of the same identity."""

    async def _acquire_or_renew(self) -> Attempt:
        """Read the Lease first: another process has probably renewed it."""
        while True:
            try:
                return await self._read_and_put()
            except (AlreadyExists, Conflict):
                await self._clock.sleep(COLLISION_PAUSE * self._rng.random())

    async def _release(self) -> None:
        log.info("lease not released: other processes of the group hold it", lease=str(self._key))


class ShardElector:
    """Takes part in the elections of one shard; `run` once per instance.

    It acquires the shared Lease first, so that a process with another number of shards holds no
    Lease of a shard while it waits. `make` creates both electors: of the shared Lease and of the
    shard.
    """

    def __init__(self, make: Callable[[], tuple[GroupElector, LeaderElector]]) -> None:
        self._make = make
        self._group, self._own = make()

    @property
    def is_leader(self) -> bool:
        """True from acquiring both Leases to losing or releasing one. For writes, call `guard`."""
        return self._group.is_leader and self._own.is_leader

    @property
    def epoch(self) -> int | None:
        """The epoch of the Lease of the shard; not comparable across numbers of shards."""
        return self._own.epoch

    def guard(self) -> None:
        """Raises LeaseLost unless a write sent now ends before anyone else may lead."""
        self._group.guard()
        self._own.guard()

    def health(self) -> str | None:
        """For the liveness check: why this process should be restarted, or None."""
        return self._group.health() or self._own.health()

    async def run(self, on_started: Callable[[], Awaitable[None]]) -> None:
        """Run the work while both Leases are ours, as LeaderElector.run does with one.

        A standby that loses the shared Lease has not started any work: it stays and tries again. So
        an outage of the API server does not end all processes at once.
        """
        while True:
            try:
                return await self._group.run(lambda: self._own.run(on_started))
            except LeaseLost:
                # LeaseLost may hide a cancellation at the same time.
                if self._own.epoch is not None or _is_cancelled():
                    raise
            self._group, self._own = self._make()


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
