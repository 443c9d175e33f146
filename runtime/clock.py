"""Time as a dependency: the only module that may use the process clocks and asyncio.sleep.

Uses the standard library only. Everything in the repository that needs the time, a pause or a
deadline takes a Clock argument, so that tests run hours in milliseconds with
runtime.testing.clock.ManualClock.
"""

import asyncio
import time
from datetime import UTC, datetime
from types import TracebackType
from typing import Protocol, Self


class Clock(Protocol):
    """Wall time, elapsed time and pauses.

    Wall time is for what users and other programs read (timestamps in objects). Elapsed time is
    always measured in monotonic time, because wall time can jump.
    """

    def now(self) -> datetime:
        """The wall time, timezone aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never decreases."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Pause for that many seconds; zero or less yields to the event loop once."""
        ...


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))


async def yield_to_loop() -> None:
    """Let other tasks run once; for long synchronous work that is split into slices."""
    await asyncio.sleep(0)


class Deadline:
    """asyncio.timeout, measured on a Clock: `async with Deadline(clock, 10.0): ...`.

    When the deadline passes, the body is cancelled and the block raises TimeoutError. A
    cancellation from outside remains a cancellation. A deadline can be moved while it is active;
    that costs one attribute write, so an idle timeout can be reset for every received line.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._when = clock.monotonic() + seconds
        self._expired = False
        self._cancelling = 0
        self._task: asyncio.Task[object] | None = None
        self._watchdog: asyncio.Task[None] | None = None

    @property
    def expired(self) -> bool:
        """True once the body was cancelled because of this deadline."""
        return self._expired

    def move(self, when: float) -> None:
        """Set the deadline to that point of clock.monotonic(), sooner or later than before.

        A sooner point takes effect when the current wait ends; callers only postpone or keep it.
        """
        self._when = when

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        if self._task is None:
            raise RuntimeError("a deadline needs a running task")
        self._cancelling = self._task.cancelling()
        self._watchdog = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, watchdog = self._task, self._watchdog
        # The error of the cancelled watchdog refers to this object: each request to the API server
        # would leave a reference cycle, with the context of its reconcile.
        self._task = self._watchdog = None
        if watchdog is not None:
            watchdog.cancel()
        # Undo our own cancellation only: a cancellation from outside must propagate.
        if (
            self._expired
            and task is not None
            and task.uncancel() <= self._cancelling
            and kind is not None
            and issubclass(kind, asyncio.CancelledError)
        ):
            raise TimeoutError from error

    async def _watch(self) -> None:
        while (left := self._when - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        self._expired = True
        if self._task is not None:
            self._task.cancel()
