"""Replays the content of the store to a handler periodically, without a request.

Called by the informer, one per handler that wants it. The events of a watch are not lost, but
what a handler made of them may be: a resync is the second chance of a level-based controller.
"""

import math
import random
from collections.abc import Callable
from typing import NoReturn, Protocol

from runtime.cache.store import Store
from runtime.clock import Clock
from runtime.types import Object

SHORTEST_PERIOD = 1.0
"""Seconds. A handler that needs a shorter period does not need a resync."""

JITTER = 0.1
"""Each round is that part shorter or longer, so that handlers do not stay in step."""

SHORTEST_STEP = 0.1
"""Seconds between two slices: with more objects than steps in a period, several at a time."""


class ResyncListener(Protocol):
    """Who is shown the objects."""

    def on_resync(self, obj: Object) -> None: ...


class Resync:
    """Shows each stored object to one listener, once per period.

    A round is spread evenly over its period, so that ten thousand objects are a steady trickle of
    work and not an hourly wave. An object that is present through a whole round is shown in it
    exactly once, in its state of that moment; one that came meanwhile has to wait for the next.
    While busy says so, which is while listeners have not heard yet of all that is in the store,
    none is shown.
    """

    def __init__(
        self,
        store: Store,
        listener: ResyncListener,
        period: float,
        *,
        clock: Clock,
        rng: random.Random,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        if period < SHORTEST_PERIOD:
            raise ValueError(f"a resync every {period:g} s is no resync")
        self._store = store
        self._listener = listener
        self._period = period
        self._clock = clock
        self._rng = rng
        self._busy = busy

    async def run(self) -> NoReturn:
        """Go on until cancelled."""
        while True:
            await self._round(self._period * self._rng.uniform(1.0 - JITTER, 1.0 + JITTER))

    async def _round(self, seconds: float) -> None:
        start = self._clock.monotonic()
        keys = self._store.keys()
        steps = max(1, min(len(keys), math.floor(seconds / SHORTEST_STEP)))
        for number in range(steps):
            await self._until(start + seconds * (number + 1) / steps)
            while self._busy():
                await self._clock.sleep(SHORTEST_STEP)
            for key in keys[len(keys) * number // steps : len(keys) * (number + 1) // steps]:
                obj = self._store.get(key)
                if obj is not None:
                    self._listener.on_resync(obj)

    async def _until(self, moment: float) -> None:
        await self._clock.sleep(moment - self._clock.monotonic())
