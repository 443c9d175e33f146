"""Facts about the content of Secrets that decisions need, never a key. No I/O.

Part of contracts.records.observed; created by managers.certs, managers.bootstrap and
managers.cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """A certificate in a Secret."""

    fingerprint: str
    not_before: datetime
    not_after: datetime
    dns_names: frozenset[str]
    ip_addresses: frozenset[str]
    key_matches: bool
    issuer_fingerprint: str
    """Fingerprint of the CA that signed it; "" if the known CA did not."""
    serial: str = ""
    """Serial number in hexadecimal, as `openssl x509 -serial` prints it, but in lower case."""


@dataclass(frozen=True, slots=True)
class OciProfile:
    """The profile DEFAULT of an OCI configuration file."""

    missing: tuple[str, ...]
    """Missing entries that a login with an API key needs."""
    key_file: str
    """The path of the API key in the profile."""


@dataclass(frozen=True, slots=True)
class CredentialFacts:
    """One key of a Secret for a seal: the properties of its content, not the content."""

    size: int
    blank: bool
    trailing_newline: bool = False
    unseal_key: bool = False
    """The static seal can use it: 32 bytes, raw, in hexadecimal digits or in base64."""
    fingerprint: str = ""
    """Identifies an unseal key; "" for other content."""
    certificate: bool = False
    public_key: str = ""
    """Digest of the public key of a certificate or of a private key; "" for other content."""
    json_object: bool = False
    oci: OciProfile | None = None
    problem: str = ""
    """The limit that it exceeds, for a message: the other fields are not set; "" if none."""


@dataclass(frozen=True, slots=True)
class SecretFacts:
    """A Secret with a name that the operator uses; `None` in its place: it does not exist.

    `owned` is by owner UID. Only the content that a decision needs is here, and never a key.
    """

    name: str
    uid: str
    owned: bool
    owner: str
    """The owner for a message; "" if it is this cluster."""
    terminating: bool
    type: str = ""
    """"" if its content was not read."""
    immutable: bool = False
    """No field of its content can be changed."""
    certificate: CertificateFacts | None = None
    authority: str = ""
    """PEM of the CA in the Secret, which is public."""
    problem: str = ""
    """Why the content cannot be used; "" if it can, or if it was not read."""
    trusted: tuple[str, ...] = ()
    """Fingerprints of the certificates in `authority`, in their order."""
    chain_problem: str = ""
    """Why the certificate does not lead to one of `trusted`; "" when it does."""
    chain_until: datetime | None = None
    """When the first certificate of that chain expires."""
    chain_root: str = ""
    """Fingerprint of the CA at the end of the chain."""
    entries: frozenset[str] = frozenset()
    """Names of its keys; empty if it was not read."""
    upcoming: CertificateFacts | None = None
    """A CA that is already trusted and signs later; only together with a signing CA."""
    former: CertificateFacts | None = None
    """A CA that signed before and is still trusted."""
    handled_ca_request: str = ""
    """The last request for a new CA that the operator handled."""
    key_id: str = ""
    """Id of the unseal key that was generated in it (annotation, "" if absent)."""
    keys: Mapping[str, CredentialFacts] = field(default_factory=dict)
    """The properties of its keys, if its content was read for a seal."""
