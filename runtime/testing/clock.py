"""A clock that only the test advances.

Uses runtime.clock; called by tests of every layer.
"""

import asyncio
import heapq
import itertools
from datetime import UTC, datetime, timedelta

from runtime.clock import yield_to_loop

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
"""The start of manual time; far from the real date, so that a real timestamp is noticed."""

SETTLE_TURNS = 25
"""Iterations of the event loop between two wake-ups: enough for a chain of tasks to settle."""


class ManualClock:
    """A runtime.clock.Clock that `advance` and `set` change."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._now = start
        self._monotonic = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await yield_to_loop()
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic + seconds, next(self._order), woken))
        await woken

    @property
    def sleeping(self) -> int:
        """How many tasks sleep on this clock."""
        return sum(not woken.done() for _, _, woken in self._sleepers)

    @property
    def next_wake(self) -> float | None:
        """Seconds until the next wake-up, None if no task sleeps."""
        due = [when for when, _, woken in self._sleepers if not woken.done()]
        return min(due) - self._monotonic if due else None

    async def settle(self) -> None:
        """Run the loop until all tasks sleep, or wait for something other than each other."""
        for _ in range(SETTLE_TURNS):
            await yield_to_loop()

    async def advance(self, seconds: float) -> None:
        """Advance both times and wake the sleepers that are due, in order.

        A sleeper wakes at exactly its time, and a further sleep that it starts can end within the
        same advance.
        """
        await self.settle()
        target = self._monotonic + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            when, _, woken = heapq.heappop(self._sleepers)
            if woken.done():
                continue
            self._move_to(when)
            woken.set_result(None)
            await self.settle()
        self._move_to(target)
        await self.settle()

    def set(self, moment: datetime) -> None:
        """Set only the wall time, as an NTP correction does; no sleeper wakes."""
        self._now = moment

    def _move_to(self, monotonic: float) -> None:
        if monotonic > self._monotonic:
            self._now += timedelta(seconds=monotonic - self._monotonic)
            self._monotonic = monotonic
