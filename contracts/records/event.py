"""One event about a cluster, before it is sent: what a change of its status is told as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One event."""

    kind: Literal["Normal", "Warning"]
    reason: str
    text: str
