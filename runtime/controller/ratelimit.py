"""How long a failed key waits before its next try.

Pure except for the clock of the bucket. Called by runtime.controller.workqueue; composed by the
builder of a controller. The limiters and their figures are those of client-go (util/workqueue).
"""

from collections.abc import Hashable
from typing import Protocol

from runtime.clock import Clock

BASE_DELAY = 0.005
MAX_DELAY = 1000.0


class RateLimiter(Protocol):
    """Counts tries per item and answers how long the next one has to wait."""

    def when(self, item: Hashable) -> float:
        """Seconds until `item` may be tried again; the call itself counts as a failure."""
        ...

    def forget(self, item: Hashable) -> None:
        """Start over for `item`: it succeeded, or is no longer needed."""
        ...

    def num_requeues(self, item: Hashable) -> int:
        """How often `item` failed since it was forgotten last."""
        ...


class ItemExponentialFailure:
    """base, 2 base, 4 base ... per item, never more than cap (seconds)."""

    def __init__(self, base: float = BASE_DELAY, cap: float = MAX_DELAY) -> None:
        if not 0 < base <= cap:
            raise ValueError(f"need 0 < base <= cap, not {base} and {cap}")
        self._base = base
        self._cap = cap
        self._failures: dict[Hashable, int] = {}

    def when(self, item: Hashable) -> float:
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        # A float overflows after 1023 doublings; every cap worth having is reached long before.
        return min(self._base * 2.0 ** min(failures, 64), self._cap)

    def forget(self, item: Hashable) -> None:
        self._failures.pop(item, None)

    def num_requeues(self, item: Hashable) -> int:
        return self._failures.get(item, 0)


class Bucket:
    """A token bucket over all items: `burst` at once, then `rate` per second.

    It works by reservation: each call takes its token even if the add it belongs to turns out to
    be a duplicate. It knows no items, so there is nothing to forget.
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
    """The longest delay of several limiters; each of them is asked, and thereby counts."""

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
