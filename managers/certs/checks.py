"""Checks that decide whether a server certificate is issued again, in a fixed order.

Pure. The order is that of a manual diagnosis. Called by `managers.certs.plan`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from contracts.records.secrets import SecretFacts


@dataclass(frozen=True, slots=True)
class CheckInput:
    """Inputs of the checks."""

    secret: SecretFacts
    authority: str
    """Fingerprint of the present CA."""
    authority_until: datetime
    trusted: tuple[str, ...]
    """Fingerprints of all CAs that clients have to trust now."""
    names: frozenset[str]
    addresses: frozenset[str]
    now: datetime
    rotate_before: timedelta


Check = Callable[[CheckInput], str | None]


def unusable(it: CheckInput) -> str | None:
    """The content is not a certificate with its key."""
    if it.secret.certificate is None:
        return it.secret.problem or "it holds no certificate"
    return None if it.secret.certificate.key_matches else "its key does not fit its certificate"


def foreign_authority(it: CheckInput) -> str | None:
    """Another CA than the present one signed it."""
    certificate = it.secret.certificate
    if certificate is None or certificate.issuer_fingerprint == it.authority:
        return None
    return "it was not signed by the present authority"


def other_bundle(it: CheckInput) -> str | None:
    """Its bundle has other CAs than those that are trusted now."""
    if it.secret.trusted == it.trusted:
        return None
    return "its ca.crt does not hold the authorities that are trusted now"


def missing_name(it: CheckInput) -> str | None:
    """A requested name or address is missing; additional ones are fine."""
    certificate = it.secret.certificate
    if certificate is None:
        return None
    missing = sorted(it.names - certificate.dns_names) + sorted(
        it.addresses - certificate.ip_addresses
    )
    return f"it does not name {', '.join(missing)}" if missing else None


def near_expiry(it: CheckInput) -> str | None:
    """It expires within the rotation period, and a new one would be valid for longer."""
    certificate = it.secret.certificate
    if certificate is None or certificate.not_after - it.now > it.rotate_before:
        return None
    if certificate.not_after >= it.authority_until:
        # A new one would expire at the same time, and be renewed at once again.
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
