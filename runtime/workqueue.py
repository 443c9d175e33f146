"""The queue between events and workers: each key at most once, never with two workers.

Uses runtime.clock, runtime.ratelimit and runtime.metrics. Event handlers and controllers add
requests, the workers of one controller take them. One event loop only: nothing here is safe to
call from another thread.

The model is the priority queue of controller-runtime (default since v0.23), without priorities:

- A key has at most one entry, waiting for its time or ready. Adding it again keeps the sooner of
  the two times; a ready entry absorbs a delayed add, and an add without delay makes a waiting
  entry ready. A reconciler therefore asks for its next look every time it needs one.
- Ready keys leave in the order in which they became ready.
- A key that a worker holds is passed over, not blocked on, until `done`: any number of adds in
  the meantime collapse into one more run.

The order of a ready entry is the place where a priority would go: it sorts the ready heap.
"""

import asyncio
import heapq
import itertools
import math
from collections import deque
from dataclasses import dataclass

from runtime.clock import Clock
from runtime.metrics import Metrics
from runtime.ratelimit import RateLimiter
from runtime.types import Request

STALE_ENTRIES = 64
"""How many overtaken entries the waiting heap may hold on top of twice the live ones."""

NEVER = (math.inf, 0)


class ShutDown(Exception):  # noqa: N818 - the end of a queue is no error of the worker
    """The queue was shut down: the worker that asked for a key should end."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """A key to be taken; `order` is unique, `since` the monotonic time it became ready."""

    order: int
    since: float


class Workqueue:
    """Requests waiting for a worker.

    The worker's side: `get`, then exactly one `done` for it, in a finally.
    """

    def __init__(self, name: str, *, clock: Clock, limiter: RateLimiter, metrics: Metrics) -> None:
        self._clock = clock
        self._limiter = limiter
        self._order = itertools.count()
        self._ready: dict[Request, _Ready] = {}
        # Ready keys that no worker holds, by order; the dict above is the truth, and both agree.
        self._next: list[tuple[int, Request]] = []
        # When it is due, and the order of the add that said so.
        self._waiting: dict[Request, tuple[float, int]] = {}
        # By due time; entries that do not match _waiting any more were overtaken and are skipped.
        self._times: list[tuple[float, int, Request]] = []
        self._held: dict[Request, float] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.Task[None] | None = None
        self._timer_due = 0.0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._series = metrics.register_queue(name, self._unfinished, self._longest)

    def __len__(self) -> int:
        """Ready and waiting keys; those with a worker are not counted unless added again."""
        return len(self._ready) + len(self._waiting)

    def add(self, request: Request) -> None:
        """Make `request` ready now. Ignored after shut_down."""
        if not self._closed and request not in self._ready:
            self._waiting.pop(request, None)
            self._make_ready(request)

    def add_after(self, request: Request, seconds: float) -> None:
        """Make `request` ready in that many seconds, or sooner if it already is to be."""
        if seconds <= 0:
            self.add(request)
            return
        if self._closed:
            return
        self._series.retries.inc()
        due = self._clock.monotonic() + seconds
        if request in self._ready or due >= self._waiting.get(request, NEVER)[0]:
            return
        order = next(self._order)
        self._waiting[request] = (due, order)
        self._drop_overtaken()
        heapq.heappush(self._times, (due, order, request))
        self._set_timer()

    def add_rate_limited(self, request: Request) -> None:
        """Make `request` ready when the limiter allows, and count the failure."""
        self.add_after(request, self._limiter.when(request))

    def forget(self, request: Request) -> None:
        """Clear the failures of `request`. It stays in the queue if it is there."""
        self._limiter.forget(request)

    def num_requeues(self, request: Request) -> int:
        """How often `request` failed since it was forgotten last."""
        return self._limiter.num_requeues(request)

    async def get(self) -> Request:
        """Take the next ready key, waiting for one. Raises ShutDown once the queue is closed."""
        while not self._next and not self._closed:
            getter = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                # A wake-up that this task can no longer use belongs to the next one.
                if getter.done() and not getter.cancelled() and self._next:
                    self._wake()
                raise
        if self._closed:
            raise ShutDown
        _, request = heapq.heappop(self._next)
        since = self._ready.pop(request).since
        now = self._clock.monotonic()
        self._held[request] = now
        self._idle.clear()
        self._series.depth.dec()
        self._series.queue_seconds.observe(now - since)
        return request

    def done(self, request: Request) -> None:
        """Give `request` back. Raises KeyError if no worker holds it."""
        started = self._held.pop(request)
        self._series.work_seconds.observe(self._clock.monotonic() - started)
        if entry := self._ready.get(request):
            heapq.heappush(self._next, (entry.order, request))
            self._wake()
        if not self._held:
            self._idle.set()

    def shut_down(self) -> None:
        """Drop everything that is queued, ignore further adds and send the workers home."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._series.depth.set(0)
        for pending in (self._ready, self._next, self._waiting, self._times):
            pending.clear()
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
        self._getters.clear()

    async def drain(self) -> None:
        """Wait until no worker holds a key. Only final after shut_down."""
        await self._idle.wait()

    def _make_ready(self, request: Request) -> None:
        entry = _Ready(next(self._order), self._clock.monotonic())
        self._ready[request] = entry
        self._series.adds.inc()
        self._series.depth.inc()
        if request not in self._held:
            heapq.heappush(self._next, (entry.order, request))
            self._wake()

    def _wake(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _drop_overtaken(self) -> None:
        """Keep the heap in proportion: a key with a far timer may be promoted again and again."""
        if len(self._times) > 2 * len(self._waiting) + STALE_ENTRIES:
            self._times = [
                entry for entry in self._times if self._waiting.get(entry[2]) == entry[:2]
            ]
            heapq.heapify(self._times)

    def _set_timer(self) -> None:
        """See to it that the timer wakes no later than the first waiting entry."""
        due = self._times[0][0]
        if self._timer is not None and not self._timer.done():
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        self._timer = asyncio.get_running_loop().create_task(self._tick())

    async def _tick(self) -> None:
        while self._times:
            self._timer_due = self._times[0][0]
            delay = self._timer_due - self._clock.monotonic()
            if delay > 0:
                await self._clock.sleep(delay)
            self._promote_due()

    def _promote_due(self) -> None:
        now = self._clock.monotonic()
        while self._times and self._times[0][0] <= now:
            due, order, request = heapq.heappop(self._times)
            if self._waiting.get(request) == (due, order):
                del self._waiting[request]
                self._make_ready(request)

    def _unfinished(self) -> float:
        now = self._clock.monotonic()
        return sum(now - started for started in self._held.values())

    def _longest(self) -> float:
        now = self._clock.monotonic()
        return max((now - started for started in self._held.values()), default=0.0)
