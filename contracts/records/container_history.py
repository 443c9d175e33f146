"""What happened to the containers of a server pod. Frozen facts; read with `PodFacts`. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ContainerExit:
    """How the server container ended the last time it ended."""

    code: int
    reason: str
    """One word of the kubelet, such as Error or OOMKilled."""
    message: str = ""
    """The end of the log, of at most some kilobytes, in a first boot only."""


@dataclass(frozen=True, slots=True)
class Reload:
    """One attempt to make a running server read its files again: an ephemeral container."""

    number: int
    """1 for the first attempt in this pod, whatever it was for."""
    digest: str
    """First characters of the hash of what was to be read."""
    exit_code: int | None
    """None while it has not ended."""
    requested_at: datetime | None = None
    """From the arguments of the container, which we wrote."""
