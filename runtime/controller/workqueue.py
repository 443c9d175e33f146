"""The queue between events and workers: each key at most once, never with two workers.

Uses runtime.clock, runtime.controller.flows, runtime.controller.ratelimit and
runtime.metrics.metrics. Event handlers and controllers add requests, the workers of one controller
take them. It is not thread-safe: use it in one event loop only.

The model is the priority queue of controller-runtime (pkg/controller/priorityqueue, the default
since v0.23):

- A key has at most one entry, delayed or ready. Adding it again keeps the sooner of the two times
  and the higher of the two priorities; a ready entry absorbs a delayed add, and an add without
  delay makes a delayed entry ready. A reconciler therefore requests its next reconcile each time.
- Of the ready keys the one with the highest priority is taken first. Within a priority the flows of
  runtime.controller.flows (namespaces) take turns, and within a flow the order is that in which the
  keys became ready or were raised to that priority.
- With `workers` a flow holds at most a share of them, so that slow reconciles of one namespace
  never occupy all workers.
- A key that a worker holds is skipped until `done`: any number of adds in the meantime cause one
  more reconcile.

Unlike controller-runtime it does not starve low priorities: every AGEING-th key taken is the oldest
eligible one of all priorities. With n older keys, a key is taken within AGEING * (n + 1) takes at
which its flow may have a worker, whatever is added later.
"""

import asyncio
import heapq
import itertools
from collections import deque
from dataclasses import dataclass

from runtime.clock import Clock
from runtime.controller.flows import Flows, ReadyKey
from runtime.controller.ratelimit import RateLimiter
from runtime.metrics.metrics import Metrics, QueueReadings
from runtime.types import Request

STALE_ENTRIES = 64
"""How many stale entries the heap of times may hold in addition to twice the live ones."""

NORMAL = 0
LOW = -100
"""For replays: initial adds, resyncs, updates to the same version."""


class ShutDown(Exception):  # noqa: N818 - the shutdown of a queue is not an error of the worker
    """The queue was shut down: the worker should end."""


@dataclass(slots=True)
class _Waiting:
    """A key that becomes ready at `due`; `order` is that of its add."""

    due: float
    order: int
    priority: int


