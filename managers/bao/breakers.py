"""Circuit breakers: a server that does not answer gets no requests for a while.

No I/O: it counts the results of requests and decides whether the next one may be sent. One per
process, created by baoctl.process.wiring and called by managers.bao.timeouts.

- Only timeouts count: requests that were cancelled after SILENCE seconds or more. A server that is
  starting or has stopped refuses the connection immediately, which closes the breaker.
- After SILENCES timeouts in a row, of requests that did not overlap, the breaker opens: the server
  gets no requests for FIRST seconds, then for twice as long each time, up to MOST. After each
  period one request is allowed.
- Any answer closes the breaker, and so does a change of the pod: a new pod, a restarted container,
  another readiness or label. With constant label changes it never opens; the share of the namespace
  in the workers (runtime.controller.flows) limits the cost of that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from managers.bao.answers import BaoError

if TYPE_CHECKING:
    # Jobs import the client of OpenBao, and have no metrics.
    from runtime.clock import Clock
    from runtime.metrics.metrics import Metrics

SILENCE = 1.9
"""Seconds; slightly less than the shortest timeout, that of a connection."""
SILENCES = 2
FIRST = 5.0
MOST = 60.0
PROBE = 5.0
"""Seconds that an allowed request may take before the next one is allowed."""
FORGOTTEN = 600.0
"""Seconds after which the breaker of a server without further requests is dropped."""

Life = Callable[[], Hashable]
"""Returns the current state of the pod of a server; None when no pod has its address."""


class UnansweredError(BaoError):
    """A server did not answer in time."""


class BreakerOpenError(BaoError):
    """No request was sent, because the server did not answer the last ones."""


class Server(NamedTuple):
    """The server of a breaker."""

    namespace: str
    address: str
    line: str
    """Kind of request: a server may finish a handshake and never answer a request."""


@dataclass(slots=True)
class _Silence:
    life: Hashable
    since: datetime
    last: float
    """Time of the last timeout."""
    times: int = 1
    until: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.times >= SILENCES


class Breakers:
    """The breakers of all servers of this process."""

    def __init__(self, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        # In the order of their last timeout.
        self._silent: OrderedDict[Server, _Silence] = OrderedDict()
        self._opened = metrics.counter(
            "openbao_operator_breakers_opened_total",
            "Times that the breaker of a server opened, because the server did not answer.",
        )
        metrics.gauge(
            "openbao_operator_breakers_open",
            "Servers that get no requests for a while, because they do not answer.",
        ).set_function(self._count)

    def check(self, server: Server, what: str, life: Life) -> None:
        """Allow a request. Raises BreakerOpenError if it may not be sent now."""
        silence = self._silent.get(server)
        if silence is None:
            return
        if silence.life != life():
            del self._silent[server]
            return
        if not silence.is_open:
            return
        now = self._clock.monotonic()
        if now < silence.until:
            raise self._refusal(server, what, silence)
        silence.until = now + PROBE

    def record_answer(self, server: Server) -> None:
        """Record an answer with any content, or a refused connection."""
        self._silent.pop(server, None)

    def record_timeout(self, server: Server, what: str, life: Life, start: float) -> None:
        """Record a request that was sent at `start` and timed out now.

        Raises BreakerOpenError when the breaker is open, always with the same text, so that a
        status with that text does not change.
        """
        now = self._clock.monotonic()
        if now - start < SILENCE:
            return
        silence, state = self._silent.get(server), life()
        if silence is None or silence.life != state:
            self._silent[server] = _Silence(state, self._clock.now(), now)
            self._forget(now)
            return
        if start >= silence.last:
            # Concurrent requests count as one timeout.
            silence.last = now
            silence.times += 1
            if silence.is_open:
                silence.until = now + min(MOST, FIRST * 2 ** min(10, silence.times - SILENCES))
                self._silent.move_to_end(server)
            if silence.times == SILENCES:
                self._opened.inc()
        if silence.is_open:
            raise self._refusal(server, what, silence)

    def _refusal(self, server: Server, what: str, silence: _Silence) -> BreakerOpenError:
        since = silence.since.strftime("%Y-%m-%dT%H:%M:%SZ")
        return BreakerOpenError(
            f"{what} of {server.address}: the server has not answered since {since}; the operator "
            f"retries within {MOST:g} s, or when its pod changes"
        )

    def _forget(self, now: float) -> None:
        for server, silence in list(self._silent.items()):
            if now - max(silence.last, silence.until) > FORGOTTEN:
                del self._silent[server]

    def _count(self) -> int:
        now = self._clock.monotonic()
        # The time limit drops servers of deleted clusters, which get no further requests.
        return sum(entry.is_open and now < entry.until + MOST for entry in self._silent.values())
