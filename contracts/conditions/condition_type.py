"""One question about a cluster that a condition answers.

Uses the standard library; the questions are in contracts.conditions.catalogue and its tables.
"""

from dataclasses import dataclass
from typing import Literal

Polarity = Literal["good", "bad", "neutral"]


@dataclass(frozen=True, slots=True)
class ConditionType:
    """A question about a cluster.

    `polarity` says how True reads: good news, bad news, or neither. `reasons` are the names of the
    reasons that may answer it.
    """

    name: str
    polarity: Polarity
    meaning: str
    reasons: tuple[str, ...]
