"""Limits the work of all controllers in one iteration of the event loop.

A reconcile that finds everything in caches never yields, and others may compute for long between
two awaits. With a limit per worker, thirty workers that wake up together would block watches,
renewals of the Lease and probes thirty times as long as one.
"""

import asyncio
from collections import deque

from runtime.clock import Clock

SLICE_PASSES = 16
SLICE_SECONDS = 0.001
"""After so many reconciles, or so many seconds, further workers wait for the next iteration."""


class LoopSlice:
    """Shares the iterations of one event loop among workers, first come, first served."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._used = False
        self._passes = 0
        self._end = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Return in an iteration with time left; immediately if no other worker has used it."""
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
        slot = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                # This worker got the iteration but was cancelled: give it to the next one.
                self._next()
            raise

    def _next(self) -> None:
        """Give an iteration to the worker that has waited longest."""
        while self._waiting:
            slot = self._waiting.popleft()
            if not slot.done():
                slot.set_result(None)
                return
        self._used = False
