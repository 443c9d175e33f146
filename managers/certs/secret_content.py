"""Converts the content of a Secret to facts without the keys. Pure.

Called by `managers.cluster.observe.from_objects` once per version of a Secret.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from contracts.records.secrets import CertificateFacts
from contracts.tls_names import ISSUER_FILE
from managers.certs import secret_data
from managers.certs.chain import build, fingerprints
from managers.certs.key_pair import KeyPair
from managers.certs.x509 import read
from managers.context.authority_pem import check_trusted
from managers.context.secret_files import UNREADABLE, entry


@dataclass(frozen=True, slots=True)
class CertificateContent:
    """The certificates of a Secret; each field corresponds to a field of SecretFacts."""

    certificate: CertificateFacts | None = None
    authority: str = ""
    problem: str = ""
    trusted: tuple[str, ...] = ()
    chain_problem: str = ""
    chain_until: datetime | None = None
    chain_root: str = ""
    upcoming: CertificateFacts | None = None
    former: CertificateFacts | None = None


NO_CONTENT = CertificateContent()


def content_of(data: Mapping[str, str] | None) -> CertificateContent:
    """Read the `data` of a Secret (base64). `data` is None if only metadata was requested."""
    if data is None:
        return NO_CONTENT
    try:
        return _content({name: base64.b64decode(text) for name, text in data.items()})
    except UNREADABLE as error:
        return CertificateContent(problem=f"its content cannot be used: {error}")


def _content(data: Mapping[str, bytes]) -> CertificateContent:
    if secret_data.CERTIFICATE in data:
        return _server(data)
    if ISSUER_FILE in data:
        return _authority(data, ISSUER_FILE)
    if secret_data.CA_CERTIFICATE in data or secret_data.CA_KEY in data:
        return _authority(data, secret_data.CA_CERTIFICATE)
    return CertificateContent(problem="it contains no certificate")


def _server(data: Mapping[str, bytes]) -> CertificateContent:
    pair = secret_data.pair(data, secret_data.CERTIFICATE, secret_data.KEY)
    authority = data.get(secret_data.CA_CERTIFICATE, b"")
    if not authority:
        return CertificateContent(read(pair), chain_problem=f"{secret_data.CA_CERTIFICATE} missing")
    trusted = _trusted(authority, secret_data.CA_CERTIFICATE, connects=True)
    certificate = read(pair, authority)
    chain = build(pair.certificate, authority)
    return CertificateContent(
        certificate,
        authority.decode(),
        trusted=trusted,
        chain_problem=chain.problem,
        chain_until=chain.until,
        chain_root=chain.root,
    )


def _authority(data: Mapping[str, bytes], file: str) -> CertificateContent:
    authority = data.get(file, b"")
    issues = file == ISSUER_FILE
    trusted = _trusted(authority, file, connects=issues) if authority else ()
    try:
        certificate = read(secret_data.pair(data, file, secret_data.CA_KEY), authority)
    except ValueError as error:
        # The CA bundle can be used without a key.
        return CertificateContent(
            None, authority.decode(), f"its content cannot be used: {error}", trusted
        )
    return CertificateContent(
        certificate,
        authority.decode(),
        trusted=trusted,
        upcoming=_other_certificate(data, secret_data.NEXT_CERTIFICATE, secret_data.NEXT_KEY),
        former=_other_certificate(data, secret_data.FORMER_CERTIFICATE, secret_data.FORMER_KEY),
    )


def _trusted(authority: bytes, file: str, *, connects: bool) -> tuple[str, ...]:
    """Return the fingerprints of the CAs in a file. `connects`: the operator must trust them."""
    with entry(file):
        trusted = fingerprints(authority)
        if connects:
            check_trusted(authority.decode())
    return trusted


def _other_certificate(
    data: Mapping[str, bytes], certificate: str, key: str
) -> CertificateFacts | None:
    if certificate not in data and key not in data:
        return None
    pair: KeyPair = secret_data.pair(data, certificate, key)
    return read(pair, pair.certificate)
