"""Two processes, one lease and random faults: never two processes that may write."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from runtime.builtin_kinds import EVENT
from runtime.errors import LeaseLost, TransportError
from runtime.events import Reporter
from runtime.leader.leader import LeaderElector, LeaderOptions, LeaseLock
from runtime.metrics.metrics import Metrics
from runtime.testing.simulation import LoopClock, SimulatedLoop
from runtime.types import Object, ObjectKey, Resource
from tests.runtime.lease_world import KEY, LeaseServer, PausedClock, allows

LIVELY = 90.0
"""Seconds without faults after which a process leads: requests in flight, a lease, some
attempts."""


class WatchedLoop(SimulatedLoop):
    """Calls a check after every step of the loop."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.look: Callable[[], None] = lambda: None

    def _run_once(self) -> None:
        super()._run_once()
        self.look()


class Line:
    """The connection of one process. A request that was sent arrives, even if its caller has given
    up."""

    def __init__(self, server: LeaseServer, base: LoopClock, process: PausedClock) -> None:
        self.server = server
        self.base = base
        self.process = process
        self.there = self.back = 0.0
        self.cut = self.deaf = False
        self.under_way: set[asyncio.Task[Object | Exception]] = set()

    async def get(self, resource: Resource, key: ObjectKey, /) -> Object:
        assert key == KEY
        return await self.call(self.server.read)

    async def create(self, resource: Resource, body: Object, /, *, field_manager: str) -> Object:
        assert field_manager
        if resource == EVENT:
            return await self.call(lambda: body)
        return await self.call(lambda: self.server.create(body))

    async def update(self, resource: Resource, body: Object, /) -> Object:
        def write() -> Object:
            held = self.server.lease is not None and self.server.spec["holderIdentity"]
            answer = self.server.update(body)
            # The server accepted it: a renewal or a takeover.
            assert body["spec"]["holderIdentity"] or held == self.releases
            return answer

        return await self.call(write)

    releases = ""
    """The identity that may release the lease over this connection."""

    async def call(self, function: Callable[[], Object]) -> Object:
        carried = asyncio.create_task(self.carry(function))
        self.under_way.add(carried)
        carried.add_done_callback(self.under_way.discard)
        answer = await asyncio.shield(carried)
        await self.process.running.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def carry(self, function: Callable[[], Object]) -> Object | Exception:
        if self.cut:
            return TransportError("no route")
        await self.base.sleep(self.there)
        try:
            answer: Object | Exception = function()
        except Exception as error:  # noqa: BLE001 - it travels back like any answer
            answer = error
        await self.base.sleep(self.back)
        return TransportError("reset") if self.deaf else answer


class Process:
    """One candidate, restarted after it has lost or released the lease."""

    def __init__(self, machine: "OneWriter", number: int, rate: float) -> None:
        self.machine = machine
        self.number = number
        self.clock = PausedClock(machine.clock, rate)
        self.line = Line(machine.server, machine.clock, self.clock)
        self.starts = 0
        self.start()

    def start(self) -> None:
        self.starts += 1
        self.identity = self.line.releases = f"{self.number}-{self.starts}"
        reporter = Reporter("example.org/test", self.identity)
        self.elector = LeaderElector(
            self.line,
            LeaseLock(*KEY, identity=self.identity, reporter=reporter),
            clock=self.clock,
            rng=random.Random(self.starts * 7 + self.number),
            metrics=Metrics(),
            options=self.machine.options,
        )
        self.finish = asyncio.Event()
        self.wind_down = 0.0
        self.task = self.machine.loop.create_task(self.elector.run(self.work))

    async def work(self) -> None:
        assert self.elector.epoch is not None
        self.machine.take_epoch(self.elector.epoch)
        try:
            await self.finish.wait()
        finally:
            await self.clock.sleep(self.wind_down)

    def suffer(self, trouble: str) -> None:
        if trouble == "paused":
            self.clock.running.clear()
        self.line.cut |= trouble == "cut"
        self.line.deaf |= trouble == "deaf"

    def recover(self) -> None:
        self.clock.running.set()
        self.line.cut = self.line.deaf = False

    def may_write(self) -> bool:
        # A paused process cannot call its guard, but it may resume at any time.
        return allows(self.elector.guard)

    def knows_the_lease(self) -> bool:
        return self.elector._observed is not None

    def ended(self) -> bool:
        if not self.task.done():
            return False
        error = None if self.task.cancelled() else self.task.exception()
        assert error is None or isinstance(error, LeaseLost)
        return True


ROLES = st.sampled_from(["leader", "leader", "standby", "both"])
TROUBLES = st.sampled_from(["paused", "cut", "deaf"])
RATES = st.sampled_from([(1.0, 1.0), (1.0, 1.49), (1.49, 1.0), (1.2, 1.0)])
DELAYS = st.sampled_from([0.0, 0.3, 1.9, 4.5, 8.0])
SECONDS = st.sampled_from([0.7, 3.0, 8.0, 13.0, 18.0])
WIND_DOWN = st.sampled_from([0.0, 1.0, 20.0])


