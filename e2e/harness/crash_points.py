"""The writes at which a crash campaign kills an operator.

The state before a write equals the state after the write before it, so a crash before each write
covers both, including what a server did in between. Called by the crash campaigns.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from e2e.harness.crashing_operator import Plan, Position, Result
from e2e.harness.write_key import WriteKey

Moment = tuple[WriteKey, int, Position]
Thing = TypeVar("Thing")


class Crash(Protocol):
    """A plan and its result."""

    @property
    def plan(self) -> Plan:
        """The planned crash of its operator."""

    @property
    def result(self) -> Result | None:
        """The result; None if it did not run."""


def numbered(keys: Iterable[WriteKey]) -> list[tuple[WriteKey, int]]:
    """Number the writes of the same key from 1, in order."""
    seen: Counter[WriteKey] = Counter()
    found = []
    for key in keys:
        seen[key] += 1
        found.append((key, seen[key]))
    return found


def ends(writes: Sequence[tuple[WriteKey, int]]) -> list[Moment]:
    """Return the crash points: before each write, and after the last."""
    return [
        *((key, occurrence, "before") for key, occurrence in writes),
        (*writes[-1], "after"),
    ]


def batches(things: Sequence[Thing], size: int) -> list[Sequence[Thing]]:
    """Split into batches of `size`."""
    return [things[first : first + size] for first in range(0, len(things), size)]


def never_reached(crashes: Iterable[Crash]) -> list[str]:
    """Return the planned writes at which no operator was killed.

    The number of status writes varies between runs, so not every planned occurrence is reached, and
    neither is a crash after the last write. So each write must be reached in only one position.
    """
    ended = [(one.plan.write, one.result) for one in crashes]
    reached = {key for key, result in ended if result and result.crashed}
    return [str(key) for key in sorted({key for key, _ in ended} - reached)]
