"""Does a certificate lead to an authority that is trusted, and until when. Pure; no clock.

Reads what others made, so any key type that the server takes is taken: RSA, ECDSA, Ed25519.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization

# Nobody builds longer ones, and servers and clients give up earlier.
LONGEST_CHAIN = 8


@dataclass(frozen=True, slots=True)
class Chain:
    """What leads from a certificate to a trusted authority."""

    problem: str
    """Why nothing does, for a person; "" when something does."""
    until: datetime | None
    """When its first link ends; None without a chain."""
    root: str = ""
    """Fingerprint of that authority."""


def read_all(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Read every certificate in a PEM text; raises ValueError when there is none or one is bad."""
    return tuple(x509.load_pem_x509_certificates(pem))


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
    known = set(map(fingerprint, roots))
    chain = [leaf]
    while fingerprint(chain[-1]) not in known and len(chain) < LONGEST_CHAIN:
        issuer = _issuer(chain[-1], (*roots, *between))
        if issuer is None or issuer in chain:
            return Chain(
                f"no certificate in tls.crt or ca.crt signed {_who(chain[-1])}; it names "
                f"{chain[-1].issuer.rfc4514_string()} as its issuer",
                None,
            )
        chain.append(issuer)
    if fingerprint(chain[-1]) not in known:
        return Chain("the chain in tls.crt is too long", None)
    until = min(link.not_valid_after_utc for link in chain)
    return Chain("", until, fingerprint(chain[-1]))


def _issuer(
    certificate: x509.Certificate, candidates: tuple[x509.Certificate, ...]
) -> x509.Certificate | None:
    return next((one for one in candidates if _signed(certificate, one)), None)


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
        constraints = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.ExtensionNotFound):
        return False
    return constraints.ca


def _who(certificate: x509.Certificate) -> str:
    return certificate.subject.rfc4514_string() or f"serial {certificate.serial_number:x}"
