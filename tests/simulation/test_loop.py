"""runtime.testing.simulation: virtual time, seeded order, and detection of deadlocks and leaks."""

import asyncio

import pytest

from runtime.clock import Deadline, yield_to_loop
from runtime.testing.simulation import Deadlock, Leak, Runaway, Simulation, simulate


def test_virtual_time_passes_immediately() -> None:
    async def main(simulation: Simulation) -> tuple[float, float]:
        start = simulation.clock.now()
        await simulation.clock.sleep(3600.0)
        return simulation.clock.monotonic(), (simulation.clock.now() - start).total_seconds()

    assert simulate(main, seed=1) == (3600.0, 3600.0)


async def _order_of_five(simulation: Simulation) -> str:
    order: list[str] = []

    async def say(word: str) -> None:
        for _ in range(2):
            await yield_to_loop()
            order.append(word)

    async with asyncio.TaskGroup() as group:
        for word in "abcde":
            group.create_task(say(word))
    return "".join(order)


def test_the_seed_determines_the_order() -> None:
    orders = [simulate(_order_of_five, seed=seed) for seed in range(50)]
    assert len(set(orders)) > 40
    assert orders == [simulate(_order_of_five, seed=seed) for seed in range(50)]


def test_without_shuffling_the_order_is_that_of_asyncio() -> None:
    assert simulate(_order_of_five, seed=1, shuffle=False) == asyncio.run(
        _order_of_five(Simulation(0, None, None, None))  # type: ignore[arg-type]
    )


def test_callbacks_keep_the_order_that_asyncio_promises() -> None:
    async def main(simulation: Simulation) -> list[int]:
        seen: list[int] = []
        for number in range(20):
            simulation.loop.call_soon(seen.append, number)
        while len(seen) < 20:
            await yield_to_loop()
        return seen

    assert all(simulate(main, seed=seed) == list(range(20)) for seed in range(20))


def test_timers_fire_at_their_time_and_cancelled_ones_never() -> None:
    async def main(simulation: Simulation) -> list[float]:
        fired: list[float] = []
        for number in range(1, 2000):
            timer = simulation.loop.call_later(number, lambda: fired.append(simulation.loop.time()))
            if number % 500:
                timer.cancel()
        await simulation.clock.sleep(5000.0)
        return fired

    assert simulate(main, seed=1) == [500.0, 1000.0, 1500.0]


def test_a_deadline_works_on_the_clock_of_the_loop() -> None:
    async def main(simulation: Simulation) -> float:
        with pytest.raises(TimeoutError):
            async with Deadline(simulation.clock, 7.0):
                await simulation.loop.create_future()
        return simulation.clock.monotonic()

    assert simulate(main, seed=3) == 7.0


def test_a_deadlock_is_reported_with_task_and_seed() -> None:
    async def stuck(loop: asyncio.AbstractEventLoop) -> None:
        await loop.create_future()

    async def main(simulation: Simulation) -> None:
        await asyncio.create_task(stuck(simulation.loop), name="stuck task")

    with pytest.raises(Deadlock, match=r"stuck task at .*stuck") as caught:
        simulate(main, seed=77)
    assert any("seed=77" in note for note in caught.value.__notes__)


def test_a_busy_loop_is_reported() -> None:
    async def main(simulation: Simulation) -> None:
        while True:
            await yield_to_loop()

    with pytest.raises(Runaway, match="1001 steps"):
        simulate(main, seed=1, steps=1000)


def test_a_task_that_outlives_the_simulation_is_a_leak() -> None:
    kept = []

    async def main(simulation: Simulation) -> None:
        kept.append(asyncio.create_task(simulation.clock.sleep(9.0), name="left"))

    with pytest.raises(Leak, match="left at"):
        simulate(main, seed=1)
    assert kept[0].cancelled()


def test_an_exception_that_was_never_retrieved_is_a_leak() -> None:
    async def crash() -> None:
        raise ValueError("unseen")

    async def main(simulation: Simulation) -> None:
        task = asyncio.create_task(crash())
        await asyncio.wait([task])

    with pytest.raises(Leak, match="never retrieved") as caught:
        simulate(main, seed=1)
    assert isinstance(caught.value.__cause__, ValueError)


def test_threads_are_refused() -> None:
    async def main(simulation: Simulation) -> None:
        await asyncio.to_thread(print)

    with pytest.raises(RuntimeError, match="no threads"):
        simulate(main, seed=1)
