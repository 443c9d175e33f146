"""When a server certificate is issued anew: an ordered chain of named checks.

Pure. The order is the order in which a person would look.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from contracts.records.secrets import SecretFacts


@dataclass(frozen=True, slots=True)
class CheckInput:
    """What the checks look at."""

    secret: SecretFacts
    authority: str
    """Fingerprint of the CA at hand."""
    authority_until: datetime
    trusted: tuple[str, ...]
    """Fingerprints of all authorities that clients are to trust now."""
    names: frozenset[str]
    addresses: frozenset[str]
    now: datetime
    rotate_before: timedelta


Check = Callable[[CheckInput], str | None]


def unusable(it: CheckInput) -> str | None:
    """The content is no certificate with a key."""
    if it.secret.certificate is None:
        return it.secret.problem or "it holds no certificate"
    return None if it.secret.certificate.key_matches else "its key does not fit its certificate"


def foreign_authority(it: CheckInput) -> str | None:
    """It was signed by another authority than the one at hand."""
    certificate = it.secret.certificate
    if certificate is None or certificate.issuer_fingerprint == it.authority:
        return None
    return "it was not signed by the present authority"


def other_bundle(it: CheckInput) -> str | None:
    """Beside it lie other authorities than those that are trusted now."""
    if it.secret.trusted == it.trusted:
        return None
    return "its ca.crt does not hold the authorities that are trusted now"


def missing_name(it: CheckInput) -> str | None:
    """A name or address is asked for that it does not carry; more than asked for is fine."""
    certificate = it.secret.certificate
    if certificate is None:
        return None
    missing = sorted(it.names - certificate.dns_names) + sorted(
        it.addresses - certificate.ip_addresses
    )
    return f"it does not name {', '.join(missing)}" if missing else None


def near_expiry(it: CheckInput) -> str | None:
    """It has less than the rotation period to live, and a new one would live longer."""
    certificate = it.secret.certificate
    if certificate is None or certificate.not_after - it.now > it.rotate_before:
        return None
    if certificate.not_after >= it.authority_until:
        # A new one would end at the same moment, and be renewed for the same reason at once.
        return None
    return f"it expires at {certificate.not_after.isoformat()}"


CHAIN: tuple[tuple[str, Check], ...] = (
    ("unusable", unusable),
    ("foreign-authority", foreign_authority),
    ("other-bundle", other_bundle),
    ("missing-name", missing_name),
    ("near-expiry", near_expiry),
)


def first_objection(it: CheckInput) -> tuple[str, str] | None:
    """Return the name of the first check that objects, and what it says; None when none does."""
    for name, check in CHAIN:
        if (objection := check(it)) is not None:
            return name, objection
    return None
