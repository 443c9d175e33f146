"""A clock that moves only when a test says so.

Uses runtime.clock; called by tests of every layer.
"""

import asyncio
import heapq
import itertools
from datetime import UTC, datetime, timedelta

from runtime.clock import yield_to_loop

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
"""Where manual time starts; far from the real date, so that a stray real timestamp shows."""

SETTLE_TURNS = 25
"""Turns of the event loop between two wake-ups: enough for a chain of tasks to come to rest."""


class ManualClock:
    """A runtime.clock.Clock whose hands are moved by `advance` and `set`."""

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
        """How many tasks wait on this clock."""
        return sum(not woken.done() for _, _, woken in self._sleepers)

    @property
    def next_wake(self) -> float | None:
        """Seconds from now to the next wake-up, None when nobody sleeps."""
        due = [when for when, _, woken in self._sleepers if not woken.done()]
        return min(due) - self._monotonic if due else None

    async def settle(self) -> None:
        """Run the loop until tasks that wait for nothing but each other have come to rest."""
        for _ in range(SETTLE_TURNS):
            await yield_to_loop()

    async def advance(self, seconds: float) -> None:
        """Move both hands forward and wake whoever is due, in order of time.

        A sleeper sees exactly the time it asked for, and what it starts in turn (a further,
        shorter sleep) still fits into the same advance.
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
        """Step the wall time alone, as an NTP correction does; nobody wakes."""
        self._now = moment

    def _move_to(self, monotonic: float) -> None:
        if monotonic > self._monotonic:
            self._now += timedelta(seconds=monotonic - self._monotonic)
            self._monotonic = monotonic
