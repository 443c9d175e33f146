"""Tells everything that becomes of one selection of objects, for as long as it runs.

The loop around runtime.watch: it turns answers and errors into frames, passes on the effects that
concern objects, and knows the deadlines and the backoff. Called by the informer.

Every expected failure (an ApiError, no answer, a torn or silent stream) is retried for ever;
anything else is a bug, leaves `run` as it is and ends the process.
"""

import random
from collections.abc import Callable
from typing import NoReturn

import structlog

from runtime.client import Client, ListOptions, WatchOptions
from runtime.clock import Clock, Deadline, yield_to_loop
from runtime.codec import decode_event
from runtime.errors import ApiError, TransportError
from runtime.metrics import Metrics
from runtime.selection import Selection
from runtime.watch import (
    Effect,
    Ended,
    Event,
    Failed,
    Frame,
    Listed,
    Mirror,
    Opened,
    Pause,
    Phase,
    Replace,
    Skip,
    State,
    step,
)

WATCH_SECONDS = (300, 600)
"""Range of timeoutSeconds, drawn for each watch so that many of them do not end together."""

WATCH_GRACE_SECONDS = 30.0
"""How much longer than it was asked to a watch may last before we end it."""

IDLE_SECONDS = 100.0
"""Longest silence on a watch. Bookmarks come about once a minute; HTTP/1.1 has no ping, and a
half-open connection is silent for ever. Costs one re-opened watch where there are no bookmarks."""

LIST_PAGE = 250
"""Objects per page: decoding 500 large ones holds the event loop for 60 ms."""

SLICE = 64
"""Buffered events handled before other tasks get their turn."""

_OBJECT_EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED"})

log = structlog.get_logger(__name__)


class Backoff:
    """Delays that double from initial to cap, each with up to 100 % jitter, in seconds.

    The ladder starts anew when it was not needed for calm seconds. Constants of client-go's
    reflector: 0.8, 30, 120.
    """

    def __init__(
        self, clock: Clock, rng: random.Random, ladder: tuple[float, float, float]
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._initial, self._cap, self._calm = ladder
        self._next = self._initial
        self._used_until = clock.monotonic()

    def delay(self) -> float:
        """How long to wait now; the next one will be longer."""
        now = self._clock.monotonic()
        if now - self._used_until > self._calm:
            self._next = self._initial
        delay = self._next * (1.0 + self._rng.random())
        self._next = min(self._next * 2.0, self._cap)
        self._used_until = now + delay
        return delay


REFUSED_LADDER = (0.8, 15.0, 120.0)
"""The server answers, and the answer is an error: do not add to its troubles. 30 s at most."""

UNREACHABLE_LADDER = (0.1, 1.5, 10.0)
"""Nobody answers: asking costs nobody anything, and the moment it is back is worth catching."""


class Reflector:
    """Mirrors one selection; `run` is its only verb.

    deliver is called with each effect right after it was decided, and may not await.
    last_contact is the monotonic time at which the server last spoke to us, None before it did;
    last_error is why it does not at the moment, None while all is well.
    """

    def __init__(
        self,
        client: Client,
        selection: Selection,
        deliver: Callable[[Mirror], None],
        *,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
    ) -> None:
        self._client = client
        self._selection = selection
        self._deliver = deliver
        self._clock = clock
        self._rng = rng
        self._metrics = metrics
        self._refused = Backoff(clock, rng, REFUSED_LADDER)
        self._unreachable = Backoff(clock, rng, UNREACHABLE_LADDER)
        self._state = State()
        self._pause: Pause | None = None
        self._log = log.bind(selection=str(selection))
        self.last_contact: float | None = None
        self.last_error: ApiError | TransportError | None = None

    async def run(self) -> NoReturn:
        """List, then watch, and start over from wherever the last frame left us; never returns."""
        while True:
            try:
                if self._state.phase is Phase.LIST:
                    await self._list()
                else:
                    await self._watch()
            except (ApiError, TransportError) as error:
                self._feed(Failed(self._clock.monotonic(), error))
            if self._pause is not None:
                await self._clock.sleep(self._delay(self._pause))
                self._pause = None

    async def _list(self) -> None:
        chosen = self._selection
        options = ListOptions(
            label_selector=chosen.label_selector,
            field_selector=chosen.field_selector,
            limit=LIST_PAGE,
            metadata_only=chosen.metadata_only,
            transform=chosen.transform,
        )
        answer = await self._client.list(chosen.resource, chosen.namespace, options=options)
        self._touch()
        self._feed(Listed(answer.items, answer.resource_version))

    async def _watch(self) -> None:
        chosen = self._selection
        seconds = self._rng.randint(*WATCH_SECONDS)
        options = WatchOptions(
            resource_version=self._state.resource_version,
            timeout_seconds=seconds,
            label_selector=chosen.label_selector,
            field_selector=chosen.field_selector,
            metadata_only=chosen.metadata_only,
        )
        end = self._clock.monotonic() + seconds + WATCH_GRACE_SECONDS
        try:
            async with (
                Deadline(self._clock, IDLE_SECONDS) as idle,
                self._client.watch(chosen.resource, chosen.namespace, options) as lines,
            ):
                self._feed(Opened(self._touch()))
                handled = 0
                async for line in lines:
                    idle.move(min(self._touch() + IDLE_SECONDS, end))
                    self._feed(self._decoded(line))
                    if self._state.phase is not Phase.STREAM:
                        return
                    handled += 1
                    if handled % SLICE == 0:
                        await yield_to_loop()
        except TimeoutError as error:
            raise TransportError("the watch fell silent") from error
        self._feed(Ended(self._clock.monotonic()))

    def _decoded(self, line: bytes) -> Event:
        kind, obj = decode_event(line, self._selection.resource)
        plural = self._selection.resource.plural
        self._metrics.watch_events_total.labels(resource=plural, type=kind).inc()
        return Event(kind, self._selection.transform(obj) if kind in _OBJECT_EVENTS else obj)

    def _feed(self, frame: Frame) -> None:
        if isinstance(frame, Failed):
            self._report(frame.error)
        elif isinstance(frame, Listed | Event) and self.last_error is not None:
            self._log.info("watch recovered")
            self.last_error = None
        self._state, effects = step(self._state, frame)
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Pause():
                self._pause = effect
                return
            case Skip(kind):
                self._log.warning("watch event skipped", type=kind)
                return
            case Replace(_, _, reason):
                self._metrics.informer_relists_total.labels(
                    resource=self._selection.resource.plural, reason=reason
                ).inc()
        self._deliver(effect)

    def _touch(self) -> float:
        """Note that the server has just spoken to us; the moment, in monotonic seconds."""
        self.last_contact = self._clock.monotonic()
        return self.last_contact

    def _delay(self, pause: Pause) -> float:
        if isinstance(pause.error, TransportError):
            return self._unreachable.delay()
        asked = pause.error.retry_after if pause.error is not None else None
        return max(self._refused.delay(), asked or 0.0)

    def _report(self, error: ApiError | TransportError) -> None:
        # One line per kind of trouble: an outage fails every informer many times a minute.
        if type(error) is not type(self.last_error):
            self._log.warning("watch interrupted", error=type(error).__name__, reason=str(error))
        self.last_error = error
