"""A cache that nobody tells anything: it asks for objects one by one, by name.

For whoever may read single objects but neither list nor watch them. It has the face of an informer
(runtime.cache.cache): the same handlers hear of changes, when a look finds them. What is looked at,
and how often, is the caller's to say (`refresh`); that there is no such object is an answer too.
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
"""Each answer is believed that part shorter or longer: what was asked together drifts apart."""

DOUBTED = float("-inf")
"""When a name in doubt was asked for: it is due, however patient the caller."""

Objects = list[Object]


@dataclass(slots=True)
class _Known:
    """What the last answer about a name was: in the store, beside it, or that there is none."""

    asked: float
    stretch: float
    beside: bool = False
    """There is an object of that name that the selection leaves out."""
    told: int = 0
    """Counts our own writes, so that an answer from before one of them is told from later ones."""


class PolledMirror:
    """Objects of one kind by name; see runtime.cache.cache for what the methods mean.

    Guarantees: two callers that want the same name at the same time cost one request; an answer
    that was on its way while we wrote that object ourselves is dropped; a name that was never
    asked for is not known to be absent, but reads as if it were.
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
        self._known: dict[ObjectKey, _Known] = {}
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
        """Tell handler of every change from now on, after an initial add for all that is here."""
        for obj in self._store.select():
            handler.on_add(obj, initial=True)
        self._handlers = (*self._handlers, handler)

    async def wait_synced(self, timeout: float, /) -> None:  # noqa: ASYNC109 - of the protocol
        """Return at once: there is nothing to wait for before somebody asks."""

    def is_known(self, key: ObjectKey) -> bool:
        """Whether this name was asked for, and has an answer."""
        return key in self._known

    # Asking -----------------------------------------------------------------------------------

    async def refresh(self, keys: Iterable[ObjectKey], max_age: float) -> None:
        """Ask for those names of which the answer is older than max_age seconds, or missing.

        All are asked at the same time. Raises the first of the API's errors, after all answers.
        """
        now = self._clock.monotonic()
        tasks = [self._ask(key) for key in dict.fromkeys(keys) if self._is_due(key, now, max_age)]
        if tasks:
            await asyncio.wait(tasks)
            for task in tasks:
                task.result()

    def may_hide(self, key: ObjectKey) -> bool:
        """Whether an object may exist that is not in here.

        One that the selection leaves out does; a name in doubt may be one.
        """
        known = self._known.get(key)
        return known is not None and (known.beside or known.asked == DOUBTED)

    def observe(self, obj: Object) -> None:
        """Take in the answer to a write of our own, as if it had been asked for just now."""
        key = key_of(obj)
        if not self.selection.matches(obj):
            return
        known = self._note(key)
        known.told += 1
        known.beside = False
        self._tell(self._store.upsert(self.selection.shape(obj, self._reduce)))

    def doubt(self, key: ObjectKey) -> None:
        """Ask for this name at the next look, whatever is known of it."""
        known = self._known.get(key)
        if known is None:
            # Asked for by nobody so far; from now on somebody does.
            self._known[key] = _Known(DOUBTED, 1.0)
        else:
            known.asked = DOUBTED

    def forget(self, keys: Iterable[ObjectKey]) -> None:
        """Drop what is known of these names; handlers hear that the objects are gone."""
        for key in keys:
            self._known.pop(key, None)
            stored = self._store.get(key)
            if stored is not None:
                self._tell(self._store.remove(stored))

    # A kind that comes and goes ---------------------------------------------------------------

    @property
    def synced(self) -> bool:
        """Always: nothing is missing before somebody asks."""
        return True

    def when_synced(self, call: Callable[[], None]) -> None:
        """Nothing to tell: it always is."""

    def wake(self) -> None:
        """Nothing to begin: whoever refreshes begins."""

    def rest(self) -> None:
        """Forget all objects."""
        self.forget(tuple(self._known))

    # ------------------------------------------------------------------------------------------

    def _is_due(self, key: ObjectKey, now: float, max_age: float) -> bool:
        known = self._known.get(key)
        return known is None or now - known.asked >= max_age * known.stretch

    def _ask(self, key: ObjectKey) -> asyncio.Task[None]:
        task = self._asking.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._fetch(key), name=f"get {key}")
            self._asking[key] = task
            task.add_done_callback(lambda done: self._asked(key, done))
        return task

    def _asked(self, key: ObjectKey, task: asyncio.Task[None]) -> None:
        self._asking.pop(key, None)
        if not task.cancelled():
            # Whoever waited may be gone by now: then nobody else reads it.
            task.exception()

    async def _fetch(self, key: ObjectKey) -> None:
        before = self._known.get(key)
        told = before.told if before else 0
        started = self._clock.monotonic()
        try:
            live: Object | None = await self._client.get(
                self.selection.resource, key, metadata_only=self.selection.metadata_only
            )
        except NotFound:
            live = None
        known = self._known.get(key)
        if known is not None and known.told != told:
            return
        known = self._note(key)
        known.asked = started
        self._take_in(key, live, known)

    def _take_in(self, key: ObjectKey, live: Object | None, known: _Known) -> None:
        ours = live is not None and self.selection.matches(live)
        known.beside = live is not None and not ours
        if live is not None and ours:
            self._tell(self._store.upsert(self._reduce(live)))
            return
        stored = self._store.get(key)
        if stored is not None:
            self._tell(self._store.remove(stored))

    def _note(self, key: ObjectKey) -> _Known:
        now, stretch = self._clock.monotonic(), self._rng.uniform(1.0 - JITTER, 1.0 + JITTER)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known(now, stretch)
        else:
            known.asked, known.stretch = now, stretch
        return known

    def _tell(self, changes: Iterable[StoreChange]) -> None:
        self._count.inc(len(self._store) - self._counted)
        self._counted = len(self._store)
        for change in changes:
            for handler in self._handlers:
                pass_on(handler, change, initial=False)
