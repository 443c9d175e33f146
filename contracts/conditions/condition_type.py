"""A condition type.

Uses the standard library; the types are in contracts.conditions.catalog and its tables.
"""

from dataclasses import dataclass
from typing import Literal

Polarity = Literal["good", "bad", "neutral"]


@dataclass(frozen=True, slots=True)
class ConditionType:
    """A condition type with its reasons.

    `polarity` is whether True is good, bad or neutral. `reasons` are the names of its reasons.
    """

    name: str
    polarity: Polarity
    meaning: str
    reasons: tuple[str, ...]
