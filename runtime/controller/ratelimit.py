"""Rate limiters: how long a failed key waits before its next attempt.

Pure except for the clock of the bucket. Called by runtime.controller.workqueue; chosen by the
options of a controller. The limiters and their defaults are those of client-go (util/workqueue).
"""

from collections.abc import Hashable
from typing import Protocol

from runtime.clock import Clock

BASE_DELAY = 0.005
MAX_DELAY = 1000.0


class RateLimiter(Protocol):
    """Counts the failures of each item and returns its next delay."""

    def when(self, item: Hashable) -> float:
        """Seconds until `item` may be retried; each call counts as a failure."""
        ...

    def forget(self, item: Hashable) -> None:
        """Reset `item`: it succeeded, or is no longer needed."""
        ...

    def num_requeues(self, item: Hashable) -> int:
        """How often `item` failed since the last `forget`."""
        ...


class ItemExponentialFailure:
    """base, 2 base, 4 base ... per item, at most cap, in seconds."""

    def __init__(self, base: float = BASE_DELAY, cap: float = MAX_DELAY) -> None:
        if not 0 < base <= cap:
            raise ValueError(f"need 0 < base <= cap, not {base} and {cap}")
        self._base = base
        self._cap = cap
        self._failures: dict[Hashable, int] = {}

    def when(self, item: Hashable) -> float:
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        # A float overflows after 1023 doublings; any useful cap is reached long before.
        return min(self._base * 2.0 ** min(failures, 64), self._cap)

    def forget(self, item: Hashable) -> None:
        self._failures.pop(item, None)

    def num_requeues(self, item: Hashable) -> int:
        return self._failures.get(item, 0)


class Bucket:
    """A token bucket over all items: `burst` immediately, then `rate` per second.

    Each call reserves a token even if its add is a duplicate. The bucket does not distinguish
    items, so there is nothing to forget.
    """

    def __init__(self, clock: Clock, *, rate: float = 10.0, burst: int = 100) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"need a rate above 0 and a burst of at least 1: {rate}, {burst}")
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._updated = clock.monotonic()

    def when(self, item: Hashable) -> float:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._updated) * self._rate)
        self._updated = now
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    def forget(self, item: Hashable) -> None:
        return

    def num_requeues(self, item: Hashable) -> int:
        return 0


class MaxOf:
    """The longest delay of several limiters; each of them counts the failure."""

    def __init__(self, *limiters: RateLimiter) -> None:
        if not limiters:
            raise ValueError("need at least one limiter")
        self._limiters = limiters

    def when(self, item: Hashable) -> float:
        return max([limiter.when(item) for limiter in self._limiters])

    def forget(self, item: Hashable) -> None:
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: Hashable) -> int:
        return max(limiter.num_requeues(item) for limiter in self._limiters)
