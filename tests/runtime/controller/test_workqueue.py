"""The workqueue: its order, its timers, its shutdown; test_workqueue_model has its model."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.clock import yield_to_loop
from runtime.controller.flows import AGEING
from runtime.controller.workqueue import LOW, NORMAL, STALE_ENTRIES, ShutDown
from runtime.metrics.families import OVER_LIMIT, PRIORITY_LIMIT
from runtime.types import Request
from tests.runtime.queue_rig import KEYS, A, B, C, D, Rig


async def test_t02_adds_while_a_worker_holds_the_key_cause_one_more_run() -> None:
    rig = Rig()
    rig.queue.add(A)
    assert await rig.take() == A
    for _ in range(5):
        rig.queue.add(A)
    assert await rig.take() is None
    rig.queue.done(A)
    assert await rig.take_all() == [A]


async def test_t02_a_held_key_is_skipped_and_keeps_its_position() -> None:
    rig = Rig()
    rig.queue.add(A)
    assert await rig.take() == A
    for key in (A, B):
        rig.queue.add(key)
    assert await rig.take() == B
    rig.queue.add(C)
    rig.queue.done(A)
    assert await rig.take_all() == [A, C]


async def test_t03_a_waiting_worker_gets_a_key_without_a_timer() -> None:
    """From add to worker it takes one iteration of the loop."""
    rig = Rig()
    getter = asyncio.create_task(rig.queue.get())
    await rig.clock.settle()
    rig.queue.add(A)
    await yield_to_loop()
    assert getter.done()
    assert getter.result() == A
    assert rig.clock.sleeping == 0


async def test_t03_a_wake_up_that_hits_a_cancelled_worker_goes_to_the_next_one() -> None:
    rig = Rig()
    first, second = (asyncio.create_task(rig.queue.get()) for _ in range(2))
    await rig.clock.settle()
    rig.queue.add(A)
    first.cancel()
    await rig.clock.settle()
    assert first.cancelled()
    assert second.done()
    assert second.result() == A


async def test_t03_a_waiting_worker_gets_a_released_key() -> None:
    rig = Rig()
    rig.queue.add(A)
    assert await rig.take() == A
    getter = asyncio.create_task(rig.queue.get())
    rig.queue.add(A)
    await rig.clock.settle()
    assert not getter.done()
    rig.queue.done(A)
    await rig.clock.settle()
    assert getter.done()
    assert getter.result() == A


async def test_t04_ready_keys_are_taken_in_the_order_in_which_they_became_ready() -> None:
    rig = Rig()
    rig.queue.add_after(A, 2.0)
    rig.queue.add_after(B, 1.0)
    rig.queue.add(C)
    await rig.clock.advance(3.0)
    rig.queue.add(D)
    assert await rig.take_all() == [C, B, A, D]


async def test_t04_the_sooner_time_wins_in_either_order() -> None:
    rig = Rig()
    for first, second in ((5.0, 2.0), (2.0, 5.0)):
        rig.queue.add_after(A, first)
        rig.queue.add_after(A, second)
        await rig.clock.advance(1.9)
        assert await rig.take() is None
        await rig.clock.advance(0.1)
        assert await rig.take() == A
        rig.queue.done(A)
        await rig.clock.advance(10.0)
        assert await rig.take() is None, "the later time must not fire as well"


async def test_t04_ready_absorbs_delayed_and_an_add_erases_the_timer() -> None:
    rig = Rig()
    rig.queue.add(A)
    rig.queue.add_after(A, 5.0)
    rig.queue.add_after(B, 5.0)
    rig.queue.add(B)
    assert await rig.take_all() == [A, B]
    rig.queue.done(A)
    rig.queue.done(B)
    await rig.clock.advance(60.0)
    assert await rig.take() is None


async def test_t04_a_sooner_entry_moves_the_running_timer() -> None:
    rig = Rig()
    rig.queue.add_after(A, 3600.0)
    await rig.clock.settle()
    rig.queue.add_after(B, 1.0)
    await rig.clock.advance(1.0)
    assert await rig.take_all() == [B]
    await rig.clock.advance(3599.0)
    assert await rig.take_all() == [A]


async def test_t04_stale_timers_are_bounded() -> None:
    rig = Rig()
    for _ in range(2000):
        rig.queue.add_after(A, 3600.0)
        rig.queue.add(A)
        assert await rig.queue.get() == A
        rig.queue.done(A)
    rig.queue.add_after(A, 3600.0)
    assert len(rig.queue._times) <= STALE_ENTRIES + 3
    await rig.clock.advance(3600.0)
    assert await rig.take_all() == [A]


async def test_higher_priorities_are_taken_first_and_a_raised_key_is_last_of_its_new_one() -> None:
    rig = Rig()
    rig.queue.add(A, priority=LOW)
    rig.queue.add(B, priority=LOW)
    rig.queue.add(C)
    rig.queue.add(D, priority=50)
    rig.queue.add(A)
    rig.queue.add(C, priority=LOW)
    assert [rig.depth(priority) for priority in (50, NORMAL, LOW)] == [1, 2, 1]
    assert await rig.take_all() == [D, C, A, B]
    assert [rig.queue.priority_of(key) for key in KEYS] == [NORMAL, LOW, NORMAL, 50]
    assert [rig.depth(priority) for priority in (50, NORMAL, LOW)] == [0, 0, 0]


@settings(deadline=None, max_examples=60)
@given(
    older=st.integers(0, 12),
    warm_up=st.integers(0, 2 * AGEING),
    stream=st.lists(st.sampled_from([NORMAL, 50, 99]), min_size=1, max_size=30),
)
def test_t06_a_low_key_is_taken_in_time_under_an_endless_stream_of_others(
    older: int, warm_up: int, stream: list[int]
) -> None:
    """Within AGEING * (older + 1) takes, in every phase of the queue and of the stream."""

    async def scenario() -> None:
        rig = Rig()
        fresh = (Request("stream", str(number)) for number in range(10_000))

        async def take_one_of_many(turn: int) -> Request:
            rig.queue.add(next(fresh), priority=stream[turn % len(stream)])
            taken = await rig.queue.get()
            rig.queue.done(taken)
            return taken

        rig.queue.add(next(fresh))
        for turn in range(warm_up):
            await take_one_of_many(turn)
        # The keys that are still queued now are older too.
        older_keys = len(rig.queue) + older
        for number in range(older):
            rig.queue.add(Request("older", str(number)), priority=LOW)
        rig.queue.add(A, priority=LOW)
        for turn in range(AGEING * (older_keys + 1)):
            if await take_one_of_many(turn) == A:
                return
        raise AssertionError("starved")

    asyncio.run(scenario())


async def test_t06_age_takes_no_more_than_its_share() -> None:
    rig = Rig()
    low = [Request("low", str(number)) for number in range(100)]
    for key in low:
        rig.queue.add(key, priority=LOW)
    taken = []
    for number in range(10 * AGEING):
        rig.queue.add(Request("normal", str(number)))
        taken.append(await rig.queue.get())
    assert taken[AGEING - 1 :: AGEING] == low[:10]
    assert sum(key.namespace == "normal" for key in taken) == 10 * (AGEING - 1)


async def test_the_label_of_the_priority_is_limited() -> None:
    rig = Rig()
    known = PRIORITY_LIMIT - 2
    keys = [Request("", str(number)) for number in range(known + 5)]
    for number, key in enumerate(keys, start=1):
        rig.queue.add(key, priority=number)
    assert rig.depth(known) == 1
    assert rig.depth(known + 1) is None
    assert rig.depth(OVER_LIMIT) == 5
    for _ in range(5):
        await rig.queue.get()
    assert rig.depth(OVER_LIMIT) == 0
    assert rig.depth(known) == 1


async def test_t07_shut_down_frees_every_worker_that_waits_and_drops_what_is_queued() -> None:
    rig = Rig()
    waiting = [asyncio.create_task(rig.queue.get()) for _ in range(3)]
    await rig.clock.settle()
    rig.queue.add_after(A, 1.0)
    rig.queue.shut_down()
    done, _ = await asyncio.wait(waiting)
    assert all(isinstance(task.exception(), ShutDown) for task in done)
    rig.queue.add(B)
    rig.queue.add_after(B, 1.0)
    assert len(rig.queue) == 0
    with pytest.raises(ShutDown):
        await rig.queue.get()
    await rig.clock.settle()
    assert rig.clock.sleeping == 0, "the timer is gone too"


async def test_t07_drain_without_held_keys_returns_immediately() -> None:
    rig = Rig()
    rig.queue.add(A)
    await rig.queue.drain()
    assert await rig.take() == A
    rig.queue.done(A)
    await rig.queue.drain()


async def test_t07_a_held_key_that_was_added_again_is_dropped_by_shut_down() -> None:
    rig = Rig()
    rig.queue.add(A)
    assert await rig.take() == A
    rig.queue.add(A)
    rig.queue.shut_down()
    rig.queue.done(A)
    await rig.queue.drain()
    assert (len(rig.queue), rig.depth()) == (0, 0)
    with pytest.raises(ShutDown):
        await rig.queue.get()


async def test_t07_drain_waits_for_the_last_held_key() -> None:
    rig = Rig()
    for key in (A, B):
        rig.queue.add(key)
        await rig.take()
    rig.queue.shut_down()
    draining = asyncio.create_task(_run(rig.queue.drain))
    rig.queue.done(A)
    await rig.clock.settle()
    assert not draining.done()
    rig.queue.done(B)
    await draining


async def test_releasing_a_key_that_is_not_held_is_an_error() -> None:
    with pytest.raises(KeyError):
        Rig().queue.done(A)


async def test_metrics_distinguish_delayed_from_ready_keys_and_compute_ages() -> None:
    rig = Rig()
    rig.queue.add_after(A, 2.0)
    assert rig.depth() == 0
    assert rig.sample("workqueue_adds_total") == 0
    assert rig.sample("workqueue_retries_total") == 1
    await rig.clock.advance(2.0)
    assert rig.depth() == 1
    assert rig.sample("workqueue_adds_total") == 1
    await rig.clock.advance(3.0)
    await rig.take()
    assert rig.depth() == 0
    assert rig.sample("workqueue_queue_duration_seconds_sum") == pytest.approx(3.0)
    rig.queue.add(B)
    await rig.clock.advance(1.0)
    await rig.take()
    await rig.clock.advance(4.0)
    assert rig.sample("workqueue_unfinished_work_seconds") == pytest.approx(9.0)
    assert rig.sample("workqueue_longest_running_processor_seconds") == pytest.approx(5.0)
    rig.queue.done(A)
    assert rig.sample("workqueue_work_duration_seconds_sum") == pytest.approx(5.0)


async def _run(function: Callable[[], Awaitable[None]]) -> None:
    await function()
