"""The workqueue against a small model of it, and the promises that a model cannot show."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from runtime.clock import yield_to_loop
from runtime.metrics import Metrics
from runtime.ratelimit import ItemExponentialFailure
from runtime.testing.clock import ManualClock
from runtime.types import Request
from runtime.workqueue import STALE_ENTRIES, ShutDown, Workqueue

T = TypeVar("T")

KEYS = [Request("default", name) for name in "abcd"]
A, B, C, D = KEYS


@dataclass
class Rig:
    clock: ManualClock = field(default_factory=ManualClock)
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        limiter = ItemExponentialFailure(base=1.0, cap=8.0)
        self.queue = Workqueue("q", clock=self.clock, limiter=limiter, metrics=self.metrics)

    async def take(self) -> Request | None:
        """What a worker that does not wait would get."""
        getter = asyncio.create_task(self.queue.get())
        await self.clock.settle()
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

    def sample(self, name: str) -> float | None:
        labels = {"name": "q", "controller": "q"}
        if name == "workqueue_depth":
            labels["priority"] = ""
        return self.metrics.registry.get_sample_value(name, labels)


class Model:
    """The semantics in their simplest form: lists instead of heaps, no wake-ups."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ready: list[Request] = []
        self.waiting: dict[Request, float] = {}
        self.held: set[Request] = set()

    def add(self, key: Request) -> None:
        self.waiting.pop(key, None)
        if key not in self.ready:
            self.ready.append(key)

    def add_after(self, key: Request, seconds: float) -> None:
        due = self.now + seconds
        if key not in self.ready and due < self.waiting.get(key, due + 1):
            self.waiting.pop(key, None)
            self.waiting[key] = due

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for key, due in sorted(self.waiting.items(), key=lambda item: item[1]):
            if due <= self.now:
                self.add(key)

    def take(self) -> Request | None:
        for key in self.ready:
            if key not in self.held:
                self.ready.remove(key)
                self.held.add(key)
                return key
        return None


class QueueMatchesModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.rig = Rig()
        self.model = Model()

    def teardown(self) -> None:
        async def end() -> None:
            self.rig.queue.shut_down()
            await self.rig.clock.settle()

        self.run(end())
        self.loop.close()

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(step)

    def call(self, method: Callable[..., None], *args: object) -> None:
        async def step() -> None:
            method(*args)

        self.run(step())

    @rule(key=st.sampled_from(KEYS))
    def add(self, key: Request) -> None:
        self.call(self.rig.queue.add, key)
        self.model.add(key)

    @rule(key=st.sampled_from(KEYS), seconds=st.sampled_from([1.0, 2.0, 3.0, 5.0, 8.0]))
    def add_after(self, key: Request, seconds: float) -> None:
        self.call(self.rig.queue.add_after, key, seconds)
        self.model.add_after(key, seconds)

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0, 4.0]))
    def advance(self, seconds: float) -> None:
        self.run(self.rig.clock.advance(seconds))
        self.model.advance(seconds)

    @rule()
    def take(self) -> None:
        assert self.run(self.rig.take()) == self.model.take()

    @precondition(lambda self: self.model.held)
    @rule(pick=st.randoms(use_true_random=False))
    def done(self, pick: random.Random) -> None:
        key = pick.choice(sorted(self.model.held))
        self.model.held.remove(key)
        self.call(self.rig.queue.done, key)

    @invariant()
    def same_size(self) -> None:
        assert len(self.rig.queue) == len(self.model.ready) + len(self.model.waiting)
        assert self.rig.sample("workqueue_depth") == len(self.model.ready)


QueueMatchesModel.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
TestQueueMatchesModel = QueueMatchesModel.TestCase


@pytest.mark.parametrize("seed", range(20))
async def test_no_wake_up_is_lost_and_no_key_has_two_workers(seed: int) -> None:
    """Workers come and go while keys are added: whatever was added last is still processed."""
    rng = random.Random(seed)
    rig = Rig()
    in_hand: set[Request] = set()
    pending: set[Request] = set()

    async def work() -> None:
        while True:
            request = await rig.queue.get()
            assert request not in in_hand
            in_hand.add(request)
            pending.discard(request)
            try:
                await rig.clock.sleep(rng.choice([0.0, 0.5, 1.5]))
            except asyncio.CancelledError:
                # This worker dies with the key in hand: somebody has to look again.
                pending.add(request)
                rig.queue.add(request)
                raise
            finally:
                in_hand.discard(request)
                rig.queue.done(request)

    workers = [asyncio.create_task(work()) for _ in range(3)]
    for _ in range(60):
        key = rng.choice(KEYS)
        pending.add(key)
        rig.queue.add_after(key, rng.choice([0.0, 0.0, 1.0]))
        if rng.random() < 0.3:
            victim = rng.randrange(3)
            workers[victim].cancel()
            workers[victim] = asyncio.create_task(work())
        if rng.random() < 0.5:
            await rig.clock.advance(rng.choice([0.0, 0.5, 1.0]))
    await rig.clock.advance(30.0)
    assert not pending
    assert len(rig.queue) == 0
    assert all(not worker.done() for worker in workers)
    for worker in workers:
        worker.cancel()
    await asyncio.wait(workers)


