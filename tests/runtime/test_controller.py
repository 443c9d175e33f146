"""The controller: from outcome to requeue, and what must not end a worker."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest
import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict

from runtime.clock import yield_to_loop
from runtime.controller import Controller, ControllerOptions, Feed
from runtime.errors import Conflict, LeaseLost, StatusInfo, TerminalError, Transient
from runtime.event import Event, generation_changed
from runtime.handler import enqueue_object
from runtime.metrics import Metrics
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.ratelimit import ItemExponentialFailure
from runtime.testing.clock import ManualClock
from runtime.types import Object, Request

KEY = Request("ns", "web")
DEADLINE = 30.0

Answer = Callable[[Request], Awaitable[Outcome]]


def thing(name: str = "web", generation: int = 1) -> Object:
    return {"metadata": {"namespace": "ns", "name": name, "generation": generation}}


class FakeSource:
    """An informer reduced to its border; `sync` lets it become synced."""

    def __init__(self) -> None:
        self.feeds: list[Feed] = []
        self.sync = asyncio.Event()

    def add_handler(self, feed: Feed, /) -> None:
        self.feeds.append(feed)

    async def wait_synced(self, timeout: float, /) -> None:  # noqa: ASYNC109 - see Source
        await self.sync.wait()


@dataclass
class Rig:
    """A running controller whose reconciler gives the next answer, or Done without one."""

    workers: int = 1
    clock: ManualClock = field(default_factory=ManualClock)
    metrics: Metrics = field(default_factory=Metrics)
    calls: list[tuple[float, Request]] = field(default_factory=list)
    answers: list[Outcome | BaseException | Answer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.controller = Controller(
            "shop",
            self.reconcile,
            clock=self.clock,
            metrics=self.metrics,
            workers=self.workers,
            options=ControllerOptions(
                deadline=DEADLINE, limiter=lambda: ItemExponentialFailure(1.0, 60.0)
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

    def results(self) -> dict[str, float]:
        found = {
            result: self.sample("reconcile_total", result=result)
            for result in ("success", "error", "requeue", "requeue_after")
        }
        assert None not in found.values(), "every result exists from the start"
        return {result: value for result, value in found.items() if value}


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    task = asyncio.create_task(rig.controller.run())
    await rig.clock.settle()
    yield rig
    rig.controller.stop()
    await task


@dataclass(frozen=True)
class Case:
    answer: Outcome | BaseException
    result: str
    again_at: float | None = None


CASES: dict[str, Case] = {
    "done waits for an event": Case(Done(), "success"),
    "done with a recheck": Case(Done(recheck_after=300.0), "requeue_after", 300.0),
    "a wait for an event": Case(Wait("R", "m"), "success"),
    "a wait with a time": Case(Wait("R", "m", after=5.0), "requeue_after", 5.0),
    "blocked until an edit": Case(Blocked("R", "m"), "success"),
    "blocked with a recheck": Case(Blocked("R", "m", recheck_after=60.0), "requeue_after", 60.0),
    "a terminal error waits for an event": Case(TerminalError("x"), "error"),
    "a transient error is retried": Case(Transient("x"), "error", 1.0),
    "a conflict is retried": Case(Conflict(StatusInfo(409)), "error", 1.0),
    "a bug is retried": Case(KeyError("x"), "error", 1.0),
    "a refused write is retried, the lease may live": Case(LeaseLost("x"), "error", 1.0),
    "a timeout inside is a plain error": Case(TimeoutError(), "error", 1.0),
    "a cancellation nobody sent is retried": Case(asyncio.CancelledError(), "error", 1.0),
    "what is no exception is retried": Case(BaseExceptionGroup("x", [GeneratorExit()]), "error", 1),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_outcome_to_requeue(case: Case, rig: Rig) -> None:
    rig.answers = [case.answer]
    rig.controller.enqueue(KEY)
    await rig.clock.advance(3600.0)
    assert rig.times == ([0.0] if case.again_at is None else [0.0, case.again_at])
    second = {} if case.again_at is None else {"success": 1.0}
    first = {case.result: 1.0}
    assert rig.results() == {
        result: first.get(result, 0) + second.get(result, 0) for result in {**first, **second}
    }
    failed = case.result == "error"
    assert rig.sample("reconcile_errors_total") == failed
    assert rig.sample("terminal_reconcile_errors_total") == isinstance(case.answer, TerminalError)
    assert rig.sample("reconcile_timeouts_total") == 0
    panicked = isinstance(case.answer, BaseException) and not isinstance(case.answer, Exception)
    assert rig.sample("reconcile_panics_total") == panicked
    by_class = rig.metrics.registry.get_sample_value(
        "reconcile_error_classes_total",
        {"controller": "shop", "error": type(case.answer).__name__},
    )
    assert by_class == (1.0 if failed else None)


async def test_errors_climb_the_ladder_and_any_outcome_resets_it(rig: Rig) -> None:
    rig.answers = [*[Transient("x")] * 3, Wait("R", "m", after=100.0), Transient("x")]
    rig.controller.enqueue(KEY)
    await rig.clock.advance(3600.0)
    assert rig.times == [0.0, 1.0, 3.0, 7.0, 107.0, 108.0]


async def test_the_deadline_ends_a_pass_that_hangs_and_is_counted(rig: Rig) -> None:
    async def hang(request: Request) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError("not reached")

    rig.answers = [hang]
    rig.controller.enqueue(KEY)
    await rig.clock.advance(DEADLINE - 0.1)
    assert rig.sample("reconcile_timeouts_total") == 0
    assert rig.sample("active_workers") == 1
    await rig.clock.advance(1.1)
    assert rig.times == [0.0, DEADLINE + 1.0]
    assert rig.sample("reconcile_timeouts_total") == 1
    assert rig.sample("reconcile_time_seconds_sum") == DEADLINE
    assert rig.sample("active_workers") == 0


async def test_cancelling_run_interrupts_the_pass_and_is_not_taken_for_an_error() -> None:
    rig = Rig()
    interrupted = asyncio.Event()

    async def hang(request: Request) -> Outcome:
        try:
            await asyncio.Event().wait()
        finally:
            interrupted.set()
        raise AssertionError("not reached")

    rig.answers = [hang]
    task = asyncio.create_task(rig.controller.run())
    rig.controller.enqueue(KEY)
    await rig.clock.settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert interrupted.is_set()
    assert rig.results() == {}


async def test_stop_lets_the_pass_in_hand_end_and_drops_the_rest() -> None:
    rig = Rig()
    release = asyncio.Event()

    async def slow(request: Request) -> Outcome:
        await release.wait()
        return Done(recheck_after=1.0)

    rig.answers = [slow]
    task = asyncio.create_task(rig.controller.run())
    rig.controller.enqueue(KEY)
    rig.controller.enqueue(Request("ns", "other"))
    await rig.clock.settle()
    rig.controller.stop()
    draining = asyncio.create_task(rig.controller.drain())
    await rig.clock.settle()
    assert not task.done()
    assert not draining.done()
    release.set()
    await task
    await draining
    assert [request for _, request in rig.calls] == [KEY]


async def test_workers_start_only_after_every_source_is_synced() -> None:
    rig = Rig()
    sources = [FakeSource(), FakeSource()]
    for source in sources:
        rig.controller.watch(source, enqueue_object)
    task = asyncio.create_task(rig.controller.run())
    sources[0].feeds[0].on_add(thing(), True)
    for source in sources:
        assert rig.calls == []
        source.sync.set()
        await rig.clock.settle()
    assert rig.calls == [(0.0, KEY)]
    rig.controller.stop()
    await task


async def test_stop_while_waiting_for_sources_ends_run_at_once() -> None:
    rig = Rig()
    rig.controller.watch(FakeSource(), enqueue_object)
    task = asyncio.create_task(rig.controller.run())
    await rig.clock.settle()
    rig.controller.stop()
    await task


async def test_a_source_that_fails_to_sync_fails_the_start() -> None:
    class Broken(FakeSource):
        async def wait_synced(self, timeout: float, /) -> None:  # noqa: ASYNC109 - see Source
            raise TimeoutError(f"not synced within {timeout:g} s")

    rig = Rig()
    rig.controller.watch(Broken(), enqueue_object)
    with pytest.raises(TimeoutError, match="within 120 s"):
        await rig.controller.run()


async def test_predicates_filter_and_a_broken_handler_hurts_nobody_else(rig: Rig) -> None:
    def picky(event: Event) -> list[Request]:
        return [Request("ns", event.object["metadata"]["name"])]

    source = FakeSource()
    rig.controller.watch(source, picky, generation_changed)
    (feed,) = source.feeds
    with capture_logs() as logs:
        feed.on_update(thing("same"), thing("same"))
        feed.on_delete({"metadata": {}})
        feed.on_update(thing("changed"), thing("changed", generation=2))
        feed.on_delete(thing("gone"))
        await rig.clock.settle()
    assert [request.name for _, request in rig.calls] == ["changed", "gone"]
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("event handler failed", "error")
    ]


async def test_side_by_side_but_never_the_same_key() -> None:
    rig = Rig(workers=3)
    running: list[str] = []
    most = 0

    async def slow(request: Request) -> Outcome:
        nonlocal most
        assert request.name not in running
        running.append(request.name)
        most = max(most, len(running))
        await rig.clock.sleep(1.0)
        running.remove(request.name)
        return Done()

    rig.answers = [slow] * 8
    task = asyncio.create_task(rig.controller.run())
    await rig.clock.settle()
    for name in "abcd":
        rig.controller.enqueue(Request("ns", name))
    await rig.clock.advance(0.5)
    for name in "abcd":
        rig.controller.enqueue(Request("ns", name))
    await rig.clock.advance(10.0)
    # d is added a second time while it still waits for its first turn.
    assert sorted(request.name for _, request in rig.calls) == list("aabbccd")
    assert most == 3
    assert rig.sample("max_concurrent_reconciles") == 3
    rig.controller.stop()
    await task


async def test_a_full_queue_of_instant_passes_leaves_turns_to_other_tasks(rig: Rig) -> None:
    for number in range(50):
        rig.controller.enqueue(Request("ns", str(number)))
    turns = 0
    while len(rig.calls) < 50:
        await yield_to_loop()
        turns += 1
    assert turns >= 50


async def logged(rig: Rig, *answers: Outcome | BaseException) -> list[EventDict]:
    """The lines logged while an event comes in for each of the answers."""
    rig.answers = list(answers)
    with capture_logs() as logs:
        for _ in answers:
            rig.controller.enqueue(KEY)
            await rig.clock.settle()
    return logs


async def test_only_news_is_logged(rig: Rig) -> None:
    assert await logged(rig, Done(), Done(recheck_after=60.0), Done()) == []
    waits = await logged(rig, Wait("R", "1 of 3"), Wait("R", "1 of 3", 5.0), Wait("R", "2 of 3"))
    assert [(line["event"], line["message"]) for line in waits] == [
        ("waiting", "1 of 3"),
        ("waiting", "2 of 3"),
    ]
    rest = await logged(rig, Done(), Done(), Blocked("B", "act"), Blocked("B", "act"), Done())
    assert [line["event"] for line in rest] == ["reconciled", "blocked", "reconciled"]


async def test_a_failure_that_repeats_is_told_at_powers_of_two(rig: Rig) -> None:
    rig.answers = [Transient("down")] * 9
    with capture_logs() as logs:
        rig.controller.enqueue(KEY)
        await rig.clock.advance(3600.0)
    assert [line.get("attempt") for line in logs] == [1, 2, 4, 8, None]
    assert logs[-1]["event"] == "reconciled"


async def test_a_terminal_error_is_told_once(rig: Rig) -> None:
    logs = await logged(rig, *[TerminalError("no")] * 3, TerminalError("other"))
    assert [line["message"] for line in logs] == ["no", "other"]


async def test_what_we_raise_on_purpose_has_no_traceback_and_a_bug_has_one(rig: Rig) -> None:
    logs = await logged(rig, Transient("x"), ZeroDivisionError("y"))
    assert [(line["log_level"], "exc_info" in line) for line in logs] == [
        ("warning", False),
        ("error", True),
    ]


async def test_a_pass_knows_its_names_in_every_log_line_and_leaves_none_behind(rig: Rig) -> None:
    seen: list[dict[str, object]] = []

    async def look(request: Request) -> Outcome:
        seen.append(structlog.contextvars.get_contextvars())
        return Done()

    rig.answers = [look, look]
    for _ in range(2):
        rig.controller.enqueue(KEY)
        await rig.clock.settle()
    ids = [context.pop("reconcile_id") for context in seen]
    assert seen == [{"controller": "shop", "namespace": "ns", "name": "web"}] * 2
    assert len(set(ids)) == 2


async def test_names_are_unique_in_a_process(rig: Rig) -> None:
    with pytest.raises(ValueError, match="shop"):
        Controller("shop", rig.reconcile, clock=rig.clock, metrics=rig.metrics)


async def test_without_workers_nothing_would_ever_happen() -> None:
    rig = Rig()
    with pytest.raises(ValueError, match="worker"):
        Controller("x", rig.reconcile, clock=rig.clock, metrics=rig.metrics, workers=0)
