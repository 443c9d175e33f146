"""One thing that is wrong with a cluster. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, how that is known, and the next command."""

    cause: str
    evidence: str
    next_step: str
    command: str
    reason: str = ""
    """Of the condition that it explains; "" when it explains none."""
