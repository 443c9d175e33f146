"""A cache without a watch: it reads objects one by one, by name.

For clients that may get single objects but neither list nor watch them. It has the interface of an
informer (runtime.cache.cache): handlers get the changes that a read finds. The caller decides what
is read, and how often (`refresh`); it also caches that an object does not exist.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from runtime.cache.selection import Selection
from runtime.cache.store import StoreChange
from runtime.cache.stored import StoredObjects, dispatch
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import NotFound
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey, key_of

JITTER = 0.1
"""The maximum age of each entry varies by this fraction, so that reads are spread over time."""

DOUBTED = float("-inf")
"""The time of the last read of an invalidated name: the next refresh always reads it."""


@dataclass(slots=True)
class _Entry:
    """The last response for a name: in the store, excluded from it, or NotFound."""

    fetched_at: float
    jitter: float
    excluded: bool = False
    """An object of that name exists that the selection excludes."""
    writes: int = 0
    """Counts our own writes, so that a response from before one of them is dropped."""


class PolledMirror(StoredObjects):
    """Objects of one kind by name; runtime.cache.cache describes the methods.

    Guarantees: concurrent reads of a name share one request; a response that was in flight while we
    wrote the object is dropped. A name that was never read is treated as absent.
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
        super().__init__(selection, metrics)
        self._client = client
        self._clock = clock
        self._rng = rng
        self._entries: dict[ObjectKey, _Entry] = {}
        self._reads: dict[ObjectKey, asyncio.Task[None]] = {}

    # Reading ----------------------------------------------------------------------------------

    async def wait_synced(self, timeout: float, /) -> None:  # noqa: ASYNC109 - of the protocol
        """Return immediately: there is no initial list."""

    def is_known(self, key: ObjectKey) -> bool:
        """Whether this name was read."""
        return key in self._entries

    # Refresh ----------------------------------------------------------------------------------

    async def refresh(self, keys: Iterable[ObjectKey], max_age: float) -> None:
        """Read the names that were not read in the last max_age seconds.

        They are read in parallel. Raises the first error of the API, after all responses.
        """
        now = self._clock.monotonic()
        tasks = [self._read(key) for key in dict.fromkeys(keys) if self._is_due(key, now, max_age)]
        if tasks:
            await asyncio.wait(tasks)
            for task in tasks:
                task.result()

    def may_hide(self, key: ObjectKey) -> bool:
        """Whether an object that is not in the cache may exist.

        True for one that the selection excludes, and for an invalidated name.
        """
        entry = self._entries.get(key)
        return entry is not None and (entry.excluded or entry.fetched_at == DOUBTED)

    def observe(self, obj: Object) -> None:
        """Store the response to a write of our own, as if it had been read now."""
        key = key_of(obj)
        if not self.selection.matches(obj):
            return
        entry = self._note(key)
        entry.writes += 1
        entry.excluded = False
        self._tell(self._store.upsert(self.selection.shape(obj, self._reduce)))

    def invalidate(self, key: ObjectKey) -> None:
        """Read this name at the next refresh, whatever its age."""
        entry = self._entries.get(key)
        if entry is None:
            # The name was never read: only an entry makes may_hide return true.
            self._entries[key] = _Entry(DOUBTED, 1.0)
        else:
            entry.fetched_at = DOUBTED

    def forget(self, keys: Iterable[ObjectKey]) -> None:
        """Drop these names; handlers get deletes of their objects."""
        for key in keys:
            self._entries.pop(key, None)
            stored = self._store.get(key)
            if stored is not None:
                self._tell(self._store.remove(stored))

    # Optional kinds ---------------------------------------------------------------------------

    @property
    def synced(self) -> bool:
        """Always true: there is no initial list."""
        return True

    def when_synced(self, call: Callable[[], None]) -> None:
        """Nothing to call: it is always synced."""

    def enable(self) -> None:
        """Nothing to start: `refresh` reads."""

    def disable(self) -> None:
        """Drop all objects."""
        self.forget(tuple(self._entries))

    # ------------------------------------------------------------------------------------------

    def _is_due(self, key: ObjectKey, now: float, max_age: float) -> bool:
        entry = self._entries.get(key)
        return entry is None or now - entry.fetched_at >= max_age * entry.jitter

    def _read(self, key: ObjectKey) -> asyncio.Task[None]:
        task = self._reads.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._fetch(key), name=f"get {key}")
            self._reads[key] = task
            task.add_done_callback(lambda done: self._end_read(key, done))
        return task

    def _end_read(self, key: ObjectKey, task: asyncio.Task[None]) -> None:
        self._reads.pop(key, None)
        if not task.cancelled():
            # If the callers were cancelled, no other code retrieves the exception.
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
        now, jitter = self._clock.monotonic(), self._rng.uniform(1.0 - JITTER, 1.0 + JITTER)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(now, jitter)
        else:
            entry.fetched_at, entry.jitter = now, jitter
        return entry

    def _tell(self, changes: Iterable[StoreChange]) -> None:
        self._update_count()
        for change in changes:
            for handler in self._handlers:
                dispatch(handler, change, initial=False)
