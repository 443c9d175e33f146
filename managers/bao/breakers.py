"""Circuit breakers: a server that keeps silent is not asked again for a while.

Asks nobody: takes what became of questions and says whether a further one may be asked. One for a
process, made by baoctl.process.wiring and called by managers.bao.timeouts.

- Only silence counts: a question that was given up after SILENCE seconds or more. A server that is
  being started, or has been ended, refuses the connection, which costs nothing and closes.
- After SILENCES of them in a row, each begun when the one before was over, the server is not asked
  for FIRST seconds, then for twice as long, up to MOST. Each time one question is let through.
- Any answer closes, and so does another life: a new pod, a restarted container, another readiness
  or label. Whoever writes labels all the time is asked all the time; the share of the namespace in
  the workers (runtime.controller.flows) bounds what that costs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from managers.bao.answers import BaoError

if TYPE_CHECKING:
    # Jobs take the client of OpenBao, and count nothing.
    from runtime.clock import Clock
    from runtime.metrics.metrics import Metrics

SILENCE = 1.9
"""Seconds; a little less than the shortest limit, that of a connection."""
SILENCES = 2
FIRST = 5.0
MOST = 60.0
PROBE = 5.0
"""Seconds that a question which is let through may take before another one is."""
FORGOTTEN = 600.0
"""Seconds after which a server that nobody asks any more is forgotten."""

Life = Callable[[], Hashable]
"""What the pod of a server looks like now; None when there is none with that address."""


class UnansweredError(BaoError):
    """A server did not answer in time."""


class SilentError(BaoError):
    """A server was not asked, because it did not answer the last times."""


class Server(NamedTuple):
    """Whom a breaker stands before."""

    namespace: str
    address: str
    line: str
    """What is asked there: a server may finish a handshake and never answer a request."""


@dataclass(slots=True)
class _Silence:
    life: Hashable
    since: datetime
    last: float
    """When the last question was given up."""
    times: int = 1
    until: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.times >= SILENCES


class Breakers:
    """The servers that keep silent."""

    def __init__(self, clock: Clock, metrics: Metrics) -> None:
        self._clock = clock
        # In the order in which they were last heard not to answer.
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
        """Let a question through. Raises SilentError if it is not to be asked now."""
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
        """Note an answer, of whatever content, or a refused connection."""
        self._silent.pop(server, None)

    def unanswered(self, server: Server, what: str, life: Life, begun: float) -> None:
        """Note a question that was begun then and given up now.

        Raises SilentError, always with the same text, when the server is not to be asked for a
        while: a status that holds it stays as it is.
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
            # What was asked side by side is one silence.
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
        # One that nobody asks any more, because its cluster is gone, is not told for long.
        return sum(one.is_open and now < one.until + MOST for one in self._silent.values())
