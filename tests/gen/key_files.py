"""Key and certificate files of sizes and kinds that a library could not generate in time."""

from __future__ import annotations

import base64
import math
import random
from collections.abc import Iterable
from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import (
    CertificatePublicKeyTypes,
    PrivateKeyTypes,
)
from cryptography.x509.oid import NameOID

from tests.gen.secrets import NOW

# RFC 8410, RFC 5480 and RFC 3279: these object identifiers in DER.
DSA = bytes.fromhex("06072a8648ce380401")
DIFFIE_HELLMAN = bytes.fromhex("06092a864886f70d010301")
P256 = bytes.fromhex("06082a8648ce3d030107")
SIGNER = ec.generate_private_key(ec.SECP256R1())


def rsa_key(bits: int, exponent: int = 65537) -> rsa.RSAPrivateKey:
    """An RSA key of exactly that size, of two numbers that are not prime, which is fast."""
    draw = random.Random(bits)
    while True:
        p, q = (_odd(draw, bits // 2) for _ in range(2))
        period = math.lcm(p - 1, q - 1)
        if math.gcd(exponent, period) == math.gcd(p, q) == 1 and (p * q).bit_length() == bits:
            break
    private = pow(exponent, -1, period)
    numbers = rsa.RSAPrivateNumbers(
        p,
        q,
        private,
        private % (p - 1),
        private % (q - 1),
        pow(q, -1, p),
        rsa.RSAPublicNumbers(exponent, p * q),
    )
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


def _odd(draw: random.Random, bits: int) -> int:
    return draw.getrandbits(bits) | 3 << bits - 2 | 1


def key_pem(key: PrivateKeyTypes, *, older: bool = False, password: bytes | None = None) -> bytes:
    """A key as PEM, in PKCS#8 or in the older form of its kind."""
    formats = serialization.PrivateFormat
    how: serialization.KeySerializationEncryption = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    form = formats.TraditionalOpenSSL if older else formats.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, how)


def certificate(
    key: CertificatePublicKeyTypes,
    subject: str = "leaf",
    *,
    issuer: str = "root",
    ca: bool = False,
    extensions: Iterable[x509.ExtensionType] = (),
    serial: int = 1,
) -> bytes:
    """A certificate for a public key, signed by SIGNER with any issuer name."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key)
        .serial_number(serial)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(SIGNER, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def der(tag: int, *content: bytes) -> bytes:
    """One DER element."""
    body = b"".join(content)
    size = len(body)
    if size < 0x80:
        return bytes([tag, size]) + body
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(digits)]) + digits + body


def number(value: int) -> bytes:
    """One DER integer."""
    return der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def pem(label: str, content: bytes) -> bytes:
    """One PEM block."""
    text = base64.encodebytes(content).decode()
    return f"-----BEGIN {label}-----\n{text}-----END {label}-----\n".encode()


def dsa_pem(bits: int) -> bytes:
    """A DSA key in PKCS#8: a library computes its public half, which costs the cube of `bits`."""
    p, q, g, x = ((1 << bits - n) + 1 for n in range(4))
    algorithm = der(0x30, DSA, der(0x30, number(p), number(q), number(g)))
    return pem("PRIVATE KEY", der(0x30, number(0), algorithm, der(0x04, number(x))))


def diffie_hellman_pem(bits: int) -> bytes:
    """A Diffie-Hellman key in PKCS#8."""
    p, g, x = ((1 << bits - n) + 1 for n in range(3))
    algorithm = der(0x30, DIFFIE_HELLMAN, der(0x30, number(p), number(g)))
    return pem("PRIVATE KEY", der(0x30, number(0), algorithm, der(0x04, number(x))))


def rewritten(content: bytes, old: str, new: str) -> bytes:
    """The same PEM block with some bytes (hexadecimal digits) replaced."""
    label = content.split(b"-----")[1].decode().removeprefix("BEGIN ")
    body = base64.b64decode(content.split(b"-----")[2])
    before, after = bytes.fromhex(old), bytes.fromhex(new)
    assert before in body
    return pem(label, body.replace(before, after))


def other_curve(content: bytes) -> bytes:
    """The same PEM block with an unknown curve instead of P-256."""
    return rewritten(content, P256.hex(), "06082a8648ce3d030106")


def deep_json(levels: int) -> bytes:
    """A JSON object of that depth."""
    return b'{"a":' * levels + b"1" + b"}" * levels
