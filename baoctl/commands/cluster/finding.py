"""A finding of `baoctl doctor`. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, its evidence, and the next command."""

    cause: str
    evidence: str
    next_step: str
    command: str
    reason: str = ""
    """Reason of the condition that the finding explains; "" if there is none."""
