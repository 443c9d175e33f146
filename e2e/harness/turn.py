"""Turns on one machine: several workers share it, and one may have it to itself.

Called by e2e.conftest. A few files, locked by the kernel: what holds them dies with its process.
"""

import fcntl
import time
from pathlib import Path
from typing import TextIO

from e2e.harness.waiting import Stopwatch

_STAT = Path("/proc/stat")
# Of "cpu user nice system idle iowait irq softirq steal guest guest_nice"; user has guest in it.
_IDLE, _ALL = slice(3, 5), slice(8)
_LOOK = 1.0
_CALM = 0.5
_AT_MOST = 30.0


def await_calm() -> None:
    """Wait until half of the processors' time is idle, or half a minute has passed.

    Who left may have left something behind that works on: servers that end, namespaces that are
    emptied.
    """
    watch, before = Stopwatch(), _STAT.read_text()
    while watch.seconds < _AT_MOST:
        time.sleep(_LOOK)
        after = _STAT.read_text()
        if idle_share(before, after) >= _CALM:
            return
        before = after


def idle_share(before: str, after: str) -> float:
    """Return which part of the time of all processors was idle between two texts of /proc/stat."""
    was, now = (map(int, text.splitlines()[0].split()[1:]) for text in (before, after))
    spent = [late - early for early, late in zip(was, now, strict=True)]
    return sum(spent[_IDLE]) / max(1, sum(spent[_ALL]))


class Turn:
    """What one worker holds of the machine: nothing, a share, or all of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: TextIO | None = None
        self._measures: TextIO | None = None

    def begin(self, *, measures: bool) -> None:
        """Begin a file of tests. One that measures nothing waits while others are at those that do.

        Or a long test would be waited for by each test that has to be alone, and by all others.
        """
        held = self._open("measures.lock")
        fcntl.flock(held, fcntl.LOCK_SH if measures else fcntl.LOCK_EX)
        if measures:
            self._measures = held
        else:
            held.close()

    def end(self) -> None:
        """End a file of tests, or who has no other one would hold up all that measure nothing."""
        if self._measures is not None:
            self._measures.close()
            self._measures = None

    def share(self) -> None:
        """Go on beside others; waits while one is alone, or is about to be."""
        self._take(fcntl.LOCK_SH)

    def own(self) -> None:
        """Go on alone; waits until every other one has left."""
        self._take(fcntl.LOCK_EX)

    def leave(self) -> None:
        """Give back what is held."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _take(self, lock: int) -> None:
        assert self._held is None, "who holds a turn leaves it first, or two wait for each other"
        held = self._open("turn.lock")
        # Whoever waits holds the door: or those who share would go on to share past one who waits.
        with self._open("door.lock") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(held, lock)
        self._held = held

    def _open(self, name: str) -> TextIO:
        self._folder.mkdir(parents=True, exist_ok=True)
        return (self._folder / name).open("a")
