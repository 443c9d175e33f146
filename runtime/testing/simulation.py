"""A world with its own time, in which a seed decides who runs next.

Uses asyncio and runtime.clock. Called by tests that want to see many interleavings of the same
tasks, and hours of them in milliseconds.

The loop has no sockets and no threads. When nothing can run, its time jumps to the next timer. Of
the tasks that can run, a seeded generator picks one at each step; callbacks that are no tasks
keep their order, which asyncio promises ("Event Loop", Scheduling callbacks). Whatever is found
this way comes back with the same seed.
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
"""Steps after which a simulation counts as a runaway: about ten seconds of computing."""

STALE_TIMERS = 256
"""Cancelled timers that the heap may hold before it is built anew."""

T = TypeVar("T")


class Deadlock(AssertionError):  # noqa: N818 - what it is, not that it is an error
    """Nobody can run and no timer is set: the simulation would wait for ever."""


class Runaway(AssertionError):  # noqa: N818 - what it is, not that it is an error
    """Too many steps: something spins, with or without time passing."""


class Leak(AssertionError):  # noqa: N818 - what it is, not that it is an error
    """Tasks were left behind, or one ended with an exception that nobody looked at."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time; without a generator it runs in the order of asyncio.

    steps counts the callbacks that were run; complaints are what asyncio would have logged.
    """

    # Parts of asyncio.BaseEventLoop that its stubs leave out; the same from 3.11 to 3.14.
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
        """True when nobody can run before the next timer."""
        return not self._ready

    def allow(self, steps: int) -> None:
        """Grant that many further steps."""
        self._limit = self.steps + steps

    def run_in_executor(  # type: ignore[override]  # never returns, whatever func does
        self, executor: Any, func: Any, *args: Any
    ) -> NoReturn:
        raise RuntimeError("a simulation has no threads: nothing would repeat")

    def _run_once(self) -> None:
        """One step, where asyncio would run all that is ready."""
        self._release()
        if not self._ready:
            self._jump()
        self.steps += 1
        if self.steps > self._limit:
            raise Runaway(f"{self.steps} steps by t={self._now:g}; {_whereabouts(self)}")
        handle = self._pick()
        if not handle.cancelled():
            handle._run()

    def _release(self) -> None:
        """Make the timers ready whose time has come."""
        timers = self._scheduled
        if self._timer_cancelled_count > STALE_TIMERS and self._timer_cancelled_count > (
            len(timers) // 2
        ):
            timers[:] = [timer for timer in timers if not timer.cancelled()]
            heapq.heapify(timers)
            self._timer_cancelled_count = 0
        while timers and (timers[0].cancelled() or timers[0].when() <= self._now):
            timer = heapq.heappop(timers)
            # What BaseEventLoop.call_at sets, and its cancellation count relies on.
            timer._scheduled = False  # type: ignore[attr-defined]
            if timer.cancelled():
                self._timer_cancelled_count -= 1
            else:
                self._ready.append(timer)

    def _jump(self) -> None:
        if not self._scheduled:
            raise Deadlock(f"nothing to do at t={self._now:g}; {_whereabouts(self)}")
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
        """Nothing to wake: the loop never sleeps."""

    def _process_events(self, event_list: object) -> None:
        """There are none."""


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
    """What the simulated program is given: its clock, and chance that repeats with the seed."""

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
    """Run main to its end in a loop of its own; return what it returns.

    Raises what main raises, Deadlock, Runaway after that many steps, and Leak when main ends and
    tasks of it do not. The seed and the virtual time are added to the error as a note.
    """
    # Two generators: what the world does may not depend on how often the loop had a choice.
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
        _put_away(loop)
    return answer


def _expect_no_leak(loop: SimulatedLoop) -> None:
    # What was cancelled last still needs its turns to end.
    loop.run_until_complete(_settled(loop))
    left = asyncio.all_tasks(loop)
    if left:
        raise Leak(f"{len(left)} tasks left behind: {_whereabouts(loop)}")
    if loop.complaints:
        first = loop.complaints[0]
        raise Leak(f"{len(loop.complaints)} complaints: {first['message']}") from first.get(
            "exception"
        )


async def _settled(loop: SimulatedLoop) -> None:
    while not loop.idle:
        await yield_to_loop()


def _put_away(loop: SimulatedLoop) -> None:
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
    # As asyncio itself tells them apart for its debug output.
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)  # type: ignore[attr-defined]


def _whereabouts(loop: asyncio.AbstractEventLoop) -> str:
    """Each task that has not ended, and the innermost line it waits in."""
    return "; ".join(
        f"{task.get_name()} at {_line(task)}"
        for task in sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    )


def _line(task: "asyncio.Task[Any]") -> str:
    coroutine: Any = task.get_coro()
    outermost, frames = coroutine.__qualname__, task.get_stack(limit=1)
    # get_stack shows the outermost frame of a waiting task: what it awaits is further in.
    while getattr(coroutine, "cr_await", None) is not None and hasattr(
        coroutine.cr_await, "cr_frame"
    ):
        coroutine = coroutine.cr_await
    frame = getattr(coroutine, "cr_frame", None) or (frames[-1] if frames else None)
    where = f"{frame.f_code.co_qualname}:{frame.f_lineno}" if frame else "its start"
    return where if where.startswith(f"{outermost}:") else f"{where} in {outermost}"
