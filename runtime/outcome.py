"""The result of a reconcile or of one of its steps: one type, three members.

Pure. Returned by every reconciler and its steps; runtime.controller.controller converts an outcome
to a requeue, a log line and a metric. A failure is an exception, whose class determines its
handling (runtime.errors).

A reconciler cannot return both an outcome and an error, and cannot request an immediate retry: it
returns a time, or raises.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing left to do. `recheck_after` in seconds; None: only an event triggers a reconcile."""

    recheck_after: float | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """The operator waits for something that needs no user.

    `reason` is one CamelCase word, `message` a sentence for users; both are shown in conditions.
    `after` in seconds; None: an event will trigger the next reconcile.
    """

    reason: str
    message: str
    after: float | None = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """The operator cannot continue until a user acts.

    `recheck_after` in seconds, for state that no event reports; None: the edit triggers a
    reconcile.
    """

    reason: str
    message: str
    recheck_after: float | None = None


Outcome = Done | Wait | Blocked


def timer_of(outcome: Outcome) -> float | None:
    """Seconds until the next reconcile that the outcome requests, None without one."""
    return outcome.after if isinstance(outcome, Wait) else outcome.recheck_after


def combine(*outcomes: Outcome) -> Outcome:
    """The outcome of steps that ran in parallel.

    The worst one wins (Blocked over Wait over Done), and of equal ones the first. The soonest timer
    of all of them is kept: a blocked step must not delay the reconcile that another step requested.
    Without outcomes the result is Done.
    """
    soonest: float | None = None
    worst: Outcome = Done()
    # A loop instead of comprehensions: this runs several times in every reconcile.
    for outcome in outcomes:
        timer = timer_of(outcome)
        if timer is not None and (soonest is None or timer < soonest):
            soonest = timer
        if _SEVERITY[type(outcome)] > _SEVERITY[type(worst)]:
            worst = outcome
    match worst:
        case Blocked(reason, message):
            return Blocked(reason, message, soonest)
        case Wait(reason, message):
            return Wait(reason, message, soonest)
        case Done():
            return Done(soonest)


_SEVERITY: dict[type[Outcome], int] = {Done: 0, Wait: 1, Blocked: 2}
