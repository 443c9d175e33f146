"""What the workers of all controllers together may do in one iteration of the event loop.

A pass that finds all it needs in caches suspends nowhere, and a pass that does can be heavy between
two awaits. With a bound for each worker alone, thirty workers that wake up at once hold up watches,
renewals of the Lease and probes thirty times as long as one.
"""

import asyncio
from collections import deque

from runtime.clock import Clock

SLICE_PASSES = 16
SLICE_SECONDS = 0.001
"""After how much work another worker waits for a later iteration."""


class LoopSlice:
    """Shares the iterations of one event loop among workers, first come, first served."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._used = False
        self._passes = 0
        self._end = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Return in an iteration that has time left; at once while nobody else works."""
        if self._used and (self._waiting or self._is_full()):
            await self._wait()
            self._begin()
        elif not self._used:
            self._begin()
        self._passes += 1

    def _is_full(self) -> bool:
        return self._passes >= SLICE_PASSES or self._clock.monotonic() >= self._end

    def _begin(self) -> None:
        self._used, self._passes = True, 0
        self._end = self._clock.monotonic() + SLICE_SECONDS
        asyncio.get_running_loop().call_soon(self._next)

    async def _wait(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The iteration was given to this worker, which ends: to the next one instead.
                self._next()
            raise

    def _next(self) -> None:
        """Give an iteration to the worker that has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._used = False