class OneWriter(RuleBasedStateMachine):
    """Clock rates within lease / renew deadline; a network that is slow or broken in one or both
    directions; pauses; ends.

    The intervals are compared after every step of the event loop, in an order that depends on a
    seed. With a write timeout of almost zero the guard permits writes until the renew deadline: the
    longest intervals, which must never overlap.
    """

    @initialize(
        seed=st.integers(0, 2**32), rates=RATES, write_timeout=st.sampled_from([0.001, 3.0])
    )
    def begin(self, seed: int, rates: tuple[float, float], write_timeout: float) -> None:
        self.loop = WatchedLoop(random.Random(seed))
        self.clock = LoopClock(self.loop)
        self.server = LeaseServer()
        self.options = LeaderOptions(write_timeout=write_timeout)
        self.epochs: list[int] = []
        self.failed = False
        self.processes = [Process(self, n, rate) for n, rate in enumerate(rates)]
        self.loop.look = self.look
        self.run(self.live(5.0))

    def look(self) -> None:
        writers = [process.identity for process in self.processes if process.may_write()]
        assert len(writers) <= 1, f"{writers} may write at {self.loop.time():g}"

    def take_epoch(self, epoch: int) -> None:
        assert not self.epochs or epoch > self.epochs[-1], f"{epoch} after {self.epochs}"
        self.epochs.append(epoch)

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        self.loop.allow(200_000)
        try:
            self.loop.run_until_complete(main)
        except BaseException:
            self.failed = True
            raise

    async def live(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        while (left := end - self.clock.monotonic()) > 0:
            await self.clock.sleep(min(left, 0.5))
            for process in self.processes:
                # A process that starts while there is no lease cannot know of a leader.
                other = self.processes[1 - process.number]
                if process.ended() and (self.server.lease is not None or other.ended()):
                    process.start()

    async def next_write(self) -> None:
        """At most one retry period, if a process leads."""
        before, end = self.server.version, self.clock.monotonic() + 3.0
        while self.server.version == before and self.clock.monotonic() < end:
            await self.clock.sleep(0.05)

    def calm(self) -> None:
        for process in self.processes:
            process.recover()
            process.line.there = process.line.back = process.wind_down = 0.0

    def cast(self, role: str) -> list[Process]:
        leading = [process for process in self.processes if process.elector.is_leader]
        others = [process for process in self.processes if process not in leading]
        return {"leader": leading, "standby": others, "both": self.processes}[role]

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.run(self.live(seconds))

    @rule(role=ROLES, trouble=TROUBLES, seconds=SECONDS)
    def a_fault_for_some_time(self, role: str, trouble: str, seconds: float) -> None:
        struck = self.cast(role)
        for process in struck:
            process.suffer(trouble)
        self.run(self.live(seconds))
        for process in struck:
            process.recover()

    @rule(role=ROLES, trouble=TROUBLES)
    def a_permanent_fault(self, role: str, trouble: str) -> None:
        for process in self.cast(role):
            process.suffer(trouble)

    @rule(role=ROLES)
    def a_fault_ends(self, role: str) -> None:
        for process in self.cast(role):
            process.recover()

    @rule(back=st.sampled_from([1.9, 4.5, 4.9]))
    def a_renewal_is_answered_late_and_is_the_last(self, back: float) -> None:
        self.calm()
        self.run(self.live(6.0))
        leading = self.cast("leader")
        for process in leading:
            process.line.back = back
        self.run(self.next_write())
        for process in leading:
            process.line.back = 0.0
            process.suffer("cut")
        self.run(self.live(18.0))
        for process in leading:
            process.recover()

    @rule(back=st.sampled_from([0.3, 4.5]))
    def the_work_ends_and_the_release_is_answered_late(self, back: float) -> None:
        leading = self.cast("leader")
        for process in leading:
            process.line.back = back
            process.finish.set()
        self.run(self.live(10.0))
        for process in leading:
            process.line.back = 0.0

    @rule(role=ROLES, there=DELAYS, back=DELAYS)
    def the_network_is_slow(self, role: str, there: float, back: float) -> None:
        for process in self.cast(role):
            process.line.there = there
            process.line.back = back

    @rule(role=ROLES, wind_down=WIND_DOWN)
    def the_work_ends(self, role: str, wind_down: float) -> None:
        for process in self.cast(role):
            process.wind_down = wind_down
            process.finish.set()

    @rule(role=ROLES, wind_down=WIND_DOWN)
    def a_process_is_stopped(self, role: str, wind_down: float) -> None:
        for process in self.cast(role):
            process.wind_down = wind_down
            process.task.cancel()

    @precondition(lambda self: all(process.knows_the_lease() for process in self.processes))
    @rule()
    def a_user_deletes_the_lease(self) -> None:
        self.server.lease = None
        # Its history is lost, and a candidate may not have observed the last part of it.
        self.epochs.clear()

    @rule()
    def all_faults_end(self) -> None:
        self.calm()
        self.run(self.live(LIVELY))
        assert sum(process.may_write() for process in self.processes) == 1, "nobody leads"

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        try:
            if not self.failed:
                self.all_faults_end()
        finally:
            self.loop.look = lambda: None
            self.loop.allow(200_000)
            self.loop.run_until_complete(_end(self.loop))
            self.loop.close()


async def _end(loop: asyncio.AbstractEventLoop) -> None:
    # A cancelled task may start another one for a clean end.
    while tasks := asyncio.all_tasks(loop) - {asyncio.current_task()}:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


TestT20OneWriter = OneWriter.TestCase
TestT20OneWriter.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
