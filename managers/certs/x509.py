"""Creates certificates (ECDSA P-256, which OpenBao and all clients accept), and parses others.

No I/O, and no clock: the caller passes the time. `cryptography` generates the keys from the random
source of the operating system.
"""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from contracts.records.secrets import CertificateFacts
from managers.certs.chain import by_subject, fingerprint, signers
from managers.certs.key_pair import AUTHORITY_LIFE, BACKDATE, SERVER_LIFE, KeyPair
from managers.context.secret_files import UNREADABLE, certificates, entry, private_key


def make_authority(cluster: str, now: datetime) -> KeyPair:
    """Create a self-signed CA. `now` is in UTC."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"{cluster} OpenBao Root CA")
    builder = (
        _builder(name, name, key, now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue_server(
    authority: KeyPair, dns_names: tuple[str, ...], addresses: tuple[str, ...], now: datetime
) -> KeyPair:
    """Issue a certificate for server and client use (peers present it when they join).

    Raises ValueError if the CA cannot be read.
    """
    issuer = certificates(authority.certificate)[0]
    signer = private_key(authority.key)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise ValueError("the key of the CA is not an elliptic curve key")
    key = ec.generate_private_key(ec.SECP256R1())
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in dns_names]
    alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    # Not longer than the CA: a chain is valid only until its first certificate expires.
    life = min(SERVER_LIFE, issuer.not_valid_after_utc - now)
    builder = (
        _builder(_name(dns_names[0]), issuer.subject, key, now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    return _pair(builder.sign(signer, hashes.SHA256()), key)


def read(pair: KeyPair, authority: bytes | None = None) -> CertificateFacts:
    """Read a certificate and its key, and check whether `authority` (PEM) signed it.

    Raises ValueError if certificate or key cannot be read, or exceeds a limit.
    """
    try:
        return _read(pair, authority)
    except UNREADABLE as error:
        raise ValueError(str(error)) from error


def _read(pair: KeyPair, authority: bytes | None) -> CertificateFacts:
    with entry(pair.entries[0]):
        certificate = certificates(pair.certificate)[0]
    with entry(pair.entries[1]):
        key = private_key(pair.key)
    dns: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        dns = frozenset(names.get_values_for_type(x509.DNSName))
        addresses = frozenset(map(str, names.get_values_for_type(x509.IPAddress)))
    except x509.ExtensionNotFound:
        pass
    return CertificateFacts(
        fingerprint=fingerprint(certificate),
        not_before=certificate.not_valid_before_utc,
        not_after=certificate.not_valid_after_utc,
        dns_names=dns,
        ip_addresses=addresses,
        key_matches=_public(certificate.public_key()) == _public(key.public_key()),
        issuer_fingerprint=_issuer(certificate, authority),
        serial=f"{certificate.serial_number:x}",
    )


def _issuer(certificate: x509.Certificate, authorities: bytes | None) -> str:
    """Return the fingerprint of the CA that signed the certificate; "" if none did."""
    if not authorities:
        return ""
    issuer = next(signers(certificate, by_subject(certificates(authorities))), None)
    return "" if issuer is None else fingerprint(issuer)


def _public(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "OpenBao Operator"),
            # X.509 limits a common name to 64 characters. Clients check the alternative names.
            x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64]),
        ]
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