async def test_adds_while_a_worker_holds_the_key_collapse_into_one_more_run() -> None:
    rig = Rig()
    rig.queue.add(A)
    assert await rig.take() == A
    for _ in range(5):
        rig.queue.add(A)
    assert await rig.take() is None
    rig.queue.done(A)
    assert await rig.take_all() == [A]


async def test_a_held_key_is_passed_over_and_keeps_its_place() -> None:
    rig = Rig()
    rig.queue.add(A)
    assert await rig.take() == A
    for key in (A, B):
        rig.queue.add(key)
    assert await rig.take() == B
    rig.queue.add(C)
    rig.queue.done(A)
    assert await rig.take_all() == [A, C]


async def test_the_worker_that_waits_gets_a_key_without_any_timer() -> None:
    """From add to worker it takes one turn of the loop: latency is the product."""
    rig = Rig()
    getter = asyncio.create_task(rig.queue.get())
    await rig.clock.settle()
    rig.queue.add(A)
    await yield_to_loop()
    assert getter.done()
    assert getter.result() == A
    assert rig.clock.sleeping == 0


async def test_a_wake_up_that_hits_a_cancelled_worker_goes_to_the_next_one() -> None:
    rig = Rig()
    first, second = (asyncio.create_task(rig.queue.get()) for _ in range(2))
    await rig.clock.settle()
    rig.queue.add(A)
    first.cancel()
    await rig.clock.settle()
    assert first.cancelled()
    assert second.done()
    assert second.result() == A


async def test_a_worker_that_waits_gets_what_another_one_gives_back() -> None:
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


async def test_ready_keys_leave_in_the_order_in_which_they_became_ready() -> None:
    rig = Rig()
    rig.queue.add_after(A, 2.0)
    rig.queue.add_after(B, 1.0)
    rig.queue.add(C)
    await rig.clock.advance(3.0)
    rig.queue.add(D)
    assert await rig.take_all() == [C, B, A, D]


async def test_the_sooner_time_wins_in_either_order() -> None:
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


async def test_ready_absorbs_delayed_and_an_add_erases_the_timer() -> None:
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


async def test_a_sooner_entry_moves_the_timer_that_already_sleeps() -> None:
    rig = Rig()
    rig.queue.add_after(A, 3600.0)
    await rig.clock.settle()
    rig.queue.add_after(B, 1.0)
    await rig.clock.advance(1.0)
    assert await rig.take_all() == [B]
    await rig.clock.advance(3599.0)
    assert await rig.take_all() == [A]


async def test_far_timers_that_are_overtaken_again_and_again_do_not_pile_up() -> None:
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


async def test_failures_climb_the_ladder_until_forgotten() -> None:
    rig = Rig()
    for delay in (1.0, 2.0, 4.0, 8.0, 8.0):
        rig.queue.add_rate_limited(A)
        await rig.clock.advance(delay - 0.01)
        assert await rig.take() is None
        await rig.clock.advance(0.01)
        assert await rig.take() == A
        rig.queue.done(A)
    assert rig.queue.num_requeues(A) == 5
    rig.queue.forget(A)
    rig.queue.add_rate_limited(A)
    await rig.clock.advance(1.0)
    assert await rig.take() == A


async def test_shut_down_frees_every_worker_that_waits_and_drops_what_is_queued() -> None:
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


async def test_drain_waits_for_the_last_key_in_hand() -> None:
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


async def test_giving_back_what_nobody_holds_is_an_error_of_the_worker() -> None:
    with pytest.raises(KeyError):
        Rig().queue.done(A)


async def test_metrics_tell_waiting_from_ready_and_ages_at_the_scrape() -> None:
    rig = Rig()
    rig.queue.add_after(A, 2.0)
    assert rig.sample("workqueue_depth") == 0
    assert rig.sample("workqueue_adds_total") == 0
    assert rig.sample("workqueue_retries_total") == 1
    await rig.clock.advance(2.0)
    assert rig.sample("workqueue_depth") == 1
    assert rig.sample("workqueue_adds_total") == 1
    await rig.clock.advance(3.0)
    await rig.take()
    assert rig.sample("workqueue_depth") == 0
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
