"""A controller with a manual clock, whose reconciler returns the outcomes of the test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

from runtime.clock import Deadline
from runtime.controller.controller import Controller, ControllerOptions, Feed
from runtime.controller.ratelimit import ItemExponentialFailure, RateLimiter
from runtime.controller.workqueue import NORMAL
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Object, Request

KEY = Request("ns", "web")
DEADLINE = 30.0

Answer = Callable[[Request], Awaitable[Outcome]]


def thing(name: str = "web", generation: int = 1, version: str = "1") -> Object:
    return {
        "metadata": {
            "namespace": "ns",
            "name": name,
            "generation": generation,
            "resourceVersion": version,
        }
    }


class FakeSource:
    """A fake event source; `sync` makes it synced."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.feeds: list[Feed] = []
        self.sync = asyncio.Event()

    def add_handler(self, feed: Feed, /) -> None:
        self.feeds.append(feed)

    async def wait_synced(self, timeout: float, /) -> None:  # noqa: ASYNC109 - see Source
        async with Deadline(self.clock, timeout):
            await self.sync.wait()


@dataclass
class Rig:
    """A running controller whose reconciler returns the next outcome, by default Done."""

    workers: int = 1
    clock: ManualClock = field(default_factory=ManualClock)
    metrics: Metrics = field(default_factory=Metrics)
    calls: list[tuple[float, Request]] = field(default_factory=list)
    limiter: RateLimiter = field(default_factory=lambda: ItemExponentialFailure(1.0, 60.0))
    answers: list[Outcome | BaseException | Answer] = field(default_factory=list)
    owns: Callable[[Request], bool] = lambda _: True

    def __post_init__(self) -> None:
        self.controller = Controller(
            "shop",
            self.reconcile,
            clock=self.clock,
            metrics=self.metrics,
            workers=self.workers,
            options=ControllerOptions(
                deadline=DEADLINE, limiter=lambda: self.limiter, owns=self.owns
            ),
        )

    async def reconcile(self, request: Request) -> Outcome:
        self.calls.append((self.clock.monotonic(), request))
        answer = self.answers.pop(0) if self.answers else Done()
        if isinstance(answer, BaseException):
            raise answer
        return await answer(request) if callable(answer) else answer

    @property
    def times(self) -> list[float]:
        return [when for when, _ in self.calls]

    def sample(self, name: str, **labels: str) -> float | None:
        family = f"controller_runtime_{name}"
        return self.metrics.registry.get_sample_value(family, {"controller": "shop", **labels})

    def depth(self, priority: int = NORMAL) -> float | None:
        labels = {"name": "shop", "controller": "shop", "priority": str(priority)}
        return self.metrics.registry.get_sample_value("workqueue_depth", labels)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Run the controller during the block; it stops gracefully at the end."""
        task = asyncio.create_task(self.controller.run())
        await self.clock.settle()
        yield self
        self.controller.stop()
        await task

    def results(self) -> dict[str, float]:
        samples = {
            result: self.sample("reconcile_total", result=result)
            for result in ("success", "error", "requeue", "requeue_after")
        }
        assert None not in samples.values(), "every result exists from the start"
        return {name: value for name, value in samples.items() if value}
