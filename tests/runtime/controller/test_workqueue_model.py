"""The workqueue compared with its model, and with workers that start, end and are cancelled."""

import asyncio
import itertools
import random
from collections import Counter
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from runtime.controller.workqueue import LOW, NORMAL
from runtime.types import Request
from tests.runtime.queue_rig import PRIORITIES, SPREAD, Model, QueueMachine

KEY = st.sampled_from(SPREAD)
PRIORITY = st.sampled_from(PRIORITIES)
DELAY = st.sampled_from([1.0, 2.0, 3.0, 5.0, 8.0])
WORKERS = 3
STEP = st.sampled_from([0.5, 1.0, 2.0, 4.0])


class QueueEqualsModel(QueueMachine):
    """Every result of the queue, its size and its metrics equal those of the model."""

    workers: ClassVar[int | None] = None

    def __init__(self) -> None:
        super().__init__(self.workers)
        self.model = Model(self.workers)

    @rule(key=KEY, priority=PRIORITY)
    def add(self, key: Request, priority: int) -> None:
        self.call(self.rig.queue.add, key, priority=priority)
        self.model.add(key, priority)

    @rule(key=KEY, seconds=DELAY, priority=PRIORITY)
    def add_after(self, key: Request, seconds: float, priority: int) -> None:
        self.call(self.rig.queue.add_after, key, seconds, priority=priority)
        self.model.add(key, priority, seconds)

    @rule(key=KEY, priority=PRIORITY)
    def add_rate_limited(self, key: Request, priority: int) -> None:
        self.call(self.rig.queue.add_rate_limited, key, priority=priority)
        self.model.add_rate_limited(key, priority)

    @rule(key=KEY)
    def forget(self, key: Request) -> None:
        self.rig.queue.forget(key)
        del self.model.failures[key]

    @rule(seconds=STEP)
    def advance(self, seconds: float) -> None:
        self.run(self.rig.clock.advance(seconds))
        self.model.advance(seconds)

    @rule()
    def take(self) -> None:
        key = self.run(self.rig.take())
        assert key == self.model.take()
        if key is not None:
            assert self.rig.queue.priority_of(key) == self.model.active[key]

    @precondition(lambda self: self.model.active)
    @rule(pick=st.randoms(use_true_random=False))
    def done(self, pick: random.Random) -> None:
        key = pick.choice(sorted(self.model.active))
        self.model.done(key)
        self.call(self.rig.queue.done, key)

    @rule(adds=st.lists(st.tuples(KEY, PRIORITY), min_size=1, max_size=12))
    def churn(self, adds: list[tuple[Request, int]]) -> None:
        """A take and a done between the adds, so that enough keys are taken by age."""
        for key, priority in adds:
            self.add(key, priority)
            self.take()
            if self.model.active:
                self.done(random.Random(0))

    @invariant()
    def same_size(self) -> None:
        assert len(self.rig.queue) == len(self.model.items)
        ready = [self.model.items[key].priority for key in self.model.ready()]
        for priority in (NORMAL, LOW):
            assert self.rig.depth(priority) == ready.count(priority)
        assert [self.rig.queue.num_requeues(key) for key in SPREAD] == [
            self.model.failures[key] for key in SPREAD
        ]


class FairQueueEqualsModel(QueueEqualsModel):
    """The same with five workers, of which a flow holds at most two."""

    workers = 5


