"""Circuit breakers: a server that does not answer gets no requests for a while.

No I/O: it counts the results of requests and decides whether another one may be sent. One per
process, created by baoctl.process.wiring and called by managers.bao.timeouts.

- Only timeouts count: a request that was given up after SILENCE seconds or more. A server that
  starts or has ended refuses the connection, which takes no time and closes the breaker.
- After SILENCES of them in a row, each begun when the previous one was over, the server gets no
  requests for FIRST seconds, then for twice as long, up to MOST. After each period one is allowed.
- Any answer closes it, and so does a change of the pod: a new pod, a restarted container, another
  readiness or label. With constant label changes it never opens; the share of the namespace in the
  workers (runtime.controller.flows) bounds the cost of that.
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
"""Seconds; a little less than the shortest limit, that of a connection."""
SILENCES = 2
FIRST = 5.0
MOST = 60.0
PROBE = 5.0
"""Seconds that an allowed request may take before the next one is allowed."""
FORGOTTEN = 600.0
"""Seconds after which a server without further requests is dropped."""

Life = Callable[[], Hashable]
"""State of the pod of a server now; None when no pod has that address."""


class UnansweredError(BaoError):
    """A server did not answer in time."""


class SilentError(BaoError):
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
    """When the last request was given up."""
    times: int = 1
    until: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.times >= SILENCES


class Breakers:
    """The servers that do not answer."""

    def __init__(self, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        # In the order of their last timeout.
        self._silent: OrderedDict[Server, _Silence] = OrderedDict()
        self._opened = metrics.counter(
            "openbao_operator_breakers_opened_total",
            "Times that a server was no longer asked because it did not answer.",
        )
        metrics.gauge(
            "openbao_operator_breakers_open",
            "Servers that are not asked for a while because they do not answer.",
        ).set_function(self._count)

    def check(self, server: Server, what: str, life: Life) -> None:
        """Allow a request. Raises SilentError if it may not be sent now."""
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

    def answered(self, server: Server) -> None:
        """Record an answer, of any content, or a refused connection."""
        self._silent.pop(server, None)

    def unanswered(self, server: Server, what: str, life: Life, begun: float) -> None:
        """Record a request that began at `begun` and was given up now.

        Raises SilentError, always with the same text, when the breaker is open: a status with that
        text does not change.
        """
        now = self._clock.monotonic()
        if now - begun < SILENCE:
            return
        silence, alive = self._silent.get(server), life()
        if silence is None or silence.life != alive:
            self._silent[server] = _Silence(alive, self._clock.now(), now)
            self._forget(now)
            return
        if begun >= silence.last:
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

    def _refusal(self, server: Server, what: str, silence: _Silence) -> SilentError:
        since = silence.since.strftime("%Y-%m-%dT%H:%M:%SZ")
        return SilentError(
            f"{what} of {server.address}: the server has not answered since {since}; it is asked "
            f"again within {MOST:g} s, and at once when its pod changes"
        )

    def _forget(self, now: float) -> None:
        for server, silence in list(self._silent.items()):
            if now - max(silence.last, silence.until) > FORGOTTEN:
                del self._silent[server]

    def _count(self) -> int:
        now = self._clock.monotonic()
        # A server of a deleted cluster gets no further requests, and is not counted for long.
        return sum(one.is_open and now < one.until + MOST for one in self._silent.values())
