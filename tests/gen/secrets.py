"""Secrets and certificates as observed records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from contracts.records.secrets import CertificateFacts, CredentialFacts, SecretFacts
from runtime.testing.clock import EPOCH

NOW = EPOCH
LATER = NOW + timedelta(hours=1)
AUTHORITY = "fingerprint-of-the-authority"
AUTHORITY_TEXT = "PEM"


def certificate(
    *,
    fingerprint: str = "fingerprint",
    issuer: str = AUTHORITY,
    dns_names: Iterable[str] = (),
    addresses: Iterable[str] = (),
    not_after: datetime = NOW + timedelta(days=300),
    key_matches: bool = True,
) -> CertificateFacts:
    """A certificate that is valid for 300 days."""
    return CertificateFacts(
        fingerprint=fingerprint,
        not_before=NOW - timedelta(days=65),
        not_after=not_after,
        dns_names=frozenset(dns_names),
        ip_addresses=frozenset(addresses),
        key_matches=key_matches,
        issuer_fingerprint=issuer,
    )


def secret(
    name: str,
    *,
    of: str = "",
    certificate: CertificateFacts | None = None,
    problem: str = "",
    key_id: str = "",
    keys: Mapping[str, CredentialFacts] | None = None,
) -> SecretFacts:
    """A Secret of the operator, or of another owner (`of`)."""
    return SecretFacts(
        name=name,
        uid=f"uid-{name}",
        owned=not of,
        owner=of,
        terminating=False,
        certificate=certificate,
        authority="" if certificate is None else AUTHORITY_TEXT,
        problem=problem,
        key_id=key_id,
        keys=keys or {},
    )


def unseal_key(fingerprint: str = "f1") -> CredentialFacts:
    """An entry of a Secret with a valid key of the static seal."""
    return CredentialFacts(size=32, blank=False, unseal_key=True, fingerprint=fingerprint)
