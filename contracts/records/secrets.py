"""Facts about Secrets: what they hold, as far as a decision needs it, and never a key. No I/O.

Part of contracts.records.observed; made by managers.certs, managers.bootstrap and managers.cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """A certificate found in a Secret."""

    fingerprint: str
    not_before: datetime
    not_after: datetime
    dns_names: frozenset[str]
    ip_addresses: frozenset[str]
    key_matches: bool
    issuer_fingerprint: str
    """Fingerprint of the CA that signed it; "" when the CA at hand did not."""
    serial: str = ""
    """Serial number in hexadecimal, as `openssl x509 -serial` prints it in other case."""


@dataclass(frozen=True, slots=True)
class OciProfile:
    """The profile DEFAULT of an OCI configuration file."""

    missing: tuple[str, ...]
    """Entries that a login with an API key needs and that are not there."""
    key_file: str
    """Where it says that the API key lies."""


@dataclass(frozen=True, slots=True)
class CredentialFacts:
    """One key of a Secret for a seal: what it could be, and nothing of what it is."""

    size: int
    blank: bool
    trailing_newline: bool = False
    unseal_key: bool = False
    """The static seal can use it: 32 bytes, raw, in hexadecimal digits or in base64."""
    fingerprint: str = ""
    """Tells two unseal keys apart; "" for anything else."""
    certificate: bool = False
    public_key: str = ""
    """Digest of the public key of a certificate or of a private key; "" for anything else."""
    json_object: bool = False
    oci: OciProfile | None = None
    problem: str = ""
    """The limit that it is beyond, for a person: then nothing else is known of it; "" for none."""


@dataclass(frozen=True, slots=True)
class SecretFacts:
    """A Secret of a name that we use; `None` in its place means that it does not exist.

    `mine` is by owner UID. Content appears only where a decision needs it, and never a key.
    """

    name: str
    uid: str
    mine: bool
    owner: str
    """The present owner in words, for a message; "" when it is us."""
    terminating: bool
    certificate: CertificateFacts | None = None
    authority: str = ""
    """PEM of the authority that the Secret names, which is public."""
    problem: str = ""
    """Why the content cannot be used; "" when it can, or when it was not read."""
    trusted: tuple[str, ...] = ()
    """Fingerprints of the certificates in `authority`, in their order."""
    chain_problem: str = ""
    """Why the certificate does not lead to one of `trusted`; "" when it does."""
    chain_until: datetime | None = None
    """When the first link of that chain ends."""
    chain_root: str = ""
    """Fingerprint of the authority that the chain ends at."""
    entries: frozenset[str] = frozenset()
    """Names of what it holds; empty when it was not read."""
    upcoming: CertificateFacts | None = None
    """A CA that is trusted already and signs later; only together with a signing CA."""
    former: CertificateFacts | None = None
    """An authority that signed before and is still trusted."""
    answered: str = ""
    """The last request for a new authority that was heard."""
    key_id: str = ""
    """Id of the unseal key that was drawn into it (annotation, "" if absent)."""
    keys: Mapping[str, CredentialFacts] = field(default_factory=dict)
    """The properties of its keys, if its content was read for a seal."""
