"""A cache without a watch: it reads objects one by one, by name.

For clients that may get single objects but neither list nor watch them. It has the interface of an
informer (runtime.cache.cache): the same handlers get changes, when a read finds them. The caller
decides what is read, and how often (`refresh`); that an object does not exist is an answer too.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from runtime.cache.informer import EventHandler, pass_on
from runtime.cache.selection import Selection
from runtime.cache.store import IndexFunction, Store, StoreChange
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import NotFound
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey, key_of

JITTER = 0.1
"""Each answer is valid that part shorter or longer: names read together drift apart."""

DOUBTED = float("-inf")
"""When a name in doubt was read: it is due, whatever the maximum age."""

Objects = list[Object]


@dataclass(slots=True)
class _Entry:
    """The last answer about a name: in the store, excluded from it, or NotFound."""

    fetched_at: float
    stretch: float
    excluded: bool = False
    """There is an object of that name that the selection excludes."""
    writes: int = 0
    """Counts our own writes, so that an answer from before one of them is dropped."""


class PolledMirror:
    """Objects of one kind by name; see runtime.cache.cache for what the methods mean.

    Guarantees: two callers that read the same name at the same time cost one request; an answer
    in flight while we wrote that object ourselves is dropped; a name that was never read is not
    known to be absent, but reads as if it were.
    """

    def __init__(
        self,
        client: Client,
        selection: Selection,
        *,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
    ) -> None:
        self.selection = selection
        self._reduce = selection.reducer()
        self._client = client
        self._clock = clock
        self._rng = rng
        self._store = Store()
        self._handlers: tuple[EventHandler, ...] = ()
        self._entries: dict[ObjectKey, _Entry] = {}
        self._asking: dict[ObjectKey, asyncio.Task[None]] = {}
        self._counted = 0
        self._count = metrics.informer_objects.labels(resource=selection.resource.plural)

    # Reading ----------------------------------------------------------------------------------

    def get(self, key: ObjectKey) -> Object | None:
        """The object as last seen, read-only."""
        return self._store.get(key)

    def list(self, namespace: str | None = None) -> Objects:
        """All objects that were found, or those of one namespace."""
        return self._store.select(namespace)

    def by_index(self, name: str, value: str) -> Objects:
        """The objects for which the index function yields value; KeyError without that index."""
        return self._store.by_index(name, value)

    def add_index(self, name: str, fn: IndexFunction) -> None:
        """Make by_index(name, value) answer."""
        self._store.add_index(name, fn)

    def add_handler(self, handler: EventHandler, /) -> None:
        """Call handler for every change from now on, after an initial add for all that is here."""
        for obj in self._store.select():
            handler.on_add(obj, initial=True)
        self._handlers = (*self._handlers, handler)

    async def wait_synced(self, timeout: float, /) -> None:  # noqa: ASYNC109 - of the protocol
        """Return at once: there is nothing to wait for before a read."""

    def is_known(self, key: ObjectKey) -> bool:
        """Whether this name was read, and has an answer."""
        return key in self._entries

    # Asking -----------------------------------------------------------------------------------

    async def refresh(self, keys: Iterable[ObjectKey], max_age: float) -> None:
        """Read the names of which the answer is older than max_age seconds, or missing.

        All are read at the same time. Raises the first of the API's errors, after all answers.
        """
        now = self._clock.monotonic()
        tasks = [self._ask(key) for key in dict.fromkeys(keys) if self._is_due(key, now, max_age)]
        if tasks:
            await asyncio.wait(tasks)
            for task in tasks:
                task.result()

    def may_hide(self, key: ObjectKey) -> bool:
        """Whether an object may exist that is not in here.

        One that the selection excludes does; a name in doubt may be one.
        """
        entry = self._entries.get(key)
        return entry is not None and (entry.excluded or entry.fetched_at == DOUBTED)

    def observe(self, obj: Object) -> None:
        """Store the answer to a write of our own, as if it had been read now."""
        key = key_of(obj)
        if not self.selection.matches(obj):
            return
        entry = self._note(key)
        entry.writes += 1
        entry.excluded = False
        self._tell(self._store.upsert(self.selection.shape(obj, self._reduce)))

    def doubt(self, key: ObjectKey) -> None:
        """Read this name at the next refresh, whatever is known of it."""
        entry = self._entries.get(key)
        if entry is None:
            # Not read so far; from now on it is.
            self._entries[key] = _Entry(DOUBTED, 1.0)
        else:
            entry.fetched_at = DOUBTED

    def forget(self, keys: Iterable[ObjectKey]) -> None:
        """Drop the answers about these names; handlers get a delete of the objects."""
        for key in keys:
            self._entries.pop(key, None)
            stored = self._store.get(key)
            if stored is not None:
                self._tell(self._store.remove(stored))

    # A kind that comes and goes ---------------------------------------------------------------

    @property
    def synced(self) -> bool:
        """Always: nothing is missing before a read."""
        return True

    def when_synced(self, call: Callable[[], None]) -> None:
        """Nothing to call: it always is."""

    def wake(self) -> None:
        """Nothing to begin: a refresh begins."""

    def rest(self) -> None:
        """Forget all objects."""
        self.forget(tuple(self._entries))

    # ------------------------------------------------------------------------------------------

    def _is_due(self, key: ObjectKey, now: float, max_age: float) -> bool:
        entry = self._entries.get(key)
        return entry is None or now - entry.fetched_at >= max_age * entry.stretch

    def _ask(self, key: ObjectKey) -> asyncio.Task[None]:
        task = self._asking.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._fetch(key), name=f"get {key}")
            self._asking[key] = task
            task.add_done_callback(lambda done: self._fetched(key, done))
        return task

    def _fetched(self, key: ObjectKey, task: asyncio.Task[None]) -> None:
        self._asking.pop(key, None)
        if not task.cancelled():
            # The waiting callers may be gone by now: then no other code reads it.
            task.exception()

    async def _fetch(self, key: ObjectKey) -> None:
        before = self._entries.get(key)
        writes = before.writes if before else 0
        started = self._clock.monotonic()
        try:
            live: Object | None = await self._client.get(
                self.selection.resource, key, metadata_only=self.selection.metadata_only
            )
        except NotFound:
            live = None
        entry = self._entries.get(key)
        if entry is not None and entry.writes != writes:
            return
        entry = self._note(key)
        entry.fetched_at = started
        self._take_in(key, live, entry)

    def _take_in(self, key: ObjectKey, live: Object | None, entry: _Entry) -> None:
        ours = live is not None and self.selection.matches(live)
        entry.excluded = live is not None and not ours
        if live is not None and ours:
            self._tell(self._store.upsert(self._reduce(live)))
            return
        stored = self._store.get(key)
        if stored is not None:
            self._tell(self._store.remove(stored))

    def _note(self, key: ObjectKey) -> _Entry:
        now, stretch = self._clock.monotonic(), self._rng.uniform(1.0 - JITTER, 1.0 + JITTER)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(now, stretch)
        else:
            entry.fetched_at, entry.stretch = now, stretch
        return entry

    def _tell(self, changes: Iterable[StoreChange]) -> None:
        self._count.inc(len(self._store) - self._counted)
        self._counted = len(self._store)
        for change in changes:
            for handler in self._handlers:
                pass_on(handler, change, initial=False)
