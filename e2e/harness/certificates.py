"""Certificates for TLS mode External: a CA, an intermediate CA, a leaf.

The leaf has an RSA key, which is common, but which the operator never creates.
"""

import base64
import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from runtime.types import Object

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True)
class SignedCertificate:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key as PEM."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    @property
    def serial(self) -> int:
        """The serial number of the certificate."""
        return self.certificate.serial_number


def authority(name: str, issuer: SignedCertificate | None = None) -> SignedCertificate:
    """Create a self-signed CA, or an intermediate CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    return _sign(name, key, issuer, names=(), days=30)


def leaf(
    issuer: SignedCertificate,
    names: tuple[str, ...],
    *,
    addresses: tuple[str, ...] = (),
    days: float = 30,
) -> SignedCertificate:
    """Create a server certificate with an RSA key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return _sign(names[0], key, issuer, names=(*names, *addresses), days=days)


def _sign(
    name: str, key: Key, issuer: SignedCertificate | None, *, names: tuple[str, ...], days: float
) -> SignedCertificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    now = datetime.now(UTC)
    begin = now - timedelta(hours=1) if days > 0 else now + timedelta(days=2 * days)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
    )
    if names:
        alternatives = x509.SubjectAlternativeName([_alternative(entry) for entry in names])
        builder = builder.add_extension(alternatives, critical=False)
    return SignedCertificate(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def secret(namespace: str, name: str, **files: bytes) -> Object:
    """Build a Secret; underscores in keys are replaced by dots."""
    return {
        "metadata": {"namespace": namespace, "name": name},
        "data": data(**files),
    }


def data(**files: bytes) -> Object:
    """Encode the entries of a Secret; underscores in keys are replaced by dots."""
    return {name.replace("_", "."): base64.b64encode(text).decode() for name, text in files.items()}
