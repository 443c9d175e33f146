"""Reports every change of one selection of objects.

The loop around runtime.cache.watch: it converts responses and errors to frames, delivers the
effects that concern objects, and implements the deadlines and the backoff. Called by the informer.

If the server supports it, the list is streamed at the start of the watch (WatchList, KEP-3157):
each object is decoded and reduced separately, so that a large collection does not block the event
loop and is never in memory unreduced. The list is collected here, outside of the store, and
replaces the content of the store in one step once it is complete.

Every expected failure (an ApiError, no response, a broken or silent stream) is retried forever; any
other exception is a bug, is raised by `run` and ends the process.
"""

import random
from collections.abc import Awaitable, Callable
from typing import NoReturn

import structlog
from prometheus_client import Counter

from runtime.backoff import REFUSED_LADDER, UNREACHABLE_LADDER, Backoff, Ladder
from runtime.cache.selection import Selection
from runtime.cache.watch import (
    Complete,
    Discard,
    Effect,
    Failed,
    Forget,
    Frame,
    Gather,
    ListResult,
    Mirror,
    Pause,
    Phase,
    Replace,
    Rest,
    SilentStreamError,
    Skip,
    WatchEnded,
    WatchEvent,
    WatchStarted,
    start,
    step,
)
from runtime.client.client import Client, WatchOptions
from runtime.client.codec import decode_event
from runtime.client.listing import ListOptions, Shape
from runtime.clock import Clock, Deadline, yield_to_loop
from runtime.errors import ApiError, TransportError
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey

WATCH_SECONDS = (300, 600)
"""Range of timeoutSeconds, random for each watch, so that many of them do not end together."""

WATCH_GRACE_SECONDS = 30.0
"""How long after its timeoutSeconds a watch may last before we end it."""

IDLE_SECONDS = 100.0
"""Idle timeout of a watch. Bookmarks arrive about once a minute; HTTP/1.1 has no ping, and a
half-open connection stays silent forever. Without bookmarks the watch is reopened each time."""

COLLECT_IDLE_SECONDS = 15.0
"""Idle timeout of a streamed list. A server that supports such lists is silent only while its cache
catches up with etcd, for seconds at most."""

LIST_PAGE = 250
"""Objects per page of a list that is not streamed."""

SLICE = 64
"""Buffered events that are handled before other tasks run."""

_OBJECT_EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED"})
_STREAMING = frozenset({Phase.COLLECT, Phase.STREAM})
_SNAPSHOT = frozenset({Phase.SNAPSHOT, Phase.COLLECT})

log = structlog.get_logger(__name__)


