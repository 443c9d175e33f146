"""What goes wrong between a client and the server: plans of faults, scripted or random.

Used by the wire and the HTTP adapter, which carry them out. What goes wrong with an open watch
are verbs of watching.Watch.
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
    """The kinds of fault of one call."""

    REFUSED = "refused"
    """No connection."""
    RESET = "reset"
    """The connection breaks before the server has read the call."""
    LOST_REPLY = "lost reply"
    """The server does what it is told, and the answer is lost."""
    SILENCE = "silence"
    """The server does what it is told, and nothing ever comes back."""
    DELAY = "delay"
    """The call takes `seconds` longer."""
    LATE_REPLY = "late reply"
    """The answer takes `seconds` longer."""
    TORN = "torn"
    """Half of the answer arrives."""
    PROXY = "proxy"
    """Something in between answers in its place, with HTML."""
    TOO_MANY = "429"
    INTERNAL = "500"
    EXPIRED = "410"
    TOO_LARGE = "504"


READING_ONLY = frozenset({FaultKind.EXPIRED, FaultKind.TOO_LARGE})
"""What a server answers to lists and watches alone."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; seconds are those of a DELAY, or the Retry-After of a TOO_MANY."""

    trouble: FaultKind
    seconds: float = 1.0

    def refusal(self) -> RefusedAnswer | None:
        """The answer in the server's own words, for those faults that are one."""
        match self.trouble:
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
    """Decides about each call when it is sent."""

    def next(self, call: HttpRequest) -> Fault | None: ...


class NoFaults:
    """All goes well."""

    def next(self, call: HttpRequest) -> Fault | None:
        return None


class ScriptedFaults:
    """These faults in order, one for each call that `where` occurs in (`GET /api`); then none."""

    def __init__(self, *script: Fault | None, where: str = "") -> None:
        self._script = list(script)
        self._where = where

    def next(self, call: HttpRequest) -> Fault | None:
        if not self._script or self._where not in f"{call.method} {call.target}":
            return None
        return self._script.pop(0)

    def extend(self, *script: Fault | None) -> None:
        """Go on with these."""
        self._script.extend(script)

    @property
    def left(self) -> int:
        """How many are still to come."""
        return len(self._script)


class RandomFaults:
    """Each call fails with probability `rate`, which may be set to 0 at any time."""

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
