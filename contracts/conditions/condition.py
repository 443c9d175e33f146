"""Conditions: making one, and merging a new set into the one that is stored.

Uses contracts.conditions.catalogue and contracts.api.meta. Called by the planners, which state
findings, and by the status pass, the only one that turns findings into conditions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from contracts.api.meta import Condition
from contracts.conditions.catalogue import REASONS, TYPES, ConditionType, Reason
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
        raise ValueError(f"{kind!r} is not a condition type of the catalogue")
    if reason not in allowed:
        raise ValueError(f"{reason!r} is not a reason of the condition {kind}")


@dataclass(frozen=True, slots=True)
class ConditionUpdate:
    """What a step of the plan found out about one condition, before it has a time or generation.

    Raises ValueError when the catalogue does not know the reason for the type.
    """

    type: str
    status: Status
    reason: str
    message: str = ""

    def __post_init__(self) -> None:
        _check(self.type, self.reason)


def condition(type: str, status: Status, reason: str, message: str, generation: int) -> Condition:
    """Return the condition, without a transition time: `merge` knows that.

    `generation` is the metadata.generation that was observed. An empty message becomes the
    meaning of the reason. Raises ValueError when the catalogue does not know the reason for the
    type.
    """
    _check(type, reason)
    return Condition(
        type=type,
        status=status,
        reason=reason,
        message=clean_message(message or REASONS[reason].meaning),
        observed_generation=generation,
    )


def merge(
    previous: Sequence[Condition], new: Iterable[Condition], now: datetime
) -> tuple[Condition, ...]:
    """Return `new` in the order of the catalogue, with transition times.

    A condition keeps the time of the stored one of its type unless its status differs; one that is
    not in `new` is dropped. `now` is UTC; fractions of a second are cut, as the API server stores
    none. Raises ValueError when a type comes twice.
    """
    stored = {old.type: old for old in previous}
    moment = now.replace(microsecond=0)
    merged: dict[str, Condition] = {}
    for fresh in new:
        if fresh.type in merged:
            raise ValueError(f"the condition {fresh.type} was stated twice")
        old = stored.get(fresh.type)
        kept = old.last_transition_time if old and old.status == fresh.status else None
        merged[fresh.type] = _since(fresh, kept or moment)
    return tuple(sorted(merged.values(), key=lambda item: _ORDER[item.type]))


# The passes of a few clusters that follow one another state the same since the same moments.
@lru_cache(maxsize=256)
def _since(stated: Condition, moment: datetime) -> Condition:
    return stated.model_copy(update={"last_transition_time": moment})


def next_step(reason: str) -> str:
    """What a person does about a reason; raises KeyError for a reason that is not listed."""
    return REASONS[reason].next_step
