"""Open watches: their events, bookmarks, ends and faults.

Written by the storage, read by the wire or the HTTP adapter. Nothing here waits for a slow reader.
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
"""How long before the end of a watch its last bookmark is sent, as by real servers."""


@unique
class Ending(Enum):
    """How a stream stops."""

    END = "end"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds between bookmarks, from the opening to the end of the watch, and to the end of its
    list."""

    bookmarks: float
    seconds: float
    list_end: float | None = None


class WatchStream:
    """One stream of events. `read` returns the bytes for the wire.

    revision returns that of the storage. Changes up to version `after` are not sent: a watch from a
    future version is silent until then. Lines are buffered without limit until they are read.
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
        self._ready = asyncio.Event()
        self._frozen = False
        self._last = b""
        self._timer: asyncio.Task[None] | None = None

    def tell(self, change: StoredChange) -> None:
        """Send a change that concerns this watch; an object that leaves the selection is
        deleted."""
        if change.resource != self.question.kind.resource or change.revision <= self._after:
            return
        matches = self.question.selection.matches
        was = change.old is not None and matches(change.old)
        if change.new is not None and matches(change.new):
            self._send("MODIFIED" if was else "ADDED", self.question.shape(change.new))
        elif was and change.old is not None:
            metadata = {**change.old["metadata"], "resourceVersion": str(change.revision)}
            self._send("DELETED", self.question.shape({**change.old, "metadata": metadata}))

    def show(self, obj: Object) -> None:
        """Send an object that existed when the watch started."""
        self._send("ADDED", self.question.shape(obj))

    def bookmark(self, *, initial: bool = False) -> None:
        """Send a bookmark at the current version."""
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
        self._send("BOOKMARK", self.question.shape(empty))

    @property
    def unread(self) -> int:
        """The number of buffered lines."""
        return len(self._buffer)

    # Faults -----------------------------------------------------------------------------------

    def end(self) -> None:
        """End cleanly, as after timeoutSeconds."""
        self._put(Ending.END)

    def reset(self, keep: int | None = None) -> None:
        """Break the connection; of the unread lines only the first `keep` arrive."""
        self._drop(keep)
        self._put(Ending.RESET)

    def tear(self, keep: int | None = None) -> None:
        """Break the connection in the middle of a line."""
        lost = self._drop(keep) or self._last or b'{"type":"ADDED"}'
        self._put(lost[: len(lost) // 2])
        self._put(Ending.RESET)

    def fail(self, refused: RefusedAnswer | None = None) -> None:
        """Send an ERROR event, by default 410 Expired, and end."""
        refused = refused or expired(1, self._revision())
        self._send("ERROR", refused.status)
        self._put(Ending.END)

    def repeat(self) -> None:
        """Send the last line once more."""
        if self._last:
            self._put(self._last)

    def freeze(self, keep: int = 0) -> None:
        """Send nothing more after the first `keep` unread lines, with the connection open."""
        self._drop(keep)
        self._frozen = True

    def mute(self) -> None:
        """Stop sending bookmarks."""
        self._bookmarks = False

    # For the reader ---------------------------------------------------------------------------

    def start(self, clock: Clock, times: Times) -> None:
        """Send periodic bookmarks, and end the watch in time."""
        self._timer = asyncio.create_task(self._keep(clock, times), name="fake watch")

    def stop(self) -> None:
        """The reader has disconnected."""
        if self._timer is not None:
            self._timer.cancel()

    async def read(self) -> bytes:
        """Return the next line, or a truncated one; b"" at the end.

        Raises ConnectionResetError if the connection breaks.
        """
        while not self._buffer:
            self._ready.clear()
            await self._ready.wait()
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

    def _send(self, kind: str, obj: Object) -> None:
        self._last = orjson.dumps({"type": kind, "object": obj}) + b"\n"
        self._put(self._last)

    def _drop(self, keep: int | None) -> bytes:
        """Drop all unread lines but the first `keep`; returns the first one that is dropped."""
        first = b""
        while keep is not None and len(self._buffer) > keep and not self._frozen:
            chunk = self._buffer.pop()
            first = chunk if isinstance(chunk, bytes) else first
        return first

    def _put(self, chunk: bytes | Ending) -> None:
        if not self._frozen:
            self._buffer.append(chunk)
            self._ready.set()
