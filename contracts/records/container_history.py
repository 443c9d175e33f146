"""History of the containers of a server pod, part of `PodFacts`. Frozen facts, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ContainerExit:
    """The last termination of the server container."""

    code: int
    reason: str
    """One word of the kubelet, such as Error or OOMKilled."""
    message: str = ""
    """The last few kilobytes of the log, only during a first boot."""


@dataclass(frozen=True, slots=True)
class Reload:
    """One attempt to reload the files of a running server, with an ephemeral container."""

    number: int
    """1 for the first attempt in this pod, for any files."""
    digest: str
    """First characters of the hash of the files to read."""
    exit_code: int | None
    """None while the container runs."""
    requested_at: datetime | None = None
    """From the arguments of the container, which the operator wrote."""
