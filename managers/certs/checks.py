"""Checks that decide whether the operator issues a server certificate again. Pure.

Each check returns why the certificate must be issued again, or None. Called by
`managers.certs.plan`.
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
    """Fingerprint of the current CA."""
    authority_until: datetime
    trusted: tuple[str, ...]
    """Fingerprints of all CAs that clients must trust now."""
    names: frozenset[str]
    addresses: frozenset[str]
    now: datetime
    rotate_before: timedelta


Check = Callable[[CheckInput], str | None]


def unusable(inputs: CheckInput) -> str | None:
    """The Secret does not contain a certificate with its key."""
    if inputs.secret.certificate is None:
        return inputs.secret.problem or "it contains no certificate"
    matches = inputs.secret.certificate.key_matches
    return None if matches else "its key does not match its certificate"


def foreign_authority(inputs: CheckInput) -> str | None:
    """A CA other than the current one signed the certificate."""
    certificate = inputs.secret.certificate
    if certificate is None or certificate.issuer_fingerprint == inputs.authority:
        return None
    return "it was not signed by the current CA"


def other_bundle(inputs: CheckInput) -> str | None:
    """The bundle does not contain exactly the CAs that are trusted now."""
    if inputs.secret.trusted == inputs.trusted:
        return None
    return "its ca.crt does not contain exactly the trusted CAs"


def missing_name(inputs: CheckInput) -> str | None:
    """A required name or address is missing; additional ones are accepted."""
    certificate = inputs.secret.certificate
    if certificate is None:
        return None
    missing = sorted(inputs.names - certificate.dns_names) + sorted(
        inputs.addresses - certificate.ip_addresses
    )
    return f"its subject alternative names lack {', '.join(missing)}" if missing else None


def not_yet_valid(inputs: CheckInput) -> str | None:
    """The certificate is not valid yet: it was issued while the operator's clock was ahead."""
    certificate = inputs.secret.certificate
    if certificate is None or certificate.not_before <= inputs.now:
        return None
    return f"it is not valid before {certificate.not_before.isoformat()}"


def near_expiry(inputs: CheckInput) -> str | None:
    """The certificate expires within the rotation period, and a new one would be valid longer."""
    certificate = inputs.secret.certificate
    if certificate is None or certificate.not_after - inputs.now > inputs.rotate_before:
        return None
    if certificate.not_after >= inputs.authority_until:
        # A new certificate would expire at the same time, and would be renewed again immediately.
        return None
    return f"it expires at {certificate.not_after.isoformat()}"


CHAIN: tuple[tuple[str, Check], ...] = (
    ("unusable", unusable),
    ("foreign-authority", foreign_authority),
    ("other-bundle", other_bundle),
    ("missing-name", missing_name),
    ("not-yet-valid", not_yet_valid),
    ("near-expiry", near_expiry),
)


def first_problem(inputs: CheckInput) -> tuple[str, str] | None:
    """Return name and message of the first check that fails; None if none fails."""
    for name, check in CHAIN:
        if (problem := check(inputs)) is not None:
            return name, problem
    return None
