"""Turns on one machine: several workers share it, and one may have it to itself.

Called by e2e.conftest. Two files, locked by the kernel: what holds them dies with its process.
"""

import fcntl
from pathlib import Path
from typing import TextIO


class Turn:
    """What one worker holds of the machine: nothing, a share, or all of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: TextIO | None = None

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
        self._folder.mkdir(parents=True, exist_ok=True)
        held = (self._folder / "turn.lock").open("a")
        # Whoever waits holds the door: or those who share would go on to share past one who waits.
        with (self._folder / "door.lock").open("a") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(held, lock)
        self._held = held
