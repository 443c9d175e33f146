"""A store that a reflector keeps current, and handlers that receive every change.

Called by controllers (as a source of events and a cache to read) and by owned apply (observe). One
informer per selection serves all its users; runtime.cache.informers creates them.

Handlers get a change before the next line of the watch is read. A handler that raises has lost an
event, which ends `run` and the process. A new list enters the store in one step, but handlers get
it in slices: the store can then be ahead of them, never behind. `runtime.cache.stored` has the rest
of the contract.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn

from runtime.backoff import NEW_KIND_LADDER
from runtime.cache.reflector import Reflector
from runtime.cache.resync import Resync
from runtime.cache.selection import Selection
from runtime.cache.store import StoreChange, same_state
from runtime.cache.stored import EventHandler, StoredObjects, dispatch
from runtime.cache.watch import Mirror, Remove, Replace, Upsert, WatchProgress
from runtime.client.client import Client
from runtime.clock import Clock, Deadline, yield_to_loop
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey, key_of

__all__ = ["Informer", "InformerOptions", "Selection"]


@dataclass(frozen=True, slots=True)
class InformerOptions:
    """How an informer mirrors its selection.

    watch_list requests streamed lists (WatchList) if the server supports them. resync is the period
    in seconds in which a handler gets all objects again, None for never; a handler may request
    another period. The start of the process does not wait for an optional informer, and health
    checks ignore it: its kind need not exist. kind_exists: its kind was reported to exist, so a
    refused list is retried within seconds.
    """

    watch_list: bool = True
    resync: float | None = None
    optional: bool = False
    kind_exists: bool = False


DEFAULT = InformerOptions()

SLICE = 256
"""Changes of a new list that are delivered before other tasks run."""


class Informer(StoredObjects):
    """Mirrors one selection; it can be read at any time after `synced`.

    An object that is not here may exist without being selected: an object whose labels changed
    leaves a selection by labels as if it had been deleted.
    """

    def __init__(
        self,
        client: Client,
        selection: Selection,
        *,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        options: InformerOptions = DEFAULT,
    ) -> None:
        super().__init__(selection, metrics)
        self._client = client
        self._metrics = metrics
        self._clock = clock
        self._rng = rng
        self._options = options
        self._undelivered: deque[tuple[tuple[EventHandler, ...], StoreChange, bool]] = deque()
        self._synced = asyncio.Event()
        self._created_at = clock.monotonic()
        self._resyncs: list[Resync] = []
        self._group: asyncio.TaskGroup | None = None
        self._when_synced: list[Callable[[], None]] = []
        self._reflector = self._new_reflector()
        metrics.register_informer(selection.resource.plural)

    @property
    def optional(self) -> bool:
        """True if the start of the process does not wait for it."""
        return self._options.optional

    @property
    def synced(self) -> bool:
        """True once the first list is in the store and was delivered to every handler."""
        return self._synced.is_set()

    @property
    def resource_version(self) -> str:
        """The last resourceVersion from the server; the store has this version or a newer one."""
        return self._store.resource_version

    async def wait_synced(self, timeout: float) -> None:  # noqa: ASYNC109 - on our own clock
        """Wait for `synced`, at most `timeout` seconds; return immediately if optional.

        Raises TimeoutError, naming the selection and the last error of the reflector.
        """
        if self.optional:
            return
        try:
            async with Deadline(self._clock, timeout):
                await self._synced.wait()
        except TimeoutError as error:
            reason = self._reflector.last_error or "no answer yet"
            text = f"{self.selection} not synced after {timeout:g} s: {reason}"
            raise TimeoutError(text) from error

    async def run(self) -> NoReturn:
        """Mirror until cancelled. An exception is a bug and should end the process."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for resync in self._resyncs:
                    self._start(group, resync)
                await self._reflector.run(self._mirror, self._settle)
        except ExceptionGroup as crash:
            raise crash.exceptions[0] from crash
        finally:
            self._group = None

    def add_handler(self, handler: EventHandler, *, resync: float | None = None) -> None:
        """Call handler for every later change, after an initial add for each cached object.

        It gets each object again every `resync` seconds, by default the period of the options.
        Raises ValueError for less than a second.
        """
        period = self._options.resync if resync is None else resync
        if period is not None:
            registration = Resync(
                self._store,
                handler,
                period,
                clock=self._clock,
                rng=self._rng,
                busy=lambda: bool(self._undelivered),
            )
            self._resyncs.append(registration)
            if self._group is not None:
                self._start(self._group, registration)
        super().add_handler(handler)

    def when_synced(self, call: Callable[[], None]) -> None:
        """Call `call` each time the informer becomes synced."""
        self._when_synced.append(call)

    def forget(self) -> None:
        """Reset to the state before the first list; handlers get a delete of every object.

        Call it only while `run` is not running, or after it was cancelled.
        """
        self._tell_next(len(self._undelivered))
        self._synced.clear()
        self._tell(self._store.replace((), ""))
        # The resourceVersion of the old reflector may no longer be valid.
        self._reflector = self._new_reflector()

    def observe(self, obj: Object) -> None:
        """Read your writes: store the response to an apply before its watch event arrives.

        The handlers get the change now (during a new list: after it), and not again with the event;
        older events that arrive later are ignored. A response that is older than the store is
        ignored, and so is an object that is not selected.
        """
        if self.synced and self.selection.matches(obj):
            self._tell(self._store.observe(self.selection.shape(obj, self._reduce)))

    def may_hide(self, key: ObjectKey) -> bool:
        """Always true: an object that is not in the cache may exist without being selected."""
        return True

    def invalidate(self, key: ObjectKey) -> None:
        """Nothing to do: the watch corrects the state."""

    def last_event_age(self) -> float:
        """Seconds since the server last sent anything, bookmarks included."""
        last = self._reflector.last_contact
        return self._clock.monotonic() - (self._created_at if last is None else last)

    def healthy(self, max_age: float) -> str | None:
        """None, or an error if the server sent nothing for more than max_age seconds."""
        age = self.last_event_age()
        return f"no event of {self.selection} for {age:.0f} s" if age > max_age else None

    def _new_reflector(self) -> Reflector:
        reflector = Reflector(
            self._client,
            self.selection,
            clock=self._clock,
            rng=self._rng,
            metrics=self._metrics,
            watch_list=self._options.watch_list,
        )
        reflector.reduce_by(self._reduce_new)
        if self._options.kind_exists:
            reflector.retry_by(NEW_KIND_LADDER)
        return reflector

    def _reduce_new(self, obj: Object) -> Object:
        """Reduce an object from the server; one from our own write is already reduced."""
        stored = self._store.get(key_of(obj))
        return stored if stored is not None and same_state(stored, obj) else self._reduce(obj)

    def _start(self, group: asyncio.TaskGroup, resync: Resync) -> None:
        async def begin() -> None:
            await self._synced.wait()
            await resync.run()

        group.create_task(begin(), name=f"resync {self.selection}")

    def _take_in(self, effect: Mirror) -> None:
        """Mirror one effect, and deliver all its changes."""
        self._mirror(effect)
        self._tell_next(len(self._undelivered))
        if isinstance(effect, Replace):
            self._mark_synced()

    def _mirror(self, effect: Mirror) -> None:
        match effect:
            case Upsert(obj):
                self._tell(self._store.upsert(obj))
            case Remove(obj):
                self._tell(self._store.remove(obj))
            case WatchProgress(version):
                self._store.advance(version)
            case Replace(items, version):
                self._queue(self._store.replace(items, version))

    async def _settle(self) -> None:
        """Deliver a new list slice by slice; later changes are delivered after it."""
        while self._undelivered:
            self._tell_next(SLICE)
            await yield_to_loop()
        self._mark_synced()

    def _mark_synced(self) -> None:
        if self.synced:
            return
        self._synced.set()
        for call in self._when_synced:
            call()

    def _tell(self, changes: Iterable[StoreChange]) -> None:
        behind = bool(self._undelivered)
        self._queue(changes)
        if not behind:
            self._tell_next(len(self._undelivered))

    def _queue(self, changes: Iterable[StoreChange]) -> None:
        self._update_count()
        initial = not self.synced
        self._undelivered.extend((self._handlers, change, initial) for change in changes)

    def _tell_next(self, count: int) -> None:
        for _ in range(min(count, len(self._undelivered))):
            handlers, change, initial = self._undelivered.popleft()
            for handler in handlers:
                dispatch(handler, change, initial)
