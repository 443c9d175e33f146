"""A finding of `baoctl doctor`. Pure. Used by the checks and by baoctl.commands.cluster.doctor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, its evidence, the next step, and the command for it."""

    cause: str
    evidence: str
    next_step: str
    command: str
    reason: str = ""
    """Reason of the condition that the finding explains; "" if there is none."""
