"""Verification of a certificate chain up to a trusted CA, and its validity. Pure; no clock.

It reads certificates of users, with every key type that the server accepts: RSA, ECDSA, Ed25519.
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

# Longer chains are not in use, and servers and clients reject shorter ones already.
LONGEST_CHAIN = 8
# Each costs the check of a signature, per link. One name belongs to one CA, and to a second
# one while that is replaced.
NAMESAKES_MAX = 4
# Characters of a name in a message, which has 1,024 in all.
NAME_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Chain:
    """What leads from a certificate to a trusted authority."""

    problem: str
    """Why there is no chain, for a message; "" when there is one."""
    until: datetime | None
    """When its first link ends; None without a chain."""
    root: str = ""
    """Fingerprint of that authority."""


BySubject = Mapping[bytes, Sequence[x509.Certificate]]
"""Certificates by their subject as it is written in them."""


def read_all(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Read every certificate in a PEM text; raises ValueError when there is none or one is bad."""
    return certificates(pem)


def fingerprint(certificate: x509.Certificate) -> str:
    """SHA-256 of the certificate, in hexadecimal: the same that a TLS handshake shows."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def fingerprints(pem: bytes) -> tuple[str, ...]:
    """Name every certificate in a PEM text, in its order; raises ValueError as `read_all`."""
    return tuple(map(fingerprint, read_all(pem)))


def first_certificate(pem: bytes) -> bytes:
    """Return the first certificate of a PEM text alone; raises ValueError as `read_all`."""
    return read_all(pem)[0].public_bytes(serialization.Encoding.PEM)


def build(served: bytes, trusted: bytes) -> Chain:
    """Lead from the first certificate of `served`, through the others of it, to one of `trusted`.

    Both are PEM. Raises ValueError when one of them cannot be read.
    """
    leaf, *between = read_all(served)
    roots = read_all(trusted)
    root_fingerprints = set(map(fingerprint, roots))
    candidates = by_subject((*roots, *between))
    chain = [leaf]
    while fingerprint(chain[-1]) not in root_fingerprints and len(chain) < LONGEST_CHAIN:
        signed = signers(chain[-1], candidates)
        issuer = next(filter(_is_authority, signed), None)
        if issuer is None or issuer in chain:
            return Chain(
                f"no certificate in tls.crt or ca.crt signed {_who(chain[-1])}; it names "
                f"{_shown(chain[-1].issuer)} as its issuer",
                None,
            )
        chain.append(issuer)
    if fingerprint(chain[-1]) not in root_fingerprints:
        return Chain("the chain in tls.crt is too long", None)
    until = min(link.not_valid_after_utc for link in chain)
    return Chain("", until, fingerprint(chain[-1]))


def by_subject(candidates: Iterable[x509.Certificate]) -> BySubject:
    """Sort certificates by subject; duplicates count once."""
    sorted_out: dict[bytes, list[x509.Certificate]] = defaultdict(list)
    for one in dict.fromkeys(candidates):
        sorted_out[names(one.tbs_certificate_bytes)[1]].append(one)
    return sorted_out


def signers(certificate: x509.Certificate, candidates: BySubject) -> Iterator[x509.Certificate]:
    """Give those among the candidates that signed a certificate, in their order.

    Iterating raises RefusedFileError when more of them have the name of its issuer than are tried,
    or when one has a key that costs too much.
    """
    namesakes = candidates.get(names(certificate.tbs_certificate_bytes)[0], ())
    for one in namesakes[:NAMESAKES_MAX]:
        if _signed(certificate, one):
            yield one
    if len(namesakes) > NAMESAKES_MAX:
        raise RefusedFileError(
            f"{len(namesakes)} certificates are named {_who(namesakes[0])}, and up to "
            f"{NAMESAKES_MAX} of one name are tried: take out those that sign nothing any more"
        )


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        check_public_key(issuer.public_key())
        certificate.verify_directly_issued_by(issuer)
    except RefusedFileError as error:
        raise RefusedFileError(f"certificate {_who(issuer)}: {error}") from error
    except (*UNREADABLE, InvalidSignature):
        return False
    return True


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        extensions = certificate.extensions
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (*UNREADABLE, x509.ExtensionNotFound):
        return False


def _who(certificate: x509.Certificate) -> str:
    return _shown(certificate.subject) or f"serial {certificate.serial_number:x}"


def _shown(name: x509.Name) -> str:
    return name.rfc4514_string()[:NAME_SHOWN]
