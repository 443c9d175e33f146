"""Waiting in tests: poll a condition with a deadline, never sleep and hope.

Uses runtime.clock. For what real sockets and real servers do in their own time; what depends on a
clock is moved with runtime.testing.clock instead.
"""

from collections.abc import Callable
from typing import TypeVar

from runtime.clock import SystemClock

T = TypeVar("T")


async def eventually(
    check: Callable[[], T], *, seconds: float = 10.0, every: float = 0.002, say: str = "condition"
) -> T:
    """The first true value of check; AssertionError, naming `say`, when none comes in time."""
    clock = SystemClock()
    end = clock.monotonic() + seconds
    while not (value := check()):
        if clock.monotonic() > end:
            raise AssertionError(f"{say} does not hold after {seconds:g} s: {value!r}")
        await clock.sleep(every)
    return value
