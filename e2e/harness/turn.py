"""Turns on one machine: several workers share it, and one may have it to itself.

Called by e2e.conftest. A few files, locked by the kernel: what holds them dies with its process.
"""

import fcntl
from pathlib import Path
from typing import TextIO


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
        if self._measures is not None:
            self._measures.close()
        self._measures = self._open("measures.lock")
        fcntl.flock(self._measures, fcntl.LOCK_SH if measures else fcntl.LOCK_EX)
        if not measures:
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
