"""What became of an intent: a type of its own, so that status cannot be computed from plans.

Pure. Made by `runtime.apply`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from runtime.intent import Intent
from runtime.types import Object


class Verdict(Enum):
    """What became of one intent."""

    SKIPPED = "skipped"
    CREATED = "created"
    UPDATED = "updated"
    FOREIGN = "foreign"
    TERMINATING = "terminating"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Applied:
    """The answer to one intent; the status step accepts this and nothing else."""

    intent: Intent
    verdict: Verdict
    live: Object | None
    message: str = ""

    @property
    def in_place(self) -> bool:
        """Tell whether the object is now as we want it."""
        return self.verdict in (Verdict.SKIPPED, Verdict.CREATED, Verdict.UPDATED)