class Workqueue:
    """Requests that wait for a worker.

    A worker calls `get`, then `done` exactly once, in a finally.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Clock,
        limiter: RateLimiter,
        metrics: Metrics,
        workers: int | None = None,
    ) -> None:
        """`workers`: the number that flows share; None: no flow is limited."""
        self._clock = clock
        self._limiter = limiter
        self._order = itertools.count()
        self._ready: dict[Request, ReadyKey] = {}
        self._line = Flows(self._ready, workers)
        # Number of ready keys by priority, held ones included; no entry is zero.
        self._depth: dict[int, int] = {}
        self._waiting: dict[Request, _Waiting] = {}
        # By due time; entries that no longer match _waiting are stale and are skipped.
        self._times: list[tuple[float, int, Request]] = []
        # When, and with which priority, each key was taken.
        self._processing: dict[Request, tuple[float, int]] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.Task[None] | None = None
        self._timer_due = 0.0
        self._idle = asyncio.Event()
        self._closed = False
        self._series = metrics.register_queue(
            name,
            QueueReadings(
                self._depth,
                self._unfinished_seconds,
                self._longest_running_seconds,
                self._longest_wait,
                self._line.readings,
            ),
        )
        for priority in (NORMAL, LOW):
            self._series.depth.show(priority)

    def __len__(self) -> int:
        """Ready and delayed keys; those with a worker are not counted unless added again."""
        return len(self._ready) + len(self._waiting)

    def add(self, request: Request, *, priority: int = NORMAL) -> None:
        """Make `request` ready now. Ignored after shut_down."""
        if self._closed:
            return
        entry = self._ready.get(request)
        if entry is not None:
            self._raise(request, entry, priority)
            return
        waiting = self._waiting.pop(request, None)
        if waiting is not None and waiting.priority > priority:
            priority = waiting.priority
        self._make_ready(request, priority)

    def add_after(self, request: Request, seconds: float, *, priority: int = NORMAL) -> None:
        """Make `request` ready in that many seconds, or sooner if an earlier add requires it."""
        if seconds <= 0:
            self.add(request, priority=priority)
            return
        if self._closed:
            return
        self._series.retries.inc()
        entry = self._ready.get(request)
        if entry is not None:
            self._raise(request, entry, priority)
            return
        due = self._clock.monotonic() + seconds
        waiting = self._waiting.get(request)
        if waiting is not None:
            waiting.priority = priority = max(waiting.priority, priority)
            if due >= waiting.due:
                return
        order = next(self._order)
        self._waiting[request] = _Waiting(due, order, priority)
        self._drop_stale()
        heapq.heappush(self._times, (due, order, request))
        self._set_timer()

    def add_rate_limited(self, request: Request, *, priority: int = NORMAL) -> None:
        """Make `request` ready after the delay of the limiter, which counts the failure."""
        self.add_after(request, self._limiter.when(request), priority=priority)

    def forget(self, request: Request) -> None:
        """Reset the failures of `request`. It stays in the queue if it is queued."""
        self._limiter.forget(request)

    def num_requeues(self, request: Request) -> int:
        """How often `request` failed since the last `forget`."""
        return self._limiter.num_requeues(request)

    async def get(self) -> Request:
        """Take the next ready key, waiting for one. Raises ShutDown once the queue is closed."""
        while not self._closed and not self._line.has_next():
            getter = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                # This task cannot use its wake-up: pass it to the next one.
                if getter.done() and not getter.cancelled():
                    self._wake()
                raise
        if self._closed:
            raise ShutDown
        request = self._line.take()
        entry = self._ready.pop(request)
        now = self._clock.monotonic()
        self._processing[request] = (now, entry.priority)
        self._count_out(entry.priority)
        self._series.queue_seconds.observe(now - entry.since)
        # One released key may make two flows eligible, but wakes only one worker.
        self._wake()
        return request

    def priority_of(self, request: Request) -> int:
        """The priority with which a worker took `request`. Raises KeyError if none holds it."""
        return self._processing[request][1]

    def done(self, request: Request) -> None:
        """Release `request`. Raises KeyError if no worker holds it."""
        started, _ = self._processing.pop(request)
        self._series.work_seconds.observe(self._clock.monotonic() - started)
        self._line.release_worker(request)
        entry = self._ready.get(request)
        if entry is not None:
            self._line.push(request, entry)
        self._wake()
        if not self._processing:
            self._idle.set()

    def shut_down(self) -> None:
        """Drop all queued keys, ignore further adds and end the workers."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for pending in (self._ready, self._line, self._depth, self._waiting, self._times):
            pending.clear()
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
        self._getters.clear()

    async def drain(self) -> None:
        """Wait until no worker holds a key. Only final after shut_down."""
        while self._processing:
            self._idle.clear()
            await self._idle.wait()

    def _make_ready(self, request: Request, priority: int) -> None:
        entry = ReadyKey(priority, next(self._order), self._clock.monotonic())
        self._ready[request] = entry
        self._series.adds.inc()
        self._count_in(priority)
        if request not in self._processing:
            self._line.push(request, entry)
            self._wake()

    def _raise(self, request: Request, entry: ReadyKey, priority: int) -> None:
        """Move a ready key to the end of a higher priority; ignore a lower one."""
        if priority <= entry.priority:
            return
        self._count_out(entry.priority)
        self._count_in(priority)
        before, entry.priority = entry.priority, priority
        entry.order = next(self._order)
        if request not in self._processing:
            self._line.move(request, entry, before)

    def _count_in(self, priority: int) -> None:
        count = self._depth.get(priority, 0)
        self._depth[priority] = count + 1
        if not count:
            self._series.depth.show(priority)

    def _count_out(self, priority: int) -> None:
        count = self._depth[priority] - 1
        if count:
            self._depth[priority] = count
        else:
            del self._depth[priority]

    def _wake(self) -> None:
        """Wake the next idle worker if there is a key for it."""
        while self._getters and self._line.has_next():
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _drop_stale(self) -> None:
        """Limit the size of the heap: a key with a long delay may be promoted many times."""
        if len(self._times) > 2 * len(self._waiting) + STALE_ENTRIES:
            self._times = [entry for entry in self._times if self._is_current(entry[2], entry[1])]
            heapq.heapify(self._times)

    def _set_timer(self) -> None:
        """Ensure that the timer fires no later than the first delayed entry."""
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
            _, order, request = heapq.heappop(self._times)
            if self._is_current(request, order):
                self._make_ready(request, self._waiting.pop(request).priority)

    def _is_current(self, request: Request, order: int) -> bool:
        waiting = self._waiting.get(request)
        return waiting is not None and waiting.order == order

    def _unfinished_seconds(self) -> float:
        now = self._clock.monotonic()
        return sum(now - started for started, _ in self._processing.values())

    def _longest_running_seconds(self) -> float:
        now = self._clock.monotonic()
        return max((now - started for started, _ in self._processing.values()), default=0.0)

    def _longest_wait(self) -> float:
        now = self._clock.monotonic()
        return max((now - entry.since for entry in self._ready.values()), default=0.0)
