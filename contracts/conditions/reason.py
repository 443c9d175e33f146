"""One reason of a condition. Uses nothing; the reasons are in contracts.conditions.reasons_*."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason of a condition: its meaning, and what the user does about it."""

    name: str
    meaning: str
    next_step: str


NO_ACTION = "Nothing to do."
