"""The certificates of the cluster: one CA, one certificate per component, one ServiceAccount key.

They are created in a temporary folder, which is then renamed, so a killed process leaves no
incomplete set.
"""

import ipaddress
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a certificate: user (CN), groups (O), and SANs (DNS or IP)."""

    user: str
    groups: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


def make(folder: Path, subjects: dict[str, Subject]) -> None:
    """Fill ``folder`` with ca.crt, ca.key, sa.key, sa.pub and NAME.crt, NAME.key per subject.

    Does nothing if the folder exists.
    """
    if folder.exists():
        return
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _sign(Subject("rig-ca"), ca_key.public_key(), None, ca_key)
    _write(fresh, "ca", ca, ca_key)
    for name, subject in subjects.items():
        key = ec.generate_private_key(ec.SECP256R1())
        _write(fresh, name, _sign(subject, key.public_key(), ca, ca_key), key)
    # RSA because that is what clusters sign service account tokens with (RS256).
    account = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (fresh / "sa.key").write_bytes(_private(account))
    public = account.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (fresh / "sa.pub").write_bytes(public)
    fresh.rename(folder)


def _private(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write(
    folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
) -> None:
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(_private(key))


def _sign(
    subject: Subject,
    key: ec.EllipticCurvePublicKey,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    name = x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in subject.groups]
        + [x509.NameAttribute(NameOID.COMMON_NAME, subject.user)]
    )
    now = datetime.now(UTC)
    authority = issuer is None
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name if issuer is None else issuer.subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # Backdated: a clock step of the machine must not make the rig invalid.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(_key_usage(authority), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if not authority:
        usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
    if subject.addresses:
        names = x509.SubjectAlternativeName(_general_names(subject.addresses))
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _key_usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not authority,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _general_names(addresses: Sequence[str]) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = []
    for address in addresses:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(address)))
        except ValueError:
            names.append(x509.DNSName(address))
    return names