class Reflector:
    """Mirrors one selection.

    last_contact is the monotonic time at which the server last sent data, None before that;
    last_error is the current error, None without one.
    """

    def __init__(
        self,
        client: Client,
        selection: Selection,
        *,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        watch_list: bool = True,
    ) -> None:
        self._client = client
        self._selection = selection
        self._clock = clock
        self._rng = rng
        self._metrics = metrics
        self._refusal_backoff = Backoff(clock, rng, REFUSED_LADDER)
        self._unreachable_backoff = Backoff(clock, rng, UNREACHABLE_LADDER)
        self._state = start(watch_list=watch_list)
        self._reduce = selection.reducer()
        self._snapshot: dict[ObjectKey, Object] = {}
        self._counts: dict[str, Counter] = {}
        self._deliver: Callable[[Mirror], None]
        self._replaced = False
        self._pause: Pause | Rest | None = None
        self._log = log.bind(selection=str(selection))
        self.last_contact: float | None = None
        self.last_error: ApiError | TransportError | None = None

    def reduce_by(self, reduce: Shape) -> None:
        """Set the function that reduces objects for the store; before `run`."""
        self._reduce = reduce

    def retry_by(self, ladder: Ladder) -> None:
        """Set the backoff after an error response; before `run`."""
        self._refusal_backoff = Backoff(self._clock, self._rng, ladder)

    async def run(
        self, deliver: Callable[[Mirror], None], settle: Callable[[], Awaitable[None]]
    ) -> NoReturn:
        """List, then watch, and continue after each failure; never returns.

        deliver is called with each effect and must not block. After a Replace, settle is awaited
        before anything else is delivered, because ten thousand changes in one step would block the
        event loop.
        """
        self._deliver = deliver
        while True:
            try:
                if self._state.phase is Phase.LIST:
                    await self._list()
                else:
                    await self._watch(settle)
            except (ApiError, TransportError) as error:
                self._feed(Failed(self._clock.monotonic(), error))
            if self._replaced:
                await self._settle(settle)
            if self._pause is not None:
                await self._clock.sleep(self._delay(self._pause))
                self._pause = None

    async def _list(self) -> None:
        selection = self._selection
        options = ListOptions(
            label_selector=selection.label_selector,
            field_selector=selection.field_selector,
            limit=LIST_PAGE,
            metadata_only=selection.metadata_only,
            transform=self._reduce,
            bounds=selection.bounds,
        )
        answer = await self._client.list(selection.resource, selection.namespace, options=options)
        if not answer.resource_version:
            # A watch without a version starts with all objects, in no order.
            raise TransportError("the list has no resourceVersion")
        self._touch()
        self._feed(ListResult(answer.items, answer.resource_version))

    async def _settle(self, settle: Callable[[], Awaitable[None]]) -> None:
        self._replaced = False
        await settle()

    async def _watch(self, settle: Callable[[], Awaitable[None]]) -> None:
        seconds = self._rng.randint(*WATCH_SECONDS)
        end = self._clock.monotonic() + seconds + WATCH_GRACE_SECONDS
        selection, options = self._selection, self._watch_options(seconds)
        try:
            async with (
                Deadline(self._clock, self._idle_timeout) as idle,
                self._client.watch(selection.resource, selection.namespace, options) as lines,
            ):
                self._feed(WatchStarted(self._touch()))
                handled = 0
                async for line in lines:
                    contact = self._touch()
                    self._feed(self._decode(line))
                    # After the event: the bookmark that ends a list selects the timeout of a watch.
                    idle.move(min(contact + self._idle_timeout, end))
                    if self._state.phase not in _STREAMING:
                        return
                    if self._replaced:
                        await self._settle(settle)
                    handled += 1
                    if handled % SLICE == 0:
                        await yield_to_loop()
        except TimeoutError as error:
            raise SilentStreamError("the watch timed out: no data") from error
        self._feed(WatchEnded(self._clock.monotonic()))

    def _watch_options(self, seconds: int) -> WatchOptions:
        selection, snapshot = self._selection, self._state.phase is Phase.SNAPSHOT
        return WatchOptions(
            # A streamed list starts at the most recent state, see runtime.cache.watch.
            resource_version="" if snapshot else self._state.resource_version,
            timeout_seconds=seconds,
            label_selector=selection.label_selector,
            field_selector=selection.field_selector,
            metadata_only=selection.metadata_only,
            send_initial_events=snapshot,
        )

    @property
    def _idle_timeout(self) -> float:
        return COLLECT_IDLE_SECONDS if self._state.phase in _SNAPSHOT else IDLE_SECONDS

    def _decode(self, line: bytes) -> WatchEvent:
        kind, obj = decode_event(line, self._selection.resource, self._selection.bounds)
        count = self._counts.get(kind)
        if count is None:
            plural = self._selection.resource.plural
            count = self._counts[kind] = self._metrics.watch_events_total.labels(plural, kind)
        count.inc()
        return WatchEvent(kind, self._reduce(obj) if kind in _OBJECT_EVENTS else obj)

    def _feed(self, frame: Frame) -> None:
        if isinstance(frame, Failed):
            self._report(frame.error)
        elif self.last_error is not None and _is_good(frame):
            self._log.info("watch recovered")
            self.last_error = None
        before, (self._state, effects) = self._state, step(self._state, frame)
        if before.streams and not self._state.streams:
            self._log.info("the server does not stream lists", reason=str(self.last_error))
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Gather(key, obj):
                self._snapshot[key] = obj
            case Forget(key):
                self._snapshot.pop(key, None)
            case Discard():
                self._snapshot = {}
            case Complete(version, reason):
                items, self._snapshot = list(self._snapshot.values()), {}
                self._perform(Replace(items, version, reason))
            case Pause(error):
                self._pause = effect
                if error is not None:
                    self._report(error)
            case Rest():
                self._pause = effect
            case Skip(kind):
                self._log.warning("watch event skipped", type=kind)
            case Replace(_, _, reason):
                self._metrics.informer_relists_total.labels(
                    self._selection.resource.plural, reason
                ).inc()
                self._replaced = True
                self._deliver(effect)
            case _:
                self._deliver(effect)

    def _touch(self) -> float:
        """Record that the server sent data; return the monotonic time."""
        self.last_contact = self._clock.monotonic()
        return self.last_contact

    def _delay(self, pause: Pause | Rest) -> float:
        if isinstance(pause, Rest):
            return pause.seconds
        if isinstance(pause.error, TransportError):
            return self._unreachable_backoff.delay()
        retry_after = pause.error.retry_after if pause.error is not None else None
        return max(self._refusal_backoff.delay(), retry_after or 0.0)

    def _report(self, error: ApiError | TransportError) -> None:
        # One line per class of error: in an outage every informer fails many times a minute.
        if type(error) is not type(self.last_error):
            self._log.warning("watch interrupted", error=type(error).__name__, reason=str(error))
        self.last_error = error


def _is_good(frame: Frame) -> bool:
    return isinstance(frame, ListResult) or (
        isinstance(frame, WatchEvent) and frame.kind != "ERROR"
    )
