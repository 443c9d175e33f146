"""A workqueue with a manual clock, and a short reference model of it."""

import asyncio
import itertools
import math
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from runtime.clock import yield_to_loop
from runtime.controller.flows import AGEING, SHARE
from runtime.controller.ratelimit import ItemExponentialFailure
from runtime.controller.workqueue import LOW, NORMAL, Workqueue
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.types import Request

T = TypeVar("T")

KEYS = [Request("default", name) for name in "abcd"]
A, B, C, D = KEYS

NAMESPACES = ("default", "shop", "")
SPREAD = [Request(namespace, name) for namespace in NAMESPACES for name in "ab"]
"""Keys of three flows."""

PRIORITIES = [NORMAL, NORMAL, LOW, 50]
"""Most adds are normal; two classes below and above them."""

TURNS = 6
"""Iterations of the loop after each step: a wake-up, a take, a done, and the wake-up after it."""

BASE, CAP = 1.0, 8.0


@dataclass
class Rig:
    clock: ManualClock = field(default_factory=ManualClock)
    metrics: Metrics = field(default_factory=Metrics)
    workers: int | None = None

    def __post_init__(self) -> None:
        limiter = ItemExponentialFailure(base=BASE, cap=CAP)
        self.queue = Workqueue(
            "q", clock=self.clock, limiter=limiter, metrics=self.metrics, workers=self.workers
        )

    async def take(self) -> Request | None:
        """The key that a worker would get without waiting."""
        getter = asyncio.create_task(self.queue.get())
        await yield_to_loop()
        if getter.done():
            return getter.result()
        getter.cancel()
        await asyncio.wait([getter])
        return None

    async def take_all(self) -> list[Request]:
        taken = []
        while (request := await self.take()) is not None:
            taken.append(request)
        return taken

    def sample(self, name: str, **labels: str) -> float | None:
        expected = {"name": "q", "controller": "q", **labels}
        # Restricted, because the collectors of process and platform take a hundred times as long.
        for family in self.metrics.registry.restricted_registry([name]).collect():
            for sample in family.samples:
                if sample.name == name and sample.labels == expected:
                    return sample.value
        return None

    def depth(self, priority: int | str = NORMAL) -> float | None:
        return self.sample("workqueue_depth", priority=str(priority))


@dataclass
class Item:
    priority: int
    due: float | None
    order: int


class Model:
    """The semantics in their simplest form: one dict, sorted at every take."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers
        # For each flow with keys of a priority: how many workers it holds, and since when.
        self.turns: dict[tuple[int, str], tuple[int, int]] = {}
        self.now = 0.0
        self.orders = itertools.count()
        self.takes = 0
        self.items: dict[Request, Item] = {}
        self.active: dict[Request, int] = {}
        self.failures: Counter[Request] = Counter()

    def add(self, key: Request, priority: int, seconds: float = 0.0) -> None:
        item = self.items.setdefault(key, Item(priority, self.now + 1e9, -1))
        if priority > item.priority:
            item.priority = priority
            item.order = next(self.orders) if item.due is None else item.order
        if item.due is not None and self.now + seconds < item.due:
            item.due = self.now + seconds if seconds else None
            item.order = next(self.orders)
        self.note_turns()

    def add_rate_limited(self, key: Request, priority: int) -> None:
        self.add(key, priority, min(BASE * 2 ** self.failures[key], CAP))
        self.failures[key] += 1

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = [(i.due, i.order, i) for i in self.items.values() if i.due is not None]
        for _, _, item in sorted((d, o, i) for d, o, i in due if d <= self.now):
            item.due, item.order = None, next(self.orders)
            self.note_turns()

    def done(self, key: Request) -> None:
        del self.active[key]
        self.note_turns()

    def seats(self, namespace: str) -> int:
        return sum(key.namespace == namespace for key in self.active)

    def note_turns(self) -> None:
        """A flow with another number of workers than before, or without a key before, goes last."""
        free = [key for key in self.ready() if key not in self.active]
        flows = {(self.items[key].priority, key.namespace) for key in free}
        self.turns = {flow: turn for flow, turn in self.turns.items() if flow in flows}
        for flow in flows:
            seats = self.seats(flow[1])
            if flow not in self.turns or self.turns[flow][0] != seats:
                self.turns[flow] = (seats, next(self.orders))

    def ready(self) -> list[Request]:
        return [key for key, item in self.items.items() if item.due is None]

    def take(self) -> Request | None:
        limit = len(self.active) + 1
        if self.workers is not None:
            limit = min(math.ceil(self.workers / SHARE), self.workers - len(self.active))
        free = {
            key: self.items[key]
            for key in self.ready()
            if key not in self.active and self.seats(key.namespace) < limit
        }
        if not free:
            return None
        self.takes += 1
        aged = self.takes % AGEING == 0

        def rank(key: Request) -> tuple[int, tuple[int, int], int]:
            item = free[key]
            if aged:
                return 0, (0, 0), item.order
            return -item.priority, self.turns[item.priority, key.namespace], item.order

        key = min(free, key=rank)
        self.active[key] = self.items.pop(key).priority
        self.note_turns()
        return key


class QueueMachine(RuleBasedStateMachine):
    """A state machine whose rules run in its own event loop."""

    def __init__(self, workers: int | None = None) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.rig = Rig(workers=workers)

    def teardown(self) -> None:
        async def end() -> None:
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            self.rig.queue.shut_down()
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        self.run(end())
        self.loop.close()

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(step)

    def call(self, method: Callable[..., object], *args: object, **options: object) -> None:
        """Call `method` in the loop and wait until all tasks have settled."""

        async def step() -> None:
            method(*args, **options)
            for _ in range(TURNS):
                await yield_to_loop()

        self.run(step())
