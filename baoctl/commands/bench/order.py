"""What a user asks `baoctl bench` to measure. Pure.

Called by baoctl.commands.bench and baoctl.verbs.bench.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from baoctl.commands.login.reads import LoginOrder

WRITES, READS, LOGINS = "writes", "reads", "logins"
OPERATIONS: Final = (WRITES, READS, LOGINS)


@dataclass(frozen=True, slots=True)
class BenchOrder:
    """What to measure, and as whom."""

    login: LoginOrder
    operations: tuple[str, ...]
    seconds: float
    """Of each operation."""
    workers: int
    size: int
    """Bytes of a value."""
    mount: str | None
    """None: an engine of the run's own."""
    address: tuple[str, int] | None
    """Host and port; None: by a port-forward."""
    force: bool

    @property
    def load_seconds(self) -> float:
        """How long the load lasts."""
        return self.seconds * len(self.operations)

    @property
    def needs_engine(self) -> bool:
        """Whether keys are written or read."""
        return self.operations != (LOGINS,)
