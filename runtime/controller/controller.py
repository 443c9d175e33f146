"""A controller: event sources add to its workqueue, its workers call its reconciler.

Uses the workqueue, events and handlers of this package, the metrics and structlog. Composed by the
application, started and stopped by runtime.process.manager. The semantics are those of
controller-runtime (pkg/internal/controller), with one difference: a reconciler returns an outcome
or raises, never both, and only `Controller._settle` converts either to a requeue.
"""

import asyncio
import itertools
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog
from structlog.contextvars import bind_contextvars

from runtime.clock import Clock
from runtime.controller.event import Event, Predicate
from runtime.controller.handler import Handler
from runtime.controller.loop_slice import LoopSlice
from runtime.controller.ratelimit import ItemExponentialFailure, RateLimiter
from runtime.controller.watchdog import Watchdog, Worker
from runtime.controller.workqueue import LOW, NORMAL, ShutDown, Workqueue
from runtime.errors import ApiError, LeaseLost, TerminalError, Transient
from runtime.memo import KEYS, Memos
from runtime.metrics.metrics import Metrics
from runtime.outcome import Blocked, Done, Outcome, Wait
from runtime.types import Object, Request, key_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()


class Reconciler(Protocol):
    """Compares observed and desired state for one request, and acts on the difference.

    Calls for one key are sequential, calls for different keys are concurrent. It is often called
    without a change, and after a crash at any point of its last call. A deleted object is Done.
    """

    async def __call__(self, request: Request, /) -> Outcome: ...


class EventSource(Protocol):
    """A source of events: the part of an informer that a controller needs."""

    def add_handler(self, handler: "Feed", /) -> object:
        """Register for events; existing objects are replayed as initial adds."""
        ...

    async def wait_synced(self, timeout: float, /) -> object:  # noqa: ASYNC109 - as client-go has it
        """Return once the first list was delivered. Raises TimeoutError."""
        ...


def numbered_ids() -> Callable[[], str]:
    """Return a generator of reconcile IDs: a random prefix of this process, and a number."""
    prefix = uuid.uuid4().hex[:8]
    numbers = itertools.count(1)
    return lambda: f"{prefix}-{next(numbers)}"


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """`deadline` of one reconcile and `sync_timeout` of all sources together, in seconds.

    `limiter` creates the rate limiter. `reconcile_id` returns the ID of a reconcile for the logs.
    `fair`: whether the workers of one namespace are limited (runtime.controller.flows). `owns`:
    whether a request is for this process; all others are dropped. It is called before the request
    is enqueued, and again before the reconcile, because the object may not have been in the caches
    before. All controllers of an event loop share a `loop_slice`; None: this one has its own.
    `memo_keys` is the number of keys whose memoized results stay until their next reconcile
    (runtime.memo); 0 for a controller that reconciles a key rarely.
    """

    deadline: float = 120.0
    sync_timeout: float = 120.0
    limiter: Callable[[], RateLimiter] = ItemExponentialFailure
    reconcile_id: Callable[[], str] = field(default_factory=numbered_ids)
    fair: bool = False
    owns: Callable[[Request], bool] = lambda _: True
    loop_slice: LoopSlice | None = None
    memo_keys: int = KEYS


Add = Callable[[Request, int], None]
"""Takes a request and its priority."""


class Feed:
    """Connects a source to a controller: predicates, then the handler, then the queue."""

    def __init__(
        self, name: str, add: Add, handler: Handler, predicates: tuple[Predicate, ...]
    ) -> None:
        self._name = name
        self._add = add
        self._handler = handler
        self._predicates = predicates

    def on_add(self, obj: Object, initial: bool) -> None:
        self._deliver(Event("add", obj, initial=initial))

    def on_update(self, old: Object, new: Object) -> None:
        self._deliver(Event("update", new, old))

    def on_delete(self, obj: Object) -> None:
        self._deliver(Event("delete", obj))

    def on_resync(self, obj: Object) -> None:
        self._deliver(Event("update", obj, obj, resync=True))

    def _deliver(self, event: Event) -> None:
        try:
            if all(predicate(event) for predicate in self._predicates):
                priority = NORMAL if event.is_change else LOW
                for request in self._handler(event):
                    self._add(request, priority)
        except Exception:
            # One malformed object must not stop the events of the others.
            log.exception("event handler failed", controller=self._name, key=key_of(event.object))