class WorkersOverQueue(QueueMachine):
    """Up to WORKERS workers, each with at most one key; they start and are cancelled at any time.

    No key is ever with two of them, and no key is taken without an add.
    """

    limit: ClassVar[int | None] = None

    def __init__(self) -> None:
        super().__init__(self.limit)
        self.in_hand: dict[int, Request] = {}
        self.release: dict[int, asyncio.Event] = {}
        self.names = itertools.count()
        # Keys that must be taken once more, and keys that are delayed.
        self.pending: set[Request] = set()
        self.due: dict[Request, float] = {}
        self.workers: list[asyncio.Task[None]] = []
        self.hire(WORKERS)

    async def work(self, number: int) -> None:
        while True:
            key = await self.rig.queue.get()
            assert key not in self.in_hand.values(), "two workers hold one key"
            assert key in self.pending, "a run that nobody asked for"
            self.pending.discard(key)
            self.in_hand[number] = key
            self.release[number] = asyncio.Event()
            try:
                await self.release[number].wait()
            finally:
                del self.in_hand[number]
                self.rig.queue.done(key)

    @rule(key=KEY, priority=PRIORITY)
    def add(self, key: Request, priority: int) -> None:
        self.note(key)
        self.call(self.rig.queue.add, key, priority=priority)

    @rule(keys=st.lists(KEY, max_size=4), victims=st.sets(st.integers(0, WORKERS - 1), min_size=1))
    def add_while_workers_die(self, keys: list[Request], victims: set[int]) -> None:
        """In one iteration of the loop: the wake-ups go to cancelled workers."""

        def step() -> None:
            for key in keys:
                self.note(key)
                self.rig.queue.add(key)
            for worker in (self.workers[i] for i in victims if i < len(self.workers)):
                worker.cancel()
            self.workers = [w for i, w in enumerate(self.workers) if i not in victims]

        self.call(step)

    @rule(number=st.integers(1, WORKERS))
    def hire(self, number: int) -> None:
        while len(self.workers) < number:
            self.workers.append(self.loop.create_task(self.work(next(self.names))))
        self.run(self.rig.clock.settle())

    @rule(key=KEY, seconds=DELAY)
    def add_after(self, key: Request, seconds: float) -> None:
        if key not in self.pending:
            due = self.rig.clock.monotonic() + seconds
            self.due[key] = min(due, self.due.get(key, due))
        self.call(self.rig.queue.add_after, key, seconds)

    @rule(seconds=STEP)
    def advance(self, seconds: float) -> None:
        for key, due in [*self.due.items()]:
            if due <= self.rig.clock.monotonic() + seconds:
                self.note(key)
        self.run(self.rig.clock.advance(seconds))

    @rule(number=st.integers(0, 2))
    def finish(self, number: int) -> None:
        if self.in_hand:
            busy = sorted(self.in_hand)
            self.call(self.release[busy[number % len(busy)]].set)

    def note(self, key: Request) -> None:
        self.due.pop(key, None)
        self.pending.add(key)

    @invariant()
    def workers_live(self) -> None:
        for worker in self.workers:
            assert not worker.done(), worker.exception()


class WorkersMissNothing(WorkersOverQueue):
    """In addition no worker waits while a key is free, and at the end every key was taken."""

    def takeable(self) -> set[Request]:
        return self.pending - {*self.in_hand.values()}

    @invariant()
    def no_worker_is_idle_while_a_key_is_free(self) -> None:
        free = self.takeable()
        assert not free or len(self.in_hand) == len(self.workers), f"lost wake-up for {free}"

    def teardown(self) -> None:
        try:
            self.hire(WORKERS)
            self.advance(10.0)
            for _ in range(2 * len(SPREAD)):
                self.finish(0)
            assert not self.pending, "idle workers and a key that nobody takes"
            assert len(self.rig.queue) == 0
        finally:
            super().teardown()


class FairWorkersMissNothing(WorkersMissNothing):
    """A key is free while its flow may hold another worker."""

    limit = WORKERS + 2

    def takeable(self) -> set[Request]:
        seats = Counter(key.namespace for key in self.in_hand.values())
        most = min(2, WORKERS + 2 - len(self.in_hand))
        return {key for key in super().takeable() if seats[key.namespace] < most}

    @invariant()
    def no_flow_has_more_than_its_share(self) -> None:
        seats = Counter(key.namespace for key in self.in_hand.values())
        assert max(seats.values(), default=0) <= 2


def test_t01_the_queue_behaves_like_its_model() -> None:
    explore(QueueEqualsModel, examples=60)


def test_t01_the_queue_with_shares_behaves_like_its_model() -> None:
    explore(FairQueueEqualsModel, examples=60)


def test_t02_no_key_is_with_two_workers_and_none_is_taken_without_an_add() -> None:
    explore(WorkersOverQueue, examples=50)


def test_t03_no_wake_up_is_lost_and_the_queue_drains() -> None:
    explore(WorkersMissNothing, examples=50)


def test_t03_no_wake_up_is_lost_between_flows() -> None:
    explore(FairWorkersMissNothing, examples=50)


def explore(machine: type[QueueMachine], *, examples: int) -> None:
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None)
    )
