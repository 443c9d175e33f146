"""The pause of a loop after a failed request to a server.

Pure except for the given clock and random generator. Used by the reflector.
"""

import random

from runtime.clock import Clock

Ladder = tuple[float, float, float]
"""Initial and longest delay before jitter, and the time after which it is reset, in seconds."""

REFUSED_LADDER: Ladder = (0.8, 15.0, 120.0)
"""The server responds with an error: do not add load. At most 30 s."""

UNREACHABLE_LADDER: Ladder = (0.1, 1.5, 10.0)
"""The server does not respond: a request costs nothing, and its return should be detected soon."""

NEW_KIND_LADDER: Ladder = (0.4, 4.0, 120.0)
"""The CRD is established, but the server does not serve the kind yet: this lasts only seconds."""


class Backoff:
    """Delays that double from the initial to the longest one, each with up to 100 % jitter.

    They are reset to the initial one after some time without a delay. client-go's reflector uses
    0.8, 30, 120.
    """

    def __init__(self, clock: Clock, rng: random.Random, ladder: Ladder) -> None:
        self._clock = clock
        self._rng = rng
        self._initial, self._cap, self._reset_after = ladder
        self._next = self._initial
        self._used_until = clock.monotonic()

    def delay(self) -> float:
        """Return the delay for this failure; the next one is longer."""
        now = self._clock.monotonic()
        if now - self._used_until > self._reset_after:
            self._next = self._initial
        delay = self._next * (1.0 + self._rng.random())
        self._next = min(self._next * 2.0, self._cap)
        self._used_until = now + delay
        return delay
