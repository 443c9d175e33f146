"""Progress lines: the current step and the elapsed time."""

import sys
import time
from collections.abc import Callable

Progress = Callable[[str], None]


def silent(_line: str) -> None:
    """Ignore the line: for callers that print their own progress."""


def to_stderr() -> Progress:
    """Return a printer that prefixes each line with the seconds since this call."""
    started = time.monotonic()

    def show(line: str) -> None:
        print(f"{time.monotonic() - started:7.1f}s  {line}", file=sys.stderr, flush=True)

    return show
