"""The writes at which a crash campaign kills an operator.

The state before a write equals the state after the write before it, so a crash before each write
covers both, including what a server did in between. Called by the crash campaigns.
"""

from collections.abc import Sequence
from typing import TypeVar

from e2e.harness.crashing_operator import Position
from e2e.harness.write_key import WriteKey

Moment = tuple[WriteKey, int, Position]
Thing = TypeVar("Thing")


def ends(writes: Sequence[tuple[WriteKey, int]]) -> list[Moment]:
    """Return the crash points: before each write, and after the last."""
    return [
        *((key, occurrence, "before") for key, occurrence in writes),
        (*writes[-1], "after"),
    ]


def batches(things: Sequence[Thing], size: int) -> list[Sequence[Thing]]:
    """Split into batches of `size`."""
    return [things[first : first + size] for first in range(0, len(things), size)]
