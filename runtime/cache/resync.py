"""Replays the content of the store to a handler periodically, without a request.

Called by the informer, one per handler that requests it. The events of a watch are not lost, but a
handler may have processed one incorrectly: a resync lets a level-based controller recover.
"""

import math
import random
from collections.abc import Callable
from typing import NoReturn, Protocol

from runtime.cache.store import Store
from runtime.clock import Clock
from runtime.types import Object

SHORTEST_PERIOD = 1.0
"""In seconds. A resync corrects rare errors; it does not replace polling."""

JITTER = 0.1
"""The period of each round varies by this fraction, so that handlers do not run in step."""

SHORTEST_STEP = 0.1
"""Shortest time between two steps, in seconds: with more objects, a step replays several."""


class ResyncListener(Protocol):
    """Receives the objects."""

    def on_resync(self, obj: Object) -> None: ...


class Resync:
    """Passes each stored object to one listener, once per period.

    A round is spread evenly over its period, so that the load of ten thousand objects is constant.
    An object that exists during a whole round is passed exactly once, in its current state; an
    object that was added meanwhile waits for the next round. It pauses while `busy` is true: then
    listeners do not have all changes of the store yet.
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
            raise ValueError(
                f"the resync period is {period:g} s, but must be at least {SHORTEST_PERIOD:g} s"
            )
        self._store = store
        self._listener = listener
        self._period = period
        self._clock = clock
        self._rng = rng
        self._busy = busy

    async def run(self) -> NoReturn:
        """Replay until cancelled."""
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
