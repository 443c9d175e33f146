"""Which snapshots retention removes. Pure.

Called by the Job of a backup for the keys in the store (baoctl.jobs.retention), and by `baoctl
restore` for OpenBaoBackups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Limit = Literal["maxCount", "maxAge"]
"""A field of spec.backup.retention."""


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """The limits of spec.backup.retention; 0: no limit."""

    max_count: int = 0
    max_age: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class RetentionCandidate:
    """A snapshot that retention may remove. `taken_at` is None if that is unknown."""

    taken_at: datetime | None
    protected: bool = False


def exceeded_limits(
    snapshots: Sequence[RetentionCandidate], limits: RetentionLimits, now: datetime | None
) -> tuple[Limit | None, ...]:
    """Return the limit that each snapshot exceeds; None: it is retained.

    `snapshots` are sorted, the newest first. The newest one and the protected ones are retained,
    and count towards `max_count`. `now` is None if the ages are unknown.
    """
    return tuple(
        None
        if index == 0 or snapshot.protected
        else _exceeded_limit(index, snapshot.taken_at, limits, now)
        for index, snapshot in enumerate(snapshots)
    )


def _exceeded_limit(
    newer: int, taken_at: datetime | None, limits: RetentionLimits, now: datetime | None
) -> Limit | None:
    """Return the limit that a snapshot exceeds; `newer` is the number of newer snapshots."""
    if limits.max_count and newer >= limits.max_count:
        return "maxCount"
    if limits.max_age and taken_at and now and now - taken_at > limits.max_age:
        return "maxAge"
    return None
