"""How a step of reconciliation ended: one type, three members.

Pure. Returned by every reconciler and by the steps inside one; runtime.controller.controller holds
the one switch that turns an outcome into a requeue, a log line and a metric. Whatever is not an
outcome is a raised error, whose class is its policy (runtime.errors).

There is no way to return both an outcome and an error, nor to ask for an immediate retry: work
that must be repeated says when, or raises.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing left to do. `recheck_after` in seconds; None: only an event wakes us."""

    recheck_after: float | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Something else must happen first, and will without a user.

    `reason` is one CamelCase word, `message` a sentence for users; both end up in conditions.
    `after` in seconds; None: an event is certain to wake us.
    """

    reason: str
    message: str
    after: float | None = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """A person must act before anything more can happen here.

    `recheck_after` in seconds, for facts that no event tells about; None: the edit wakes us.
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

    The worst wins (Blocked over Wait over Done), the first of its kind speaks for the others,
    and the soonest timer of all of them survives: a blocked part must not delay the next
    reconcile that another part requested. No outcomes at all are Done.
    """
    soonest: float | None = None
    worst: Outcome = Done()
    # A loop and no comprehensions: this runs several times in every pass.
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
