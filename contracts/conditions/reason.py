"""One reason of a condition. Uses nothing; the reasons are in contracts.conditions.reasons_*."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a condition has the status it has: what that means and what a person does about it."""

    name: str
    meaning: str
    next_step: str


NOTHING = "Nothing to do."
