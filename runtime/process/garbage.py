"""Collects young garbage periodically, in addition to the thresholds of Python's collector.

Uses the standard library and the clock. One of the runnables of a process. A process that decodes
large lists needs high thresholds, and then the reference cycles of a few closed connections stay
for a long time: each keeps a TLS context, which is few objects but much memory. The young
generation takes milliseconds; the old one is not collected.
"""

import gc
from typing import NoReturn

from runtime.clock import Clock

PERIOD = 15.0
"""Seconds between two collections of new objects."""
OLDER_EVERY = 20
"""Collections of the young generation per collection of the next one, for survivors such as open
connections."""


class Garbage:
    """Runs until it is cancelled."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def run(self) -> NoReturn:
        """Collect until cancelled."""
        collections = 0
        while True:
            await self._clock.sleep(PERIOD)
            collections += 1
            gc.collect(1 if collections % OLDER_EVERY == 0 else 0)
