"""Trust settings of an installation: registries without TLS, and transparency logs. Values only.

This module does not import the code that reads keys, because every verb of `baoctl` imports it.
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
    """A key of a log, and the period in which it may sign entries."""

    key: PublicKey
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class TrustRoot:
    """The trusted logs. The empty root trusts no log."""

    logs: Mapping[str, LogKey]
    """By the id of the log in hexadecimal digits."""
    digest: str = ""
    """Hash of the file; "" without a file."""
    content: bytes = field(default=b"", repr=False)
    """The file, from which managers.images.keyless builds its verifier."""


EMPTY_TRUST_ROOT = TrustRoot({})


@dataclass(frozen=True, slots=True)
class Trust:
    """Settings of the installation for registries and logs."""

    insecure_registries: frozenset[str] = frozenset()
    """host:port of registries that may be used without TLS."""
    root: TrustRoot = EMPTY_TRUST_ROOT
