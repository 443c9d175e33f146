"""Computes the backoff after failed attempts to provision or retire a service. Pure.

Uses contracts.datacenter. Called by managers.datacenter.lifecycle.driver and
managers.datacenter.lifecycle.state_machine. An attempt has a goal: the desired digest, or RETIRE.
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
"""After this time in state Running, the failure count of a service is reset."""
RETIRE: Final = ""
"""The goal of a retiring record."""
FORBIDDEN: Final = "Forbidden"
"""The only terminal reason that is retried, because no event reports that RBAC was granted."""
REASON_MAX: Final = 128
_DOUBLINGS: Final = 7


def goal_of(record: ServiceRecord) -> str:
    """Return the goal of a record: its desired digest, or RETIRE."""
    return RETIRE if record.retiring else record.desired.digest


def failure_of(progress: ServiceProgress, goal: str) -> Failure | None:
    """Return the failure of the last attempt at this goal; None if there is none."""
    return progress.failure if progress.digest == goal else None


def due(progress: ServiceProgress, goal: str, now: datetime) -> bool:
    """Return whether an attempt may be made now."""
    if failure_of(progress, goal) is None:
        return True
    return progress.next_retry is not None and progress.next_retry <= now


def delay(attempts: int, rng_unit: float) -> timedelta:
    """Return the delay after `attempts` failures, at least 1; `rng_unit` is in [0, 1)."""
    exponential = min(BASE * (1 << min(attempts - 1, _DOUBLINGS)), CAP)
    return exponential * (1 - JITTER + 2 * JITTER * rng_unit)


def ran_stably(progress: ServiceProgress, now: datetime) -> bool:
    """Return whether the service has been Running for at least STABLE_AFTER."""
    return progress.running_since is not None and now - progress.running_since >= STABLE_AFTER


def after_failure(
    progress: ServiceProgress, goal: str, error: ProviderError, now: datetime, rng_unit: float
) -> ServiceProgress:
    """Return the progress after an attempt at `goal` failed at `now`.

    A failure that repeats with the same reason and message keeps the time of its first occurrence.
    After a terminal failure there is no next attempt, except after FORBIDDEN, which is retried
    after about CAP.
    """
    restart_count = progress.digest != goal or ran_stably(progress, now)
    attempts = 1 if restart_count else progress.attempts + 1
    reason, message = error.reason[:REASON_MAX], clean_message(error.message)
    before = failure_of(progress, goal)
    same = before is not None and (before.reason, before.message) == (reason, message)
    return replace(
        progress,
        state="Retiring" if goal == RETIRE else "Failed",
        message=message,
        digest=goal,
        attempts=attempts,
        next_retry=_next_retry(error, attempts, now, rng_unit),
        failure=before if same else Failure(reason, message, now.replace(microsecond=0)),
        running_since=None,
    )


def after_success(progress: ServiceProgress, goal: str) -> ServiceProgress:
    """Return the progress when `goal` is reached, or when an attempt at a new goal starts.

    The count of attempts at the same goal is kept until the service has been Running for
    STABLE_AFTER, so that the delays of a flapping service keep increasing.
    """
    attempts = progress.attempts if progress.digest == goal else 0
    return replace(progress, digest=goal, attempts=attempts, failure=None, next_retry=None)


def _next_retry(
    error: ProviderError, attempts: int, now: datetime, rng_unit: float
) -> datetime | None:
    if error.reason == FORBIDDEN:
        return _round_up(now + delay(_DOUBLINGS + 1, rng_unit))
    if error.terminal:
        return None
    return _round_up(now + delay(attempts, rng_unit))


def _round_up(time: datetime) -> datetime:
    """Round up to a whole second, so that no attempt starts before its delay has passed."""
    second = time.replace(microsecond=0)
    return second if second == time else second + timedelta(seconds=1)