class Controller:
    """A workqueue of requests and its workers; never two workers with the same request.

    `name` is unique in the process and is the label of every metric.
    """

    def __init__(
        self,
        name: str,
        reconcile: Reconciler,
        *,
        clock: Clock,
        metrics: Metrics,
        workers: int = 1,
        options: ControllerOptions | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"controller {name}: need at least one worker")
        self.name = name
        self._reconcile = reconcile
        self._clock = clock
        self._workers = workers
        self._options = options or ControllerOptions()
        self._memos = Memos(self._options.memo_keys)
        self._series = metrics.register_controller(name)
        self._error_classes = metrics.reconcile_error_classes_total
        self._queue = Workqueue(
            name,
            clock=clock,
            limiter=self._options.limiter(),
            metrics=metrics,
            workers=workers if self._options.fair else None,
        )
        self._sources: list[EventSource] = []
        self._loop_slice = self._options.loop_slice or LoopSlice(clock)
        self._watchdog = Watchdog(clock, self._options.deadline)
        self._active = 0
        self._series.active_workers.set_function(lambda: self._active)
        self._syncing: asyncio.Task[None] | None = None
        self._stopped = False
        # The last reported outcome of each key; Done without a timer is not stored.
        self._last: dict[Request, tuple[str, str]] = {}

    def watch(self, source: EventSource, handler: Handler, *predicates: Predicate) -> None:
        """Enqueue the requests of `handler` for the events of `source` that all predicates
        accept."""
        source.add_handler(Feed(self.name, self._add, handler, predicates))
        if source not in self._sources:
            self._sources.append(source)

    def enqueue(self, request: Request, after: float = 0.0, *, priority: int = NORMAL) -> None:
        """Enqueue `request`, now or in `after` seconds."""
        if self._options.owns(request):
            self._queue.add_after(request, after, priority=priority)

    def _add(self, request: Request, priority: int) -> None:
        if self._options.owns(request):
            self._queue.add(request, priority=priority)

    async def run(self) -> None:
        """Wait for the sources, then reconcile until `stop`; returns once the current requests are
        done.

        Raises TimeoutError if a source does not sync in time. Cancelling interrupts the reconciles.
        """
        self._syncing = asyncio.create_task(self._wait_synced())
        try:
            await self._syncing
        except asyncio.CancelledError:
            if not self._stopped or _current_task().cancelling():
                raise
        if self._stopped:
            return
        self._series.max_concurrent.set(self._workers)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._workers):
                    group.create_task(self._work(), name=f"{self.name}-{number}")
        finally:
            self._queue.shut_down()
            self._watchdog.stop()

    def stop(self) -> None:
        """Take no further request; `run` returns once the current requests are done."""
        self._stopped = True
        self._queue.shut_down()
        if self._syncing is not None:
            self._syncing.cancel()

    async def drain(self) -> None:
        """Wait until no worker has a request. Only final after `stop`."""
        await self._queue.drain()

    async def _wait_synced(self) -> None:
        end = self._clock.monotonic() + self._options.sync_timeout
        for source in self._sources:
            await source.wait_synced(max(0.0, end - self._clock.monotonic()))

    async def _work(self) -> None:
        worker = _current_task()
        bind_contextvars(controller=self.name)
        while True:
            try:
                request = await self._queue.get()
            except ShutDown:
                return
            try:
                # A reconciler that only reads stores never yields: with a full queue it would block
                # watches, lease renewals and probes.
                await self._loop_slice.enter()
                await self._process(request, worker)
            finally:
                self._queue.done(request)
            if worker.cancelling():
                # The reconciler has suppressed the cancellation of this task.
                raise asyncio.CancelledError

    async def _process(self, request: Request, worker: Worker) -> None:
        started = self._clock.monotonic()
        # Each worker has its own context, and the next reconcile overwrites these.
        bind_contextvars(
            namespace=request.namespace,
            name=request.name,
            reconcile_id=self._options.reconcile_id(),
        )
        self._active += 1
        self._watchdog.begin(worker, started)
        try:
            verdict = await self._attempt(request, worker)
        finally:
            expired = self._watchdog.end(worker)
            self._active -= 1
            self._series.seconds.observe(self._clock.monotonic() - started)
        if expired:
            self._series.timeouts.inc()
        self._settle(request, verdict)

    async def _attempt(self, request: Request, worker: Worker) -> Outcome | BaseException:
        """Call the reconciler; return its exception, unless this task was cancelled."""
        try:
            if not self._options.owns(request):
                return Done()
            with self._memos.during(request):
                return await self._reconcile(request)
        except Exception as error:  # noqa: BLE001 - one failing key must not end the worker
            return error
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            expired = self._watchdog.expired(worker)
            # A cancellation of something that the reconciler awaits must not be raised: it would
            # end this worker silently.
            if worker.cancelling() > expired:
                raise
            if expired and isinstance(error, asyncio.CancelledError):
                timeout = TimeoutError(f"deadline of {self._options.deadline:g} s exceeded")
                timeout.__cause__ = error  # its traceback shows what the reconcile was waiting for
                return timeout
            self._series.panics.inc()
            return error

    def _settle(self, request: Request, verdict: Outcome | BaseException) -> None:
        """Convert the result of a reconcile to a requeue, a metric and a log line."""
        match verdict:
            case Done(recheck_after=after):
                self._succeed(request, after)
            case Wait(after=after):
                self._succeed(request, after)
            case Blocked(recheck_after=after):
                self._succeed(request, after)
            case TerminalError():
                self._fail(request, verdict)
                self._series.terminal_errors.inc()
            case _:
                # LeaseLost included: either this process ends, or the lease was renewed late and
                # the refused write must be repeated.
                self._fail(request, verdict)
                self._queue.add_rate_limited(request, priority=self._queue.priority_of(request))
        self._report(request, verdict)

    def _succeed(self, request: Request, after: float | None) -> None:
        self._queue.forget(request)
        if after is None:
            self._series.results["success"].inc()
        else:
            self._series.results["requeue_after"].inc()
            self._queue.add_after(request, after, priority=self._queue.priority_of(request))

    def _fail(self, request: Request, error: BaseException) -> None:
        self._series.results["error"].inc()
        self._series.errors.inc()
        self._error_classes.labels(self.name, type(error).__name__).inc()

    def _report(self, request: Request, verdict: Outcome | BaseException) -> None:
        """Log the outcome of a key if it has changed."""
        match verdict:
            case Done():
                if self._last.pop(request, None):
                    log.info("reconciled")
            case Wait(reason, message):
                if self._is_news(request, reason, message):
                    log.info("waiting", reason=reason, message=message)
            case Blocked(reason, message):
                if self._is_news(request, reason, message):
                    log.warning("blocked", reason=reason, message=message)
            case _:
                self._report_error(request, verdict)

    def _report_error(self, request: Request, error: BaseException) -> None:
        kind = type(error).__name__
        attempt = self._queue.num_requeues(request)
        # A repeated failure is reported at the 1st, 2nd, 4th, 8th ... attempt.
        again = not self._is_news(request, kind, str(error))
        if again and (attempt == 0 or attempt & (attempt - 1)):
            return
        fields: dict[str, Any] = {"error": kind, "message": str(error), "attempt": attempt}
        if isinstance(error, (ApiError, Transient, TerminalError, LeaseLost)):
            log.warning("reconcile failed", **fields)
        else:
            log.error("reconcile failed", exc_info=error, **fields)

    def _is_news(self, request: Request, kind: str, message: str) -> bool:
        line = (kind, message)
        if self._last.get(request) == line:
            return False
        self._last[request] = line
        return True


def _current_task() -> Worker:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a controller needs a running task")
    return task
