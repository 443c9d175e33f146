"""One lease in memory, and candidates with faults of their connections and clocks.

Called by the tests of runtime.leader.leader.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
import pytest

from runtime.builtin_kinds import LEASE
from runtime.clock import Clock
from runtime.errors import AlreadyExists, Conflict, LeaseLost, NotFound, StatusInfo
from runtime.events import Reporter
from runtime.leader.leader import LeaderElector, LeaseLock
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource

KEY = ObjectKey("system", "operator")

Fault = Callable[[], Awaitable[None]]


class LeaseServer:
    """One lease with optimistic locking, and the log of its writes."""

    def __init__(self) -> None:
        self.lease: Object | None = None
        self.version = 0
        self.calls: list[str] = []
        self.events: list[Object] = []

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec

    def read(self) -> Object:
        self.calls.append("get")
        if self.lease is None:
            raise NotFound(StatusInfo(404))
        return _copy(self.lease)

    def create(self, body: Object) -> Object:
        self.calls.append("create")
        if self.lease is not None:
            raise AlreadyExists(StatusInfo(409))
        return self.store(body)

    def update(self, body: Object) -> Object:
        self.calls.append("update")
        if self.lease is None:
            raise NotFound(StatusInfo(404))
        if body["metadata"]["resourceVersion"] != str(self.version):
            raise Conflict(StatusInfo(409))
        return self.store(body)

    def hand_to(self, holder: str) -> None:
        """Write another holder into the lease, or release it, as another client does."""
        assert self.lease is not None
        self.store({**self.lease, "spec": {**self.spec, "holderIdentity": holder}})

    def store(self, body: Object) -> Object:
        self.version += 1
        self.lease = _copy(body)
        self.lease["metadata"].setdefault("uid", f"uid-{self.version}")
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return _copy(self.lease)


class LeaseLine:
    """The client of one candidate, with a fault before or after the call."""

    def __init__(self, server: LeaseServer) -> None:
        self.server = server
        self.before: Fault | None = None
        self.after: Fault | None = None
        self.before_event: Fault | None = None

    async def get(self, resource: Resource, key: ObjectKey, /) -> Object:
        assert (resource.plural, key) == ("leases", KEY)
        return await self.call(self.server.read)

    async def create(self, resource: Resource, body: Object, /, *, field_manager: str) -> Object:
        assert field_manager
        if resource != LEASE:
            if self.before_event is not None:
                await self.before_event()
            self.server.events.append(body)
            return body
        return await self.call(lambda: self.server.create(body))

    async def update(self, resource: Resource, body: Object, /) -> Object:
        return await self.call(lambda: self.server.update(body))

    async def call(self, function: Callable[[], Object]) -> Object:
        if self.before is not None:
            await self.before()
        answer = function()
        if self.after is not None:
            await self.after()
        return answer


@dataclass
class Candidate:
    """One process: an elector, its guarded work, and its result."""

    server: LeaseServer
    clock: Clock
    identity: str = "a"
    seed: int = 0
    reporter: Reporter | None = None
    ends: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.line = LeaseLine(self.server)
        self.metrics = Metrics()
        self.elector = LeaderElector(
            self.line,
            LeaseLock(*KEY, identity=self.identity, reporter=self.reporter),
            clock=self.clock,
            rng=random.Random(self.seed),
            metrics=self.metrics,
        )
        self.finish = asyncio.Event()
        self.wind_down = 0.0
        self.task: asyncio.Task[None] | None = None

    def start(self) -> "asyncio.Task[None]":
        self.task = asyncio.create_task(self.elector.run(self.work))
        return self.task

    async def work(self) -> None:
        try:
            await self.finish.wait()
        except asyncio.CancelledError:
            await self.clock.sleep(self.wind_down)
            self.ends.append(f"work cancelled while {self.server.spec['holderIdentity']} holds")
            raise

    def may_write(self) -> bool:
        return allows(self.elector.guard)

    async def loses(self) -> None:
        """Wait for its end, which must be the loss of the lease."""
        assert self.task is not None
        with pytest.raises(LeaseLost):
            await self.task

    def leads(self) -> bool:
        return self.elector.is_leader

    def status(self) -> float | None:
        return self.metrics.registry.get_sample_value(
            "leader_election_master_status", {"name": KEY.name}
        )

    def slow_paths(self) -> float | None:
        return self.metrics.registry.get_sample_value(
            "leader_election_slowpath_total", {"name": KEY.name}
        )


class PausedClock:
    """The clock of a process, based on the manual one: while paused, time passes but nothing
    runs."""

    def __init__(self, base: Clock, rate: float = 1.0) -> None:
        self.base = base
        self.rate = rate
        self.running = asyncio.Event()
        self.running.set()

    def now(self) -> datetime:
        return self.base.now()

    def monotonic(self) -> float:
        return self.base.monotonic() * self.rate

    async def sleep(self, seconds: float) -> None:
        await self.base.sleep(seconds / self.rate)
        await self.running.wait()


def allows(guard: Callable[[], None]) -> bool:
    """Whether a write may be sent now."""
    try:
        guard()
    except LeaseLost:
        return False
    return True


def _copy(lease: Object) -> Object:
    copied: Object = orjson.loads(orjson.dumps(lease))
    return copied


async def hang() -> None:
    await asyncio.Event().wait()


def raising(make: Callable[[], Exception]) -> Fault:
    async def fault() -> None:
        raise make()

    return fault


def awake(process: PausedClock) -> Fault:
    """A client whose requests and responses wait while the process is paused."""

    async def wait() -> None:
        await process.running.wait()

    return wait


async def leader(server: LeaseServer, clock: ManualClock) -> Candidate:
    candidate = Candidate(server, clock)
    candidate.start()
    await clock.settle()
    assert candidate.may_write()
    return candidate


async def end(*candidates: Candidate) -> None:
    tasks = [candidate.task for candidate in candidates if candidate.task is not None]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
