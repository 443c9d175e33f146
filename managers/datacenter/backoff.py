"""Backoff of failed attempts to provision or retire a service. Pure.

Uses contracts.datacenter. Called by managers.datacenter.lifecycle.state_machine and
managers.datacenter.lifecycle.service. An attempt has a goal: the desired digest, or RETIRE.
A new goal resets the backoff. Times are in whole seconds, the resolution of the API server.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from contracts.conditions.message import clean_message
from contracts.datacenter.workload_records import Failure, ServiceProgress, ServiceRecord
from managers.datacenter.interfaces import ProviderError

BASE: Final = timedelta(seconds=5)
CAP: Final = timedelta(minutes=10)
JITTER: Final = 0.2
"""Fraction of a delay that is added or subtracted at random."""
STABLE_AFTER: Final = timedelta(minutes=10)
"""After running this long, a service has its failure count reset."""
RETIRE: Final = ""
"""The goal of a retiring record."""
FORBIDDEN: Final = "Forbidden"
"""The only terminal reason that is retried: granting RBAC causes no event."""
REASON_MAX: Final = 128
_DOUBLINGS: Final = 7


def goal_of(record: ServiceRecord) -> str:
    """Return the goal of a record: its desired digest, or RETIRE."""
    return RETIRE if record.retiring else record.desired.digest


def failure_of(progress: ServiceProgress, goal: str) -> Failure | None:
    """Return the failure of the last attempt at this goal; None without one."""
    return progress.failure if progress.digest == goal else None


def due(progress: ServiceProgress, goal: str, now: datetime) -> bool:
    """Return whether an attempt may be made now."""
    if failure_of(progress, goal) is None:
        return True
    return progress.next_retry is not None and progress.next_retry <= now


def delay(attempts: int, rng_unit: float) -> timedelta:
    """Return the delay after that many failures, at least one; `rng_unit` is in [0, 1)."""
    doubled = min(BASE * (1 << min(attempts - 1, _DOUBLINGS)), CAP)
    return doubled * (1 - JITTER + 2 * JITTER * rng_unit)


def ran_stably(progress: ServiceProgress, now: datetime) -> bool:
    """Return whether it has been Running for so long that earlier failures do not count."""
    return progress.running_since is not None and now - progress.running_since >= STABLE_AFTER


def after_failure(
    progress: ServiceProgress, goal: str, error: ProviderError, now: datetime, rng_unit: float
) -> ServiceProgress:
    """Return the progress after an attempt at `goal` failed at `now`.

    The time of the failure is the first with its reason and message. A terminal one has no next
    attempt, except FORBIDDEN, which waits CAP.
    """
    fresh = progress.digest != goal or ran_stably(progress, now)
    attempts = 1 if fresh else progress.attempts + 1
    reason, message = error.reason[:REASON_MAX], clean_message(error.message)
    before = failure_of(progress, goal)
    same = before is not None and (before.reason, before.message) == (reason, message)
    return replace(
        progress,
        state="Retiring" if goal == RETIRE else "Failed",
        message=message,
        digest=goal,
        attempts=attempts,
        next_retry=_next(error, attempts, now, rng_unit),
        failure=before if same else Failure(reason, message, now.replace(microsecond=0)),
        running_since=None,
    )


def after_success(progress: ServiceProgress, goal: str) -> ServiceProgress:
    """Return the progress once `goal` is reached, or an attempt at a new goal begins.

    Attempts at the same goal stay counted until it has been Running for STABLE_AFTER, so that a
    flapping service is retried with increasing delays.
    """
    attempts = progress.attempts if progress.digest == goal else 0
    return replace(progress, digest=goal, attempts=attempts, failure=None, next_retry=None)


def _next(error: ProviderError, attempts: int, now: datetime, rng_unit: float) -> datetime | None:
    if error.reason == FORBIDDEN:
        return _whole(now + delay(_DOUBLINGS + 1, rng_unit))
    if error.terminal:
        return None
    return _whole(now + delay(attempts, rng_unit))


def _whole(moment: datetime) -> datetime:
    """Round up: an attempt is never sooner than its delay."""
    cut = moment.replace(microsecond=0)
    return cut if cut == moment else cut + timedelta(seconds=1)
