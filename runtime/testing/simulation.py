"""An event loop in virtual time, in which a seed determines which task runs next.

Uses asyncio and runtime.clock. Called by tests that run many interleavings of the same tasks, and
hours of them in milliseconds.

The loop has no sockets and no threads. If no task can run, its time advances to the next timer. A
seeded generator picks one of the runnable tasks at each step; callbacks that are not tasks keep
their order, as asyncio guarantees ("Event Loop", Scheduling callbacks). The same seed reproduces a
failure.
"""

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeVar

from runtime.clock import yield_to_loop
from runtime.testing.clock import EPOCH

STEPS = 2_000_000
"""Steps after which a simulation fails with Runaway: about ten seconds of CPU time."""

STALE_TIMERS = 256
"""Maximum number of cancelled timers in the heap before it is rebuilt."""

T = TypeVar("T")


class Deadlock(AssertionError):  # noqa: N818 - what it is, not that it is an error
    """No task can run and no timer is set: the simulation would wait forever."""


class Runaway(AssertionError):  # noqa: N818 - what it is, not that it is an error
    """Too many steps: a busy loop, with or without a change of time."""


class Leak(AssertionError):  # noqa: N818 - what it is, not that it is an error
    """Tasks did not end, or the exception of one was never retrieved."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time; without a generator it runs in the order of asyncio.

    steps counts the callbacks; complaints are the errors that asyncio would have logged.
    """

    # Attributes of asyncio.BaseEventLoop that its stubs omit; the same from 3.11 to 3.14.
    _ready: "deque[asyncio.Handle]"
    _scheduled: "list[asyncio.TimerHandle]"
    _timer_cancelled_count: int

    def __init__(self, rng: random.Random | None, *, limit: int = STEPS) -> None:
        super().__init__()
        self._rng = rng
        self._limit = limit
        self._now = 0.0
        self.steps = 0
        self.complaints: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, context: self.complaints.append(context))

    def time(self) -> float:
        return self._now

    @property
    def idle(self) -> bool:
        """True if no task can run before the next timer."""
        return not self._ready

    def allow(self, steps: int) -> None:
        """Permit that many further steps."""
        self._limit = self.steps + steps

    def run_in_executor(  # type: ignore[override]  # never returns, whatever func does
        self, executor: Any, func: Any, *args: Any
    ) -> NoReturn:
        raise RuntimeError("a simulation has no threads: its runs would not be repeatable")

    def _run_once(self) -> None:
        """Run one callback, where asyncio would run all that are ready."""
        self._release()
        if not self._ready:
            self._jump()
        self.steps += 1
        if self.steps > self._limit:
            raise Runaway(f"{self.steps} steps by t={self._now:g}; {_running_tasks(self)}")
        handle = self._pick()
        if not handle.cancelled():
            handle._run()

    def _release(self) -> None:
        """Make the due timers ready."""
        timers = self._scheduled
        if self._timer_cancelled_count > STALE_TIMERS and self._timer_cancelled_count > (
            len(timers) // 2
        ):
            timers[:] = [timer for timer in timers if not timer.cancelled()]
            heapq.heapify(timers)
            self._timer_cancelled_count = 0
        while timers and (timers[0].cancelled() or timers[0].when() <= self._now):
            timer = heapq.heappop(timers)
            # BaseEventLoop.call_at sets it, and its count of cancellations relies on it.
            timer._scheduled = False  # type: ignore[attr-defined]
            if timer.cancelled():
                self._timer_cancelled_count -= 1
            else:
                self._ready.append(timer)

    def _jump(self) -> None:
        if not self._scheduled:
            raise Deadlock(f"nothing to do at t={self._now:g}; {_running_tasks(self)}")
        self._now = self._scheduled[0].when()
        self._release()

    def _pick(self) -> asyncio.Handle:
        ready = self._ready
        if self._rng is None or len(ready) == 1:
            return ready.popleft()
        at = int(self._rng.random() * len(ready))
        if not _is_task(ready[at]):
            at = next(n for n, handle in enumerate(ready) if not _is_task(handle))
        handle = ready[at]
        del ready[at]
        return handle

    def _write_to_self(self) -> None:
        """Nothing to do: the loop never sleeps."""

    def _process_events(self, event_list: object) -> None:
        """Nothing to do: there are no events."""


