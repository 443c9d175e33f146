"""Collects young garbage by the clock, in addition to the thresholds of the collector of Python.

Standard library only, and the clock. Composed with the other runnables of a process. A process
that takes in large lists has to have high thresholds, and then the cycles of a few failed or ended
connections wait for a long time: each keeps a TLS context, which weighs little by the count of
objects and much in memory. What is young is walked in milliseconds; what is old is left alone.
"""

import gc
from typing import NoReturn

from runtime.clock import Clock

PERIOD = 15.0
"""Seconds between two collections of new objects."""
OLDER_EVERY = 20
"""Collections of new objects per collection of survivors, such as connections open at that time."""


class Garbage:
    """Runs until it is cancelled."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def run(self) -> NoReturn:
        """Collect, again and again."""
        looks = 0
        while True:
            await self._clock.sleep(PERIOD)
            looks += 1
            gc.collect(1 if looks % OLDER_EVERY == 0 else 0)
