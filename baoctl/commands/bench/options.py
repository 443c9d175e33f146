"""The options of a measurement. Pure.

Called by baoctl.commands.bench and baoctl.verbs.bench.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from baoctl.commands.login.reads import LoginOptions

WRITES, READS, LOGINS = "writes", "reads", "logins"
OPERATIONS: Final = (WRITES, READS, LOGINS)


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """The options of a measurement, and those of its login."""

    login: LoginOptions
    operations: tuple[str, ...]
    seconds: float
    """Duration of each operation."""
    workers: int
    size: int
    """Size of a value in bytes."""
    mount: str | None
    """None: the run mounts an engine."""
    address: tuple[str, int] | None
    """Host and port; None: a port-forward."""
    force: bool

    @property
    def load_seconds(self) -> float:
        """Duration of all operations together."""
        return self.seconds * len(self.operations)

    @property
    def needs_engine(self) -> bool:
        """Whether the measurement writes or reads keys."""
        return self.operations != (LOGINS,)
