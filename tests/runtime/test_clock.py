"""runtime.clock and runtime.testing.clock: manual time, and deadlines on it."""

import asyncio
import gc
import weakref
from datetime import UTC, datetime, timedelta

import pytest

from runtime.clock import Clock, Deadline, SystemClock
from runtime.testing.clock import EPOCH, ManualClock


async def test_the_system_clock_is_utc_and_sleeps_for_its_argument() -> None:
    clock: Clock = SystemClock()
    start = clock.monotonic()
    await clock.sleep(0.01)
    assert clock.monotonic() - start >= 0.01
    assert clock.now().tzinfo is UTC


async def test_a_negative_sleep_returns_immediately() -> None:
    for clock in (SystemClock(), ManualClock()):
        await clock.sleep(-5.0)


async def test_sleepers_wake_in_order_at_exactly_their_time() -> None:
    clock = ManualClock()
    seen: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        seen.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        for name, seconds in (("late", 5.0), ("soon", 1.0), ("second", 1.0)):
            group.create_task(sleeper(name, seconds))
        await clock.advance(5.0)
    assert seen == [("soon", 1.0), ("second", 1.0), ("late", 5.0)]
    assert clock.now() == EPOCH + timedelta(seconds=5)


async def test_a_loop_of_sleeps_runs_as_often_as_fits_into_the_advance() -> None:
    clock = ManualClock()
    ticks: list[float] = []

    async def loop() -> None:
        while True:
            await clock.sleep(2.0)
            ticks.append(clock.monotonic())

    task = asyncio.create_task(loop())
    await clock.advance(7.0)
    task.cancel()
    assert ticks == [2.0, 4.0, 6.0]


async def test_a_cancelled_sleeper_is_removed() -> None:
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep(1.0))
    await clock.settle()
    assert (clock.sleeping, clock.next_wake) == (1, 1.0)
    task.cancel()
    await clock.settle()
    assert (clock.sleeping, clock.next_wake) == (0, None)
    await clock.advance(2.0)


async def test_setting_the_wall_time_wakes_no_sleeper() -> None:
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep(1.0))
    clock.set(datetime(2040, 1, 1, tzinfo=UTC))
    await clock.settle()
    assert not task.done()
    assert clock.monotonic() == 0.0
    task.cancel()


@pytest.mark.parametrize("moved", [False, True])
async def test_a_deadline_that_passes_raises_timeout_error(moved: bool) -> None:
    clock = ManualClock()

    async def body() -> None:
        async with Deadline(clock, 10.0) as deadline:
            if moved:
                await clock.sleep(8.0)
                deadline.move(clock.monotonic() + 10.0)
            await clock.sleep(60.0)

    task = asyncio.create_task(body())
    await clock.advance(17.9 if moved else 9.9)
    assert not task.done()
    await clock.advance(0.2)
    with pytest.raises(TimeoutError):
        await task


async def test_a_deadline_that_is_met_has_no_effect() -> None:
    clock = ManualClock()
    async with Deadline(clock, 10.0) as deadline:
        pass
    await clock.advance(20.0)
    assert not deadline.expired
    assert clock.sleeping == 0


async def test_a_cancellation_from_outside_is_not_a_timeout() -> None:
    clock = ManualClock()

    async def body() -> None:
        async with Deadline(clock, 10.0):
            await clock.sleep(60.0)

    task = asyncio.create_task(body())
    await clock.settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancellation_that_comes_together_with_the_deadline_wins() -> None:
    clock = ManualClock()

    async def body() -> None:
        async with Deadline(clock, 10.0):
            try:
                await clock.sleep(60.0)
            except asyncio.CancelledError:
                task.cancel()
                raise

    task = asyncio.create_task(body())
    await clock.advance(10.0)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_inner_of_two_deadlines_does_not_end_the_outer_body() -> None:
    clock = ManualClock()

    async def body() -> str:
        async with Deadline(clock, 30.0):
            try:
                async with Deadline(clock, 10.0):
                    await clock.sleep(60.0)
            except TimeoutError:
                await clock.sleep(5.0)
                return "went on"
        return "not reached"

    task = asyncio.create_task(body())
    await clock.advance(20.0)
    assert await task == "went on"


async def test_an_error_of_the_body_passes_through() -> None:
    with pytest.raises(KeyError):
        async with Deadline(ManualClock(), 10.0):
            raise KeyError("body")


async def test_a_deadline_that_is_met_is_freed_without_the_garbage_collector() -> None:
    clock = ManualClock()
    gc.disable()
    try:
        deadline = Deadline(clock, 10.0)
        async with deadline:
            await clock.settle()
        left = weakref.ref(deadline)
        del deadline
        await clock.settle()
        assert left() is None
    finally:
        gc.enable()
