"""runtime.controller.loop_slice: how many reconciles start in one iteration of the event loop."""

import asyncio
from collections.abc import Callable

import pytest

from runtime.clock import yield_to_loop
from runtime.controller.loop_slice import SLICE_PASSES, SLICE_SECONDS, LoopSlice
from runtime.testing.clock import ManualClock

WORKERS = 32


class Passes:
    """Workers that wake up in the same iteration, each for one reconcile."""

    def __init__(self, cost: Callable[[int], float]) -> None:
        self.clock = ManualClock()
        self.slice = LoopSlice(self.clock)
        self.cost = cost
        self.began: list[int] = []

    async def work(self, number: int) -> None:
        await self.slice.enter()
        self.began.append(number)
        self.clock._move_to(self.clock.monotonic() + self.cost(number))

    def start(self) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self.work(number)) for number in range(WORKERS)]

    async def iterations(self, tasks: list[asyncio.Task[None]]) -> list[float]:
        """The duration of each iteration in seconds until all have ended."""
        seconds: list[float] = []
        while not all(task.done() for task in tasks):
            before = self.clock.monotonic()
            await yield_to_loop()
            seconds.append(self.clock.monotonic() - before)
        return seconds


async def test_heavy_reconciles_start_in_separate_iterations_in_order() -> None:
    passes = Passes(lambda _: 0.01)
    seconds = await passes.iterations(passes.start())
    assert max(seconds) == pytest.approx(0.01)
    assert passes.began == list(range(WORKERS))


async def test_one_heavy_reconcile_ends_the_slice() -> None:
    passes = Passes(lambda number: 0.01 if number in (3, 4) else 0.0)
    seconds = await passes.iterations(passes.start())
    assert max(seconds) == pytest.approx(0.01)
    assert passes.began == list(range(WORKERS))


async def test_instant_reconciles_share_an_iteration_up_to_a_number() -> None:
    passes = Passes(lambda _: 0.0)
    tasks = passes.start()
    await yield_to_loop()
    assert passes.began == list(range(SLICE_PASSES))
    await passes.iterations(tasks)
    assert passes.began == list(range(WORKERS))


async def test_a_single_worker_never_waits() -> None:
    passes = Passes(lambda _: SLICE_SECONDS)
    for number in range(3):
        task = asyncio.create_task(passes.work(number))
        await yield_to_loop()
        assert task.done()
        await yield_to_loop()


@pytest.mark.parametrize("settled", [0, 1, 2, 3])
async def test_a_waiting_worker_that_is_cancelled_passes_its_slot_on(settled: int) -> None:
    passes = Passes(lambda _: 0.01)
    tasks = passes.start()
    await yield_to_loop()
    for _ in range(settled):
        await yield_to_loop()
    gone = [task for task in tasks if not task.done()][:3]
    for task in gone:
        task.cancel()
    await passes.iterations(tasks)
    assert [task.cancelled() for task in tasks].count(True) == len(gone)
    assert len(passes.began) == WORKERS - len(gone)
    # No worker waits: the next one starts immediately.
    last = asyncio.create_task(passes.work(WORKERS))
    for _ in range(3):
        await yield_to_loop()
    assert last.done()
