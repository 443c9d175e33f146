"""Network and server faults, scripted or random.

The wire and the HTTP adapter inject them. Faults of an open watch are methods of
watching.WatchStream.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from typing import Protocol

from runtime.client.transport import HttpRequest
from runtime.testing.api_server.answers import RefusedAnswer, expired, internal, too_large, too_many


@unique
class FaultKind(Enum):
    """The kinds of faults of one request."""

    REFUSED = "refused"
    """No connection."""
    RESET = "reset"
    """The connection breaks before the server has read the request."""
    LOST_REPLY = "lost reply"
    """The server executes the request, and the response is lost."""
    SILENCE = "silence"
    """The server executes the request and never responds."""
    DELAY = "delay"
    """The request takes `seconds` longer."""
    LATE_REPLY = "late reply"
    """The response takes `seconds` longer."""
    TORN = "torn"
    """Half of the response arrives."""
    PROXY = "proxy"
    """A proxy responds instead, with HTML."""
    TOO_MANY = "429"
    INTERNAL = "500"
    EXPIRED = "410"
    TOO_LARGE = "504"


READING_ONLY = frozenset({FaultKind.EXPIRED, FaultKind.TOO_LARGE})
"""Errors of lists and watches only."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; seconds are those of a DELAY, or the Retry-After of a TOO_MANY."""

    kind: FaultKind
    seconds: float = 1.0

    def refusal(self) -> RefusedAnswer | None:
        """The error response of the server, for faults that are one."""
        match self.kind:
            case FaultKind.TOO_MANY:
                return too_many(int(self.seconds))
            case FaultKind.INTERNAL:
                return internal()
            case FaultKind.EXPIRED:
                return expired(1, 2)
            case FaultKind.TOO_LARGE:
                return too_large(2, 1)
            case _:
                return None


class Faults(Protocol):
    """Chooses the fault of each request when it is sent."""

    def next(self, call: HttpRequest) -> Fault | None: ...


class NoFaults:
    """No fault."""

    def next(self, call: HttpRequest) -> Fault | None:
        return None


class ScriptedFaults:
    """These faults in order, one for each request that contains `where` (`GET /api`); then none."""

    def __init__(self, *script: Fault | None, where: str = "") -> None:
        self._script = list(script)
        self._where = where

    def next(self, call: HttpRequest) -> Fault | None:
        if not self._script or self._where not in f"{call.method} {call.target}":
            return None
        return self._script.pop(0)

    def extend(self, *script: Fault | None) -> None:
        """Append faults."""
        self._script.extend(script)

    @property
    def left(self) -> int:
        """The number of remaining faults."""
        return len(self._script)


class RandomFaults:
    """Each request fails with probability `rate`, which may be changed at any time."""

    def __init__(
        self,
        rng: random.Random,
        rate: float,
        *,
        kinds: Iterable[FaultKind] = tuple(FaultKind),
        longest: float = 5.0,
    ) -> None:
        self.rate = rate
        self._rng = rng
        self._longest = longest
        self._kinds: Sequence[FaultKind] = tuple(kinds)
        self._harmless = [kind for kind in self._kinds if kind not in READING_ONLY]

    def next(self, call: HttpRequest) -> Fault | None:
        if self.rate <= 0 or self._rng.random() >= self.rate:
            return None
        kinds = self._kinds if call.method == "GET" else self._harmless
        return Fault(self._rng.choice(kinds), 1 + int(self._rng.random() * self._longest))
