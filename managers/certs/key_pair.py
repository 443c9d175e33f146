"""A certificate with its key, and how long the certificates of the operator are valid. Pure.

Without cryptography, which takes 0.02 s to import: the plan of a cluster needs no certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

AUTHORITY_LIFE = timedelta(days=3650)
SERVER_LIFE = timedelta(days=365)
# Certificates are valid from an earlier time, for clients whose clock is behind.
BACKDATE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, both PEM. `repr` does not show the key."""

    certificate: bytes
    key: bytes
    entries: tuple[str, str] = field(default=("its certificate", "its key"), compare=False)
    """The names of certificate and key in their Secret, for messages."""

    def __repr__(self) -> str:
        return "KeyPair(***)"
