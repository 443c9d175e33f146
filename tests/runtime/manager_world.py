"""A manager with components that write into one trace, with a manual clock."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from runtime.errors import LeaseLost
from runtime.process.manager import Group, Manager, Runnable
from runtime.testing.clock import ManualClock


@dataclass
class FakeElector:
    """The test decides when it wins and loses."""

    trace: list[str]
    won: asyncio.Event = field(default_factory=asyncio.Event)
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, on_started: Callable[[], Awaitable[None]], /) -> None:
        await self.won.wait()
        self.trace.append("leading")
        work = asyncio.create_task(_call(on_started))
        loss = asyncio.create_task(self.lost.wait())
        try:
            await asyncio.wait({work, loss}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.trace.append("lease released")
            raise
        finally:
            work.cancel()
            loss.cancel()
        raise LeaseLost("gone")


class Part:
    """A runnable that records its calls; the test decides how it ends."""

    def __init__(self, name: str, trace: list[str], clock: ManualClock) -> None:
        self.name = name
        self.trace = trace
        self.clock = clock
        self.crash = asyncio.get_running_loop().create_future()
        self.stopping = asyncio.Event()
        self.becomes_ready = asyncio.Event()
        self.stop_takes = 0.0
        self.ignores_cancel_for = 0.0

    async def run(self) -> None:
        self.trace.append(f"+{self.name}")
        stopping = asyncio.create_task(self.stopping.wait())
        try:
            await asyncio.wait({self.crash, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self.crash.done():
                self.crash.result()
                return
            await self.clock.sleep(self.stop_takes)
            self.trace.append(f"-{self.name}")
        except asyncio.CancelledError:
            if self.ignores_cancel_for:
                await self.clock.sleep(self.ignores_cancel_for)
            self.trace.append(f"x{self.name}")
            raise
        finally:
            stopping.cancel()

    async def ready(self) -> None:
        await self.becomes_ready.wait()
        self.trace.append(f"={self.name}")

    def runnable(self, *, ready: bool = False, stop: bool = False) -> Runnable:
        return Runnable(
            self.name, self.run, self.ready if ready else None, self.stopping.set if stop else None
        )


class World:
    """A manager with one component per group, all of which write into one trace."""

    def __init__(self, *, election: bool = True) -> None:
        self.clock = ManualClock()
        self.trace: list[str] = []
        self.exits: list[int] = []
        self.elector = FakeElector(self.trace)
        self.manager = Manager(
            clock=self.clock,
            elector=self.elector if election else None,
            on_elected=self.prepare,
            exit_now=self.exits.append,
        )
        # Added in another order: the groups determine the order.
        self.leader, self.server, self.other, self.cache = (
            Part(name, self.trace, self.clock) for name in ("leader", "server", "other", "cache")
        )
        self.manager.add(self.leader.runnable(stop=True), Group.LEADER)
        self.manager.add(self.server.runnable(), Group.SERVERS)
        self.manager.add(self.other.runnable(stop=True), Group.OTHERS)
        self.manager.add(self.cache.runnable(ready=True), Group.CACHES)
        self.task: asyncio.Task[None] | None = None
        self.prepares: Callable[[], Awaitable[None]] | None = None

    async def prepare(self) -> None:
        """The `on_elected` of the manager."""
        if self.prepares is not None:
            await self.prepares()

    async def start(self, *, leading: bool = True) -> "asyncio.Task[None]":
        self.task = asyncio.create_task(self.manager.run())
        self.cache.becomes_ready.set()
        if leading:
            self.elector.won.set()
        await self.clock.settle()
        return self.task

    def since(self, word: str) -> list[str]:
        return self.trace[self.trace.index(word) + 1 :]


STARTED = ["+server", "+other", "leading", "+cache", "=cache", "+leader"]
STOPPED = ["-other", "-leader", "xcache", "xserver", "lease released"]


async def _call(function: Callable[[], Awaitable[None]]) -> None:
    await function()
