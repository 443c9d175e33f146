"""Rates, percentiles and sizes of a measurement. Pure.

Called by baoctl.commands.bench and baoctl.verbs.bench.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

ERRORS_MAX: Final = 5
"""Maximum number of different errors of one operation."""
ERROR_MAX: Final = 200
"""Maximum characters of an error."""
OTHERS: Final = "other errors"
STORED_MAX: Final = 64 << 20
"""Maximum bytes of the values, with all of their versions, that a run stores."""
KEYS_MAX: Final = 4
"""Maximum keys of a worker. OpenBao removes an engine key by key, at the speed of writes."""
VERSIONS: Final = 10
"""Versions of a value that a key-value engine keeps, unless it is configured otherwise."""
_SIZE: Final = re.compile(r"([0-9]{1,9})(B|KiB|MiB)?")
_UNITS: Final = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


@dataclass(slots=True)
class Samples:
    """The results of the workers of one operation."""

    seconds: list[float] = field(default_factory=list)
    """Duration of each successful request."""
    errors: Counter[str] = field(default_factory=Counter)

    def fail(self, error: str) -> None:
        """Count an error."""
        error = error[:ERROR_MAX]
        known = error in self.errors or len(self.errors) < ERRORS_MAX
        self.errors[error if known else OTHERS] += 1


@dataclass(frozen=True, slots=True)
class OperationFigures:
    """The figures of one operation; durations in milliseconds."""

    operation: str
    count: int
    per_second: float
    p50_ms: float | None
    """None if no request succeeded."""
    p99_ms: float | None
    max_ms: float | None
    errors: int
    error_counts: Mapping[str, int]


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """Return the smallest value that `percent` of the values do not exceed (nearest rank).

    `ordered` is in ascending order. Returns None if it is empty.
    """
    if not ordered:
        return None
    rank = math.ceil(percent / 100.0 * len(ordered))
    return ordered[min(max(rank, 1), len(ordered)) - 1]


def operation_figures(operation: str, samples: Samples, seconds: float) -> OperationFigures:
    """Return the figures of an operation that ran for some seconds."""
    ordered = sorted(samples.seconds)
    return OperationFigures(
        operation=operation,
        count=len(ordered),
        per_second=round(len(ordered) / seconds, 1) if seconds > 0 else 0.0,
        p50_ms=_milliseconds(percentile(ordered, 50.0)),
        p99_ms=_milliseconds(percentile(ordered, 99.0)),
        max_ms=_milliseconds(percentile(ordered, 100.0)),
        errors=samples.errors.total(),
        error_counts=dict(samples.errors),
    )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000.0, 2)


def keys_per_worker(workers: int, size: int) -> int:
    """Return the number of keys that a worker writes in turn, within STORED_MAX."""
    return max(1, min(KEYS_MAX, STORED_MAX // (workers * size * VERSIONS)))


def size_of(text: str) -> int:
    """Parse a size such as 512, 512B or 4KiB. Raises ValueError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError("must be a number of bytes, such as 512B or 4KiB")
    return int(match[1]) * _UNITS[match[2]]
