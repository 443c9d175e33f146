"""What an installation believes about images: registries without TLS, and logs. Values alone.

Imports nothing that reads a key: the settings of every verb of `baoctl` hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contracts.api.values.public_key import PublicKey


@dataclass(frozen=True, slots=True)
class LogKey:
    """A key of a log, and when entries may have been signed with it."""

    key: PublicKey
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class TrustRoot:
    """The logs that are believed. The empty root believes none."""

    logs: Mapping[str, LogKey]
    """By the id of the log in hexadecimal digits."""
    digest: str = ""
    """Hash of the file that this was read from; "" without one."""
    content: bytes = field(default=b"", repr=False)
    """The file: what verifies identities is made from it."""


NOTHING = TrustRoot({})


@dataclass(frozen=True, slots=True)
class Trust:
    """Settings of the installation for registries and logs."""

    insecure_registries: frozenset[str] = frozenset()
    """host:port of registries that may be used without TLS."""
    root: TrustRoot = NOTHING
