"""Waits until a state is reached, or checks that it stays; always with a timeout."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
EVERY = 0.1
# The minimum timeout, so that a slow machine fails no test. Longer than the grace period of two
# minutes of a server pod, which a server needs if it gets SIGTERM before it handles signals.
GENEROUS = 180.0
_SHOWN = 1500


class ExpectationError(AssertionError):
    """The expected state was not reached in time, or did not last."""


def until(
    what: str,
    look: Callable[[], Found | None],
    seconds: float,
    *,
    every: float = EVERY,
    tolerate: tuple[type[Exception], ...] = (),
) -> Found:
    """Poll until the result is true, and return it.

    Errors of the classes in `tolerate` count as false. Raises ExpectationError after `seconds`,
    or after GENEROUS if that is more.
    """
    seconds = max(seconds, GENEROUS)
    end = time.monotonic() + seconds
    while True:
        last: object = None
        try:
            value = look()
        except tolerate as error:
            last = error
        else:
            if value:
                return value
            last = value
        if time.monotonic() > end:
            raise ExpectationError(
                f"not within {seconds:g} s: {what}; last seen: {last!r}"[:_SHOWN]
            )
        time.sleep(every)


def throughout(
    what: str, holds: Callable[[], bool], seconds: float, *, every: float = EVERY
) -> None:
    """Poll for `seconds`; raises ExpectationError as soon as the result is false."""
    started = time.monotonic()
    while (age := time.monotonic() - started) < seconds:
        if not holds():
            raise ExpectationError(f"no longer true after {age:.1f} s: {what}")
        time.sleep(every)


class Stopwatch:
    """Measures the seconds since it was created."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._started
