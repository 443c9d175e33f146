"""One event about a cluster, before it is sent: it reports a change of the status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One event."""

    kind: Literal["Normal", "Warning"]
    reason: str
    text: str