class LoopClock:
    """The time of a loop as a runtime.clock.Clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop, start: datetime = EPOCH) -> None:
        self._loop = loop
        self._start = start.astimezone(UTC)

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await yield_to_loop()
            return
        woken: asyncio.Future[None] = self._loop.create_future()
        timer = self._loop.call_later(seconds, _wake, woken)
        try:
            await woken
        finally:
            timer.cancel()


@dataclass(frozen=True, slots=True)
class Simulation:
    """The environment of the simulated program: its loop, its clock and a seeded generator."""

    seed: int
    loop: SimulatedLoop
    clock: LoopClock
    rng: random.Random


def simulate(
    main: Callable[[Simulation], Coroutine[Any, Any, T]],
    *,
    seed: int,
    shuffle: bool = True,
    steps: int = STEPS,
) -> T:
    """Run main in a new loop and return its result.

    Raises the exceptions of main, Deadlock, Runaway after that many steps, and Leak if tasks of
    main do not end. The seed and the virtual time are added to the exception as a note.
    """
    # Two generators: the program's random numbers must not depend on the number of choices of the
    # loop.
    order, world = (random.Random(f"{use} {seed}") for use in ("order", "world"))  # noqa: S311 - repeatable is the point
    loop = SimulatedLoop(order if shuffle else None, limit=steps)
    simulation = Simulation(seed, loop, LoopClock(loop), world)
    try:
        answer = loop.run_until_complete(main(simulation))
        _expect_no_leak(loop)
    except BaseException as error:
        error.add_note(f"simulation: seed={seed} t={loop.time():g} step={loop.steps}")
        raise
    finally:
        _close(loop)
    return answer


def _expect_no_leak(loop: SimulatedLoop) -> None:
    # Tasks that were cancelled last need further steps to end.
    loop.run_until_complete(_settled(loop))
    left = asyncio.all_tasks(loop)
    if left:
        raise Leak(f"{len(left)} tasks did not end: {_running_tasks(loop)}")
    if loop.complaints:
        first = loop.complaints[0]
        raise Leak(f"{len(loop.complaints)} errors: {first['message']}") from first.get("exception")


async def _settled(loop: SimulatedLoop) -> None:
    while not loop.idle:
        await yield_to_loop()


def _close(loop: SimulatedLoop) -> None:
    loop.allow(STEPS)
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _wake(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_result(None)


def _is_task(handle: asyncio.Handle) -> bool:
    # As in the debug output of asyncio.
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)  # type: ignore[attr-defined]


def _running_tasks(loop: asyncio.AbstractEventLoop) -> str:
    """Each task that has not ended, and the innermost line in which it waits."""
    return "; ".join(
        f"{task.get_name()} at {_line(task)}"
        for task in sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    )


def _line(task: "asyncio.Task[Any]") -> str:
    coroutine: Any = task.get_coro()
    outermost, frames = coroutine.__qualname__, task.get_stack(limit=1)
    # get_stack returns the outermost frame of a waiting task: find the innermost one.
    while getattr(coroutine, "cr_await", None) is not None and hasattr(
        coroutine.cr_await, "cr_frame"
    ):
        coroutine = coroutine.cr_await
    frame = getattr(coroutine, "cr_frame", None) or (frames[-1] if frames else None)
    where = f"{frame.f_code.co_qualname}:{frame.f_lineno}" if frame else "its start"
    return where if where.startswith(f"{outermost}:") else f"{where} in {outermost}"
