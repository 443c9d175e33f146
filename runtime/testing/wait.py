"""Waiting in tests: poll a condition with a deadline instead of a fixed sleep.

Uses runtime.clock. For real sockets and real servers; for code that depends on a clock use
runtime.testing.clock instead.
"""

from collections.abc import Callable
from typing import TypeVar

from runtime.clock import SystemClock

DEADLINE = 60.0
"""Seconds that a condition may take: generous, because a busy machine stalls for seconds."""

T = TypeVar("T")


async def eventually(
    check: Callable[[], T],
    *,
    seconds: float = DEADLINE,
    every: float = 0.002,
    goal: str = "condition",
) -> T:
    """Return the first true value of check; AssertionError with `goal` at the deadline."""
    clock = SystemClock()
    end = clock.monotonic() + seconds
    while not (value := check()):
        if clock.monotonic() > end:
            raise AssertionError(f"{goal} is not true after {seconds:g} s: {value!r}")
        await clock.sleep(every)
    return value
