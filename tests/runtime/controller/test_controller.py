"""The controller: from outcome to requeue, and errors that must not end a worker."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict

from runtime.clock import yield_to_loop
from runtime.controller.controller import Controller
from runtime.controller.loop_slice import SLICE_PASSES, SLICE_SECONDS
from runtime.controller.workqueue import LOW
from runtime.errors import Conflict, LeaseLost, StatusInfo, TerminalError, Transient
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.types import Request
from tests.runtime.controller_rig import DEADLINE, KEY, Rig


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig().running() as rig:
        yield rig


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
    "a refused write is retried": Case(LeaseLost("x"), "error", 1.0),
    "a timeout in the reconciler is an error": Case(TimeoutError(), "error", 1.0),
    "an unexpected cancellation is retried": Case(asyncio.CancelledError(), "error", 1.0),
    "a BaseException is retried": Case(BaseExceptionGroup("x", [GeneratorExit()]), "error", 1),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_t17_outcome_to_requeue(case: Case, rig: Rig) -> None:
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
        "reconcile_error_classes_total", {"controller": "shop", "error": type(case.answer).__name__}
    )
    assert by_class == (1.0 if failed else None)


async def test_t17_errors_back_off_and_any_outcome_resets_the_backoff(rig: Rig) -> None:
    rig.answers = [*[Transient("x")] * 3, Wait("R", "m", after=100.0), Transient("x")]
    rig.controller.enqueue(KEY)
    await rig.clock.advance(3600.0)
    assert rig.times == [0.0, 1.0, 3.0, 7.0, 107.0, 108.0]


async def test_t17_the_deadline_ends_a_hung_reconcile_and_is_counted(rig: Rig) -> None:
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


async def test_t17_cancelling_run_interrupts_the_reconcile_and_is_not_an_error() -> None:
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


async def hang(request: Request) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError("not reached")


async def test_t17_at_its_deadline_a_reconcile_may_return_or_raise(
    rig: Rig,
) -> None:
    async def fails(request: Request) -> Outcome:
        try:
            return await hang(request)
        finally:
            raise Transient("half done")

    async def answers(request: Request) -> Outcome:
        with contextlib.suppress(asyncio.CancelledError):
            await hang(request)
        return Wait("R", "m", after=5.0)

    rig.answers = [fails, answers, hang]
    rig.controller.enqueue(KEY)
    await rig.clock.advance(3 * DEADLINE + 100.0)
    times = [0.0, DEADLINE + 1.0, 2 * DEADLINE + 6.0, 3 * DEADLINE + 7.0]
    assert rig.times == times, "deadline and backoff start again"
    assert rig.sample("reconcile_timeouts_total") == 3
    assert rig.sample("reconcile_panics_total") == 0
    assert rig.results() == {"error": 2, "requeue_after": 1, "success": 1}


async def test_t17_only_the_reconcile_that_takes_too_long_is_cancelled() -> None:
    rig = Rig(workers=3)

    async def slow(request: Request) -> Outcome:
        await rig.clock.sleep(DEADLINE - 1.0)
        return Done()

    async with rig.running():
        rig.answers = [hang, slow, slow]
        for name, pause in (("hangs", 20.0), ("early", 20.0), ("late", 0.0)):
            rig.controller.enqueue(Request("ns", name))
            await rig.clock.advance(pause)
        await rig.clock.advance(3 * DEADLINE)
        assert rig.results() == {"error": 1, "success": 3}
        assert rig.times == [0.0, 20.0, DEADLINE + 1.0, 40.0]
        assert rig.clock.sleeping == 0, "no timer is left without a reconcile"


async def test_t17_cancelled_at_its_deadline_a_worker_is_cancelled() -> None:
    rig = Rig()
    rig.answers = [hang]
    task = asyncio.create_task(rig.controller.run())
    rig.controller.enqueue(KEY)
    await rig.clock.settle()
    reached = asyncio.create_task(rig.clock.sleep(DEADLINE))
    reached.add_done_callback(lambda _: task.cancel())
    await rig.clock.advance(DEADLINE)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(rig.calls) == 1


@pytest.mark.parametrize("instead", [Done(), ZeroDivisionError()], ids=["outcome", "error"])
async def test_t17_a_reconciler_that_suppresses_its_cancellation_does_not_keep_the_worker(
    instead: Outcome | Exception,
) -> None:
    async def stubborn(request: Request) -> Outcome:
        with contextlib.suppress(asyncio.CancelledError):
            await hang(request)
        if isinstance(instead, Exception):
            raise instead
        return instead

    rig = Rig()
    rig.answers = [stubborn]
    task = asyncio.create_task(rig.controller.run())
    rig.controller.enqueue(KEY)
    await rig.clock.settle()
    task.cancel()
    await rig.clock.advance(60.0)
    assert task.cancelled()
    assert len(rig.calls) == 1


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
def test_t17_system_exit_is_not_caught(end: BaseException) -> None:
    async def scenario() -> None:
        rig = Rig()
        rig.answers = [end]
        rig.controller.enqueue(KEY)
        await rig.controller.run()

    with pytest.raises(type(end)):
        asyncio.run(scenario())


async def test_t17_a_requeue_keeps_the_priority_of_its_key(rig: Rig) -> None:
    rig.answers = [Transient("x"), Wait("R", "m", after=5.0), Done()]
    rig.controller.enqueue(KEY, priority=LOW)
    for pause in (1.0, 5.0):
        await rig.clock.advance(pause - 0.1)
        for name in "ab":
            rig.controller.enqueue(Request("ns", name), 0.1)
        rig.answers[:0] = [Done(), Done()]
        await rig.clock.advance(0.1)
    names = [request.name for _, request in rig.calls]
    assert names == ["web", "a", "b", "web", "a", "b", "web"]


async def test_nothing_is_kept_for_a_deleted_object(rig: Rig) -> None:
    rig.answers = [Transient("x"), Wait("R", "m", 1.0), TerminalError("x"), Transient("y"), Done()]
    rig.controller.enqueue(KEY)
    await rig.clock.advance(10.0)
    assert rig.limiter.num_requeues(KEY) == 0
    rig.controller.enqueue(KEY)
    await rig.clock.settle()
    assert (rig.limiter.num_requeues(KEY), len(rig.controller._last)) == (1, 1)
    await rig.clock.advance(10.0)
    assert (rig.limiter.num_requeues(KEY), len(rig.controller._last)) == (0, 0)
    assert rig.times == [0.0, 1.0, 2.0, 10.0, 11.0]


async def test_stop_finishes_the_current_reconcile_and_drops_the_rest() -> None:
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


async def test_t17_different_keys_are_concurrent_and_the_same_key_is_not() -> None:
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
    # d is added a second time while it is still queued.
    assert sorted(request.name for _, request in rig.calls) == list("aabbccd")
    assert most == 3
    assert rig.sample("max_concurrent_reconciles") == 3
    rig.controller.stop()
    await task


async def test_t31_a_full_queue_of_instant_reconciles_lets_other_tasks_run(rig: Rig) -> None:
    for number in range(10 * SLICE_PASSES):
        rig.controller.enqueue(Request("ns", str(number)))
    while len(rig.calls) < 10 * SLICE_PASSES:
        before = len(rig.calls)
        await yield_to_loop()
        assert len(rig.calls) - before <= SLICE_PASSES


async def test_t31_other_tasks_run_after_each_slow_reconcile(rig: Rig) -> None:
    async def slow(request: Request) -> Outcome:
        rig.clock._move_to(rig.clock.monotonic() + SLICE_SECONDS)
        return Done()

    rig.answers = [slow] * 10
    for number in range(10):
        rig.controller.enqueue(Request("ns", str(number)))
    while len(rig.calls) < 10:
        before = len(rig.calls)
        await yield_to_loop()
        assert len(rig.calls) - before <= 1


async def log_lines(rig: Rig, *answers: Outcome | BaseException) -> list[EventDict]:
    """The lines that are logged for one event per outcome."""
    rig.answers = list(answers)
    with capture_logs() as logs:
        for _ in answers:
            rig.controller.enqueue(KEY)
            await rig.clock.settle()
    return logs


async def test_only_changed_outcomes_are_logged(rig: Rig) -> None:
    assert await log_lines(rig, Done(), Done(recheck_after=60.0), Done()) == []
    waits = await log_lines(rig, Wait("R", "1 of 3"), Wait("R", "1 of 3", 5.0), Wait("R", "2 of 3"))
    assert [(line["event"], line["message"]) for line in waits] == [
        ("waiting", "1 of 3"),
        ("waiting", "2 of 3"),
    ]
    rest = await log_lines(rig, Done(), Done(), Blocked("B", "act"), Blocked("B", "act"), Done())
    assert [line["event"] for line in rest] == ["reconciled", "blocked", "reconciled"]


async def test_a_repeated_failure_is_logged_at_powers_of_two(rig: Rig) -> None:
    rig.answers = [Transient("down")] * 9
    with capture_logs() as logs:
        rig.controller.enqueue(KEY)
        await rig.clock.advance(3600.0)
    assert [line.get("attempt") for line in logs] == [1, 2, 4, 8, None]
    assert logs[-1]["event"] == "reconciled"


async def test_a_terminal_error_is_logged_once(rig: Rig) -> None:
    logs = await log_lines(rig, *[TerminalError("no")] * 3, TerminalError("other"))
    assert [line["message"] for line in logs] == ["no", "other"]


async def test_only_unexpected_errors_are_logged_with_a_traceback(rig: Rig) -> None:
    logs = await log_lines(rig, Transient("x"), ZeroDivisionError("y"))
    assert [(line["log_level"], "exc_info" in line) for line in logs] == [
        ("warning", False),
        ("error", True),
    ]


async def test_every_log_line_of_a_reconcile_has_its_names_and_later_lines_do_not(rig: Rig) -> None:
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


async def test_a_controller_needs_workers() -> None:
    rig = Rig()
    with pytest.raises(ValueError, match="worker"):
        Controller("x", rig.reconcile, clock=rig.clock, metrics=rig.metrics, workers=0)
