"""Advisory file locks on open files: the kernel releases those of a killed process."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.rig.progress import Progress

HEARTBEAT_SECONDS = 20.0


@contextmanager
def hold_lock(path: Path, progress: Progress, what: str) -> Iterator[None]:
    """Hold the lock of ``path``; while waiting, print a line every 20 seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        started = time.monotonic()
        printed = started - HEARTBEAT_SECONDS + 1.0
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                now = time.monotonic()
                if now - printed >= HEARTBEAT_SECONDS:
                    progress(f"waiting for another process: {what}, {now - started:.0f} s")
                    printed = now
                time.sleep(0.05)
        yield
