"""Verification of a certificate chain up to a trusted CA, and its validity. Pure; no clock.

The certificates may be those of a user, with every key type that the server accepts: RSA, ECDSA,
Ed25519.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization

from managers.context.der import names
from managers.context.secret_files import (
    UNREADABLE,
    RefusedFileError,
    certificates,
    check_public_key,
)

# Longer chains are not in use, and some servers and clients reject shorter ones.
LONGEST_CHAIN = 8
# Maximum number of certificates with one subject: each costs a signature check per link. A subject
# has one CA, or two during a rotation.
SAME_SUBJECT_MAX = 4
# Maximum length of a name in a message, which has at most 1,024 characters.
NAME_MAX = 200


@dataclass(frozen=True, slots=True)
class Chain:
    """The result of building a chain from a certificate to a trusted CA."""

    problem: str
    """Why there is no chain, for a message; "" if there is one."""
    until: datetime | None
    """When the first certificate of the chain expires; None without a chain."""
    root: str = ""
    """Fingerprint of the trusted CA."""


BySubject = Mapping[bytes, Sequence[x509.Certificate]]
"""Certificates by their encoded subject."""


def read_all(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Read all certificates of a PEM text. Raises ValueError if there is none or one is invalid."""
    return certificates(pem)


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate in hexadecimal, as managers.certs.probe computes it."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def fingerprints(pem: bytes) -> tuple[str, ...]:
    """Return the fingerprints of a PEM text, in its order. Raises ValueError as `read_all`."""
    return tuple(map(fingerprint, read_all(pem)))


def first_certificate(pem: bytes) -> bytes:
    """Return only the first certificate of a PEM text. Raises ValueError as `read_all`."""
    return read_all(pem)[0].public_bytes(serialization.Encoding.PEM)


def build(served: bytes, trusted: bytes) -> Chain:
    """Build a chain from the first certificate of `served` to a certificate of `trusted`.

    The other certificates of `served` are intermediates. Both are PEM. Raises ValueError if one of
    them cannot be read.
    """
    leaf, *intermediates = read_all(served)
    roots = read_all(trusted)
    root_fingerprints = set(map(fingerprint, roots))
    candidates = by_subject((*roots, *intermediates))
    chain = [leaf]
    while fingerprint(chain[-1]) not in root_fingerprints and len(chain) < LONGEST_CHAIN:
        issuers = signers(chain[-1], candidates)
        issuer = next(filter(_is_authority, issuers), None)
        if issuer is None or issuer in chain:
            return Chain(
                f"no CA in tls.crt or ca.crt signed {_subject(chain[-1])}, whose issuer is "
                f"{_text(chain[-1].issuer)}",
                None,
            )
        chain.append(issuer)
    if fingerprint(chain[-1]) not in root_fingerprints:
        return Chain("the chain in tls.crt is too long", None)
    until = min(link.not_valid_after_utc for link in chain)
    return Chain("", until, fingerprint(chain[-1]))


def by_subject(candidates: Iterable[x509.Certificate]) -> BySubject:
    """Group certificates by subject, without duplicates."""
    groups: dict[bytes, list[x509.Certificate]] = defaultdict(list)
    for certificate in dict.fromkeys(candidates):
        groups[names(certificate.tbs_certificate_bytes)[1]].append(certificate)
    return groups


def signers(certificate: x509.Certificate, candidates: BySubject) -> Iterator[x509.Certificate]:
    """Yield the candidates that signed a certificate, in their order.

    Iteration raises RefusedFileError if more than SAME_SUBJECT_MAX candidates have the name of its
    issuer, or if one of them has a key that is too expensive to check.
    """
    matches = candidates.get(names(certificate.tbs_certificate_bytes)[0], ())
    for candidate in matches[:SAME_SUBJECT_MAX]:
        if _signed(certificate, candidate):
            yield candidate
    if len(matches) > SAME_SUBJECT_MAX:
        raise RefusedFileError(
            f"{len(matches)} certificates are named {_subject(matches[0])}, and up to "
            f"{SAME_SUBJECT_MAX} of one name are tried: remove those that are no longer used"
        )


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        check_public_key(issuer.public_key())
        certificate.verify_directly_issued_by(issuer)
    except RefusedFileError as error:
        raise RefusedFileError(f"certificate {_subject(issuer)}: {error}") from error
    except (*UNREADABLE, InvalidSignature):
        return False
    return True


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        extensions = certificate.extensions
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (*UNREADABLE, x509.ExtensionNotFound):
        return False


def _subject(certificate: x509.Certificate) -> str:
    return _text(certificate.subject) or f"serial {certificate.serial_number:x}"


def _text(name: x509.Name) -> str:
    return name.rfc4514_string()[:NAME_MAX]
