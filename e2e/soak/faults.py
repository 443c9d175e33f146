"""Faults of the connection to the server, and of the server."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from e2e.rig import Rig
from runtime.testing.proxy import FaultProxy

QUIET_SECONDS = (1.0, 6.0)
"""The range of the random pause between two faults."""


@dataclass(slots=True)
class Faults:
    """Injects random faults, one at a time; `seen` counts them by name."""

    rig: Rig
    proxy: FaultProxy
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Run until cancelled. An active fault ends before this returns."""
        kinds: list[tuple[Callable[[], Awaitable[None]], int]] = [
            (self.reset, 6),
            (self.half_open, 3),
            (self.pause, 4),
            (self.refuse, 3),
            (self.truncate, 3),
            (self.throttle, 2),
            (self.slow, 2),
            (self.frozen_server, 2),
            (self.frozen_storage, 2),
            (self.killed_server, 2),
        ]
        actions, weights = zip(*kinds, strict=True)
        while True:
            await asyncio.sleep(self.rng.uniform(*QUIET_SECONDS))
            action = self.rng.choices(actions, weights)[0]
            self.counts[action.__name__] += 1
            await asyncio.shield(asyncio.ensure_future(action()))

    async def reset(self) -> None:
        self.proxy.reset()

    async def half_open(self) -> None:
        """Current connections stay open, without data, until the client closes them."""
        self.proxy.half_open()

    async def pause(self) -> None:
        self.proxy.pause()
        await asyncio.sleep(self.rng.uniform(0.2, 8.0))
        self.proxy.resume()

    async def refuse(self) -> None:
        self.proxy.refuse()
        self.proxy.reset()
        await asyncio.sleep(self.rng.uniform(0.2, 5.0))
        self.proxy.refuse(False)

    async def truncate(self) -> None:
        """Responses and events are cut off."""
        self.proxy.truncate_after(self.rng.randint(1, 60_000))
        await asyncio.sleep(self.rng.uniform(1.0, 6.0))
        self.proxy.truncate_after(None)

    async def throttle(self) -> None:
        self.proxy.throttle(30_000.0)
        await asyncio.sleep(self.rng.uniform(1.0, 6.0))
        self.proxy.throttle(None)

    async def slow(self) -> None:
        self.proxy.delay(self.rng.uniform(0.05, 0.5))
        await asyncio.sleep(self.rng.uniform(1.0, 6.0))
        self.proxy.delay(0.0)

    async def frozen_server(self) -> None:
        await self._freeze("kube-apiserver")

    async def frozen_storage(self) -> None:
        await self._freeze("etcd")

    async def _freeze(self, component: str) -> None:
        self.rig.pause(component)
        await asyncio.sleep(self.rng.uniform(0.5, 6.0))
        self.rig.resume(component)

    async def killed_server(self) -> None:
        """SIGKILL, and a restart with an empty watch cache."""
        await asyncio.to_thread(self.rig.stop, "kube-apiserver", 0.0)
        await asyncio.sleep(self.rng.uniform(0.0, 3.0))
        await asyncio.to_thread(self.rig.start, "kube-apiserver")
        await asyncio.to_thread(self.rig.wait_ready)
