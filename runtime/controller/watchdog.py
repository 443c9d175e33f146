"""Ends the passes of a controller that last too long: one timer for all of its workers.

Uses runtime.clock; called by runtime.controller.controller. runtime.clock.Deadline does the same
for one block at the price of a task per block, which is most of what a pass without work would
cost.
"""

import asyncio

from runtime.clock import Clock

Worker = asyncio.Task[None]


class Watchdog:
    """Cancels tasks that are still at what they began more than `seconds` ago."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        # All last equally long: who began first is due first, and dicts keep that order.
        self._due: dict[Worker, float] = {}
        self._timer: asyncio.Task[None] | None = None

    def begin(self, worker: Worker, now: float) -> None:
        """`worker`, the current task, begins; `now` is the monotonic time."""
        self._due[worker] = now + self._seconds
        if self._timer is None:
            self._timer = asyncio.create_task(self._watch())

    def expired(self, worker: Worker) -> bool:
        """True once `worker` was told to end what it is at."""
        return worker not in self._due

    def end(self, worker: Worker) -> bool:
        """`worker` has ended; True if it was told to.

        Its cancellation is taken back then: what Task.cancelling still counts came from others.
        """
        if self._due.pop(worker, None) is not None:
            return False
        worker.uncancel()
        return True

    def stop(self) -> None:
        """Cancel nobody any more."""
        if self._timer is not None:
            self._timer.cancel()

    async def _watch(self) -> None:
        try:
            while self._due:
                worker, due = next(iter(self._due.items()))
                left = due - self._clock.monotonic()
                if left > 0:
                    await self._clock.sleep(left)
                else:
                    del self._due[worker]
                    worker.cancel()
        finally:
            self._timer = None
