"""The queue between events and workers: each key at most once, never with two workers.

Uses runtime.clock, runtime.controller.flows, runtime.controller.ratelimit and
runtime.metrics.metrics. Event handlers and controllers add requests, the workers of one controller
take them. One event loop only: nothing here is safe to call from another thread.

The model is the priority queue of controller-runtime (pkg/controller/priorityqueue, the default
since v0.23):

- A key has at most one entry, waiting for its time or ready. Adding it again keeps the sooner of
  the two times and the higher of the two priorities; a ready entry absorbs a delayed add, and an
  add without delay makes a waiting entry ready. A reconciler therefore asks for its next look
  every time it needs one.
- Of the ready keys the one with the highest priority leaves first. Within a priority the flows of
  runtime.controller.flows (namespaces) take turns, and within a flow the key leaves first that
  became ready, or was raised to that priority, first.
- With `workers` a flow holds at most a share of them, so that slow passes of one namespace never
  hold all of them.
- A key that a worker holds is passed over, not blocked on, until `done`: any number of adds in
  the meantime collapse into one more run.

Unlike its model it starves nothing: every AGEING-th key taken is the oldest of all priorities that
may be taken. A key that n others precede in age is taken within AGEING * (n + 1) takes at which its
flow may have a worker, whatever is added later, because nothing that becomes ready or is raised
later is ever older.
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
"""How many overtaken entries the waiting heap may hold on top of twice the live ones."""

NORMAL = 0
LOW = -100
"""For what only repeats: initial adds, resyncs, updates to the version seen last."""


class ShutDown(Exception):  # noqa: N818 - the end of a queue is no error of the worker
    """The queue was shut down: the worker that asked for a key should end."""


@dataclass(slots=True)
class _Waiting:
    """A key that becomes ready at `due`; `order` is that of the add that said so."""

    due: float
    order: int
    priority: int


class Workqueue:
    """Requests waiting for a worker.

    The worker's side: `get`, then exactly one `done` for it, in a finally.
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
        """`workers`: how many there are for flows to share; None: no flow is limited."""
        self._clock = clock
        self._limiter = limiter
        self._order = itertools.count()
        self._ready: dict[Request, ReadyKey] = {}
        self._line = Flows(self._ready, workers)
        # Of the ready keys, held ones included, by priority; no entry stands at zero.
        self._depth: dict[int, int] = {}
        self._waiting: dict[Request, _Waiting] = {}
        # By due time; entries that do not match _waiting any more were overtaken and are skipped.
        self._times: list[tuple[float, int, Request]] = []
        # Since when, and with which priority it was taken.
        self._held: dict[Request, tuple[float, int]] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.Task[None] | None = None
        self._timer_due = 0.0
        self._idle = asyncio.Event()
        self._closed = False
        self._series = metrics.register_queue(
            name,
            QueueReadings(
                self._depth,
                self._unfinished,
                self._longest,
                self._longest_wait,
                self._line.readings,
            ),
        )
        for priority in (NORMAL, LOW):
            self._series.depth.show(priority)

    def __len__(self) -> int:
        """Ready and waiting keys; those with a worker are not counted unless added again."""
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
        """Make `request` ready in that many seconds, or sooner if it already is to be."""
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
        self._drop_overtaken()
        heapq.heappush(self._times, (due, order, request))
        self._set_timer()

    def add_rate_limited(self, request: Request, *, priority: int = NORMAL) -> None:
        """Make `request` ready when the limiter allows, and count the failure."""
        self.add_after(request, self._limiter.when(request), priority=priority)

    def forget(self, request: Request) -> None:
        """Clear the failures of `request`. It stays in the queue if it is there."""
        self._limiter.forget(request)

    def num_requeues(self, request: Request) -> int:
        """How often `request` failed since it was forgotten last."""
        return self._limiter.num_requeues(request)

    async def get(self) -> Request:
        """Take the next ready key, waiting for one. Raises ShutDown once the queue is closed."""
        while not self._closed and not self._line.may_take():
            getter = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                # A wake-up that this task can no longer use belongs to the next one.
                if getter.done() and not getter.cancelled():
                    self._wake()
                raise
        if self._closed:
            raise ShutDown
        request = self._line.take()
        entry = self._ready.pop(request)
        now = self._clock.monotonic()
        self._held[request] = (now, entry.priority)
        self._count_out(entry.priority)
        self._series.queue_seconds.observe(now - entry.since)
        # One key given back may let two flows go on, and wakes only one worker.
        self._wake()
        return request

    def priority_of(self, request: Request) -> int:
        """The priority with which a worker took `request`. Raises KeyError if none holds it."""
        return self._held[request][1]

    def done(self, request: Request) -> None:
        """Give `request` back. Raises KeyError if no worker holds it."""
        started, _ = self._held.pop(request)
        self._series.work_seconds.observe(self._clock.monotonic() - started)
        self._line.give_back(request)
        entry = self._ready.get(request)
        if entry is not None:
            self._line.push(request, entry)
        self._wake()
        if not self._held:
            self._idle.set()

    def shut_down(self) -> None:
        """Drop everything that is queued, ignore further adds and send the workers home."""
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
        while self._held:
            self._idle.clear()
            await self._idle.wait()

    def _make_ready(self, request: Request, priority: int) -> None:
        entry = ReadyKey(priority, next(self._order), self._clock.monotonic())
        self._ready[request] = entry
        self._series.adds.inc()
        self._count_in(priority)
        if request not in self._held:
            self._line.push(request, entry)
            self._wake()

    def _raise(self, request: Request, entry: ReadyKey, priority: int) -> None:
        """Move a ready key to the end of a higher priority; to a lower one nothing moves."""
        if priority <= entry.priority:
            return
        self._count_out(entry.priority)
        self._count_in(priority)
        before, entry.priority = entry.priority, priority
        entry.order = next(self._order)
        if request not in self._held:
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
        """Send the next idle worker to the line, if there is something for it."""
        while self._getters and self._line.may_take():
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _drop_overtaken(self) -> None:
        """Keep the heap in proportion: a key with a far timer may be promoted again and again."""
        if len(self._times) > 2 * len(self._waiting) + STALE_ENTRIES:
            self._times = [entry for entry in self._times if self._is_current(entry[2], entry[1])]
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
            _, order, request = heapq.heappop(self._times)
            if self._is_current(request, order):
                self._make_ready(request, self._waiting.pop(request).priority)

    def _is_current(self, request: Request, order: int) -> bool:
        waiting = self._waiting.get(request)
        return waiting is not None and waiting.order == order

    def _unfinished(self) -> float:
        now = self._clock.monotonic()
        return sum(now - started for started, _ in self._held.values())

    def _longest(self) -> float:
        now = self._clock.monotonic()
        return max((now - started for started, _ in self._held.values()), default=0.0)

    def _longest_wait(self) -> float:
        now = self._clock.monotonic()
        return max((now - entry.since for entry in self._ready.values()), default=0.0)
