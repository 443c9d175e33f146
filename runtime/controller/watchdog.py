"""Cancels reconciles that exceed the deadline: one timer for all workers of a controller.

Uses runtime.clock; called by runtime.controller.controller. runtime.clock.Deadline does the same
for one block with a task per block, which would be most of the cost of a reconcile without work.
"""

import asyncio

from runtime.clock import Clock

Worker = asyncio.Task[None]


class Watchdog:
    """Cancels the reconciles that run longer than `seconds`."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        # All have the same deadline, so the first entry is due first, and dicts keep that order.
        self._due: dict[Worker, float] = {}
        self._timer: asyncio.Task[None] | None = None

    def begin(self, worker: Worker, now: float) -> None:
        """Start the deadline of `worker`, the current task; `now` is the monotonic time."""
        self._due[worker] = now + self._seconds
        if self._timer is None:
            self._timer = asyncio.create_task(self._watch())

    def expired(self, worker: Worker) -> bool:
        """True once `worker` was cancelled by its deadline."""
        return worker not in self._due

    def end(self, worker: Worker) -> bool:
        """End the deadline of `worker`; True if it was cancelled by it.

        That cancellation is undone: Task.cancelling then counts only those of others.
        """
        if self._due.pop(worker, None) is not None:
            return False
        worker.uncancel()
        return True

    def stop(self) -> None:
        """Stop the timer."""
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
