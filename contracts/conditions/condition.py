"""Creates conditions, and merges them with the stored ones.

Uses contracts.conditions.catalog and contracts.api.meta. Called by the plan steps, which return
updates, and by the status step, the only caller that converts updates to conditions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from contracts.api.meta import Condition
from contracts.conditions.catalog import REASONS, TYPES, ConditionType, Reason
from contracts.conditions.message import MESSAGE_MAX, clean_message

__all__ = [
    "MESSAGE_MAX",
    "REASONS",
    "TYPES",
    "Condition",
    "ConditionType",
    "ConditionUpdate",
    "Reason",
    "Status",
    "condition",
    "merge",
    "next_step",
]

Status = Literal["True", "False", "Unknown"]

_ORDER = {kind.name: position for position, kind in enumerate(TYPES)}
_ALLOWED = {kind.name: frozenset(kind.reasons) for kind in TYPES}


def _check(kind: str, reason: str) -> None:
    allowed = _ALLOWED.get(kind)
    if allowed is None:
        raise ValueError(f"{kind!r} is not a condition type of the catalog")
    if reason not in allowed:
        raise ValueError(f"{reason!r} is not a reason of the condition {kind}")


@dataclass(frozen=True, slots=True)
class ConditionUpdate:
    """An update of one condition by a step of the plan, without a time and a generation.

    Raises ValueError if the reason is not listed for the type.
    """

    type: str
    status: Status
    reason: str
    message: str = ""

    def __post_init__(self) -> None:
        _check(self.type, self.reason)


def condition(type: str, status: Status, reason: str, message: str, generation: int) -> Condition:
    """Return the condition without a transition time, which `merge` sets.

    `generation` is the observed metadata.generation. The default of an empty message is that of the
    reason. Raises ValueError if the reason is not listed for the type.
    """
    _check(type, reason)
    return Condition(
        type=type,
        status=status,
        reason=reason,
        message=clean_message(message or REASONS[reason].message),
        observed_generation=generation,
    )


def merge(
    previous: Sequence[Condition], new: Iterable[Condition], now: datetime
) -> tuple[Condition, ...]:
    """Return `new` in the order of the catalog, with transition times.

    A condition keeps the time of the stored condition of its type unless its status differs; a
    stored condition that is not in `new` is removed. `now` is UTC; it is truncated to seconds, as
    the API server stores no fractions. Raises ValueError if a type occurs twice.
    """
    stored = {old.type: old for old in previous}
    moment = now.replace(microsecond=0)
    merged: dict[str, Condition] = {}
    for fresh in new:
        if fresh.type in merged:
            raise ValueError(f"the condition {fresh.type} was stated twice")
        old = stored.get(fresh.type)
        unchanged_since = old.last_transition_time if old and old.status == fresh.status else None
        merged[fresh.type] = _since(fresh, unchanged_since or moment)
    return tuple(sorted(merged.values(), key=lambda item: _ORDER[item.type]))


# Consecutive reconciles of a cluster return the same conditions with the same times.
@lru_cache(maxsize=256)
def _since(fresh: Condition, moment: datetime) -> Condition:
    return fresh.model_copy(update={"last_transition_time": moment})


def next_step(reason: str) -> str:
    """Return what the user does about a reason; raises KeyError for an unlisted reason."""
    return REASONS[reason].next_step
