"""Open watches: what each is told, when it ends, and what can go wrong with it.

Fed by the storage, read by the wire or the HTTP adapter. Nothing here waits for a slow reader.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, unique

import orjson

from runtime.clock import Clock
from runtime.testing.api_server.answers import RefusedAnswer, expired
from runtime.testing.api_server.reads import ReadQuery
from runtime.testing.api_server.storage import StoredChange
from runtime.types import Object

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

BOOKMARK_LEAD_SECONDS = 2.0
"""How long before the end of a watch its last bookmark is sent, as real servers do."""


@unique
class Ending(Enum):
    """How a stream stops."""

    END = "end"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds between bookmarks, from opening to the end of the watch, and to that of its list."""

    bookmarks: float
    seconds: float
    list_end: float | None = None


class WatchStream:
    """One stream of events. `read` is what goes over the wire.

    revision tells that of the storage. Of what comes up to version `after` nothing is told: a
    watch from the future is silent until history gets there. Lines wait here until the reader
    comes for them; there is no limit, a test is short.
    """

    def __init__(
        self,
        question: ReadQuery,
        revision: Callable[[], int],
        *,
        bookmarks: bool = True,
        after: int = 0,
    ) -> None:
        self.question = question
        self._revision = revision
        self._bookmarks = bookmarks
        self._after = after
        self._buffer: deque[bytes | Ending] = deque()
        self._news = asyncio.Event()
        self._frozen = False
        self._last = b""
        self._keeper: asyncio.Task[None] | None = None

    def tell(self, change: StoredChange) -> None:
        """Pass a write on if it concerns this watch; leaving the selection is a deletion."""
        if change.resource != self.question.kind.resource or change.revision <= self._after:
            return
        matches = self.question.selection.matches
        was = change.old is not None and matches(change.old)
        if change.new is not None and matches(change.new):
            self._say("MODIFIED" if was else "ADDED", self.question.shape(change.new))
        elif was and change.old is not None:
            metadata = {**change.old["metadata"], "resourceVersion": str(change.revision)}
            self._say("DELETED", self.question.shape({**change.old, "metadata": metadata}))

    def show(self, obj: Object) -> None:
        """One of the objects that were there when the watch began."""
        self._say("ADDED", self.question.shape(obj))

    def bookmark(self, *, initial: bool = False) -> None:
        """Say how far history has been told."""
        if not self._bookmarks or self._revision() < self._after:
            return
        resource = self.question.kind.resource
        metadata: Object = {"resourceVersion": str(self._revision()), "creationTimestamp": None}
        if initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        empty = {
            "kind": resource.kind,
            "apiVersion": resource.api_version,
            "metadata": metadata,
        }
        self._say("BOOKMARK", self.question.shape(empty))

    @property
    def unread(self) -> int:
        """How many lines the reader has not come for yet."""
        return len(self._buffer)

    # What can go wrong ------------------------------------------------------------------------

    def end(self) -> None:
        """End in good order, as after timeoutSeconds."""
        self._put(Ending.END)

    def reset(self, keep: int | None = None) -> None:
        """Break the connection; of the unread lines only the first `keep` arrive."""
        self._lose(keep)
        self._put(Ending.RESET)

    def tear(self, keep: int | None = None) -> None:
        """The same, in the middle of a line."""
        lost = self._lose(keep) or self._last or b'{"type":"ADDED"}'
        self._put(lost[: len(lost) // 2])
        self._put(Ending.RESET)

    def fail(self, refused: RefusedAnswer | None = None) -> None:
        """Send an ERROR event, by default that history is forgotten, and end."""
        refused = refused or expired(1, self._revision())
        self._say("ERROR", refused.status)
        self._put(Ending.END)

    def repeat(self) -> None:
        """Send the last line once more."""
        if self._last:
            self._put(self._last)

    def freeze(self, keep: int = 0) -> None:
        """Be silent for ever, with the connection open, after `keep` more of the unread lines."""
        self._lose(keep)
        self._frozen = True

    def mute(self) -> None:
        """Send no bookmarks any more."""
        self._bookmarks = False

    # The reader's side ------------------------------------------------------------------------

    def start(self, clock: Clock, times: Times) -> None:
        """Send bookmarks when they are due, and end in time."""
        self._keeper = asyncio.create_task(self._keep(clock, times), name="fake watch")

    def stop(self) -> None:
        """The reader has left."""
        if self._keeper is not None:
            self._keeper.cancel()

    async def read(self) -> bytes:
        """What is sent next: a whole line, or the torn rest of one; b"" at the end.

        Raises ConnectionResetError where the connection breaks.
        """
        while not self._buffer:
            self._news.clear()
            await self._news.wait()
        chunk = self._buffer.popleft()
        if chunk is Ending.RESET:
            raise ConnectionResetError("reset by the fake server")
        return b"" if isinstance(chunk, Ending) else chunk

    async def _keep(self, clock: Clock, times: Times) -> None:
        end = clock.monotonic() + times.seconds
        if times.list_end is not None:
            await clock.sleep(times.list_end)
            self.bookmark(initial=True)
        while (left := end - clock.monotonic()) > times.bookmarks + BOOKMARK_LEAD_SECONDS:
            await clock.sleep(times.bookmarks)
            self.bookmark()
        await clock.sleep(left - BOOKMARK_LEAD_SECONDS)
        self.bookmark()
        await clock.sleep(end - clock.monotonic())
        self.end()

    def _say(self, kind: str, obj: Object) -> None:
        self._last = orjson.dumps({"type": kind, "object": obj}) + b"\n"
        self._put(self._last)

    def _lose(self, keep: int | None) -> bytes:
        """Drop all unread lines but the first ones; returns the first that is lost."""
        first = b""
        while keep is not None and len(self._buffer) > keep and not self._frozen:
            chunk = self._buffer.pop()
            first = chunk if isinstance(chunk, bytes) else first
        return first

    def _put(self, chunk: bytes | Ending) -> None:
        if not self._frozen:
            self._buffer.append(chunk)
            self._news.set()
