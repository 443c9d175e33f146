"""Reads files of users in Secrets, with size limits and accepted formats. Pure.

Called by managers.certs for certificates and keys of servers, by managers.bootstrap for the files
of a seal, and by managers.cluster for the CA of a connection.

Parsing a file blocks the event loop, for all clusters and for the renewal of the Lease. A thread
would not help: the libraries hold the GIL. Valid files are well below the limits, and a file within
the limits takes some tens of milliseconds. A file beyond a limit is refused before a library reads
it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from contextlib import contextmanager

from cryptography import x509
from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

from contracts.api.values.public_key import CURVES, RSA_BITS_MAX
from managers.context.authority_pem import UnreadableFileError
from managers.context.der import NotDerError, key_kind
from runtime.limits.nesting import too_deep

# The bundle of all public authorities has about 150 certificates and 300,000 bytes.
FILE_BYTES_MAX = 512 * 1024
PEM_BLOCKS_MAX = 256
# A TLS handshake carries no larger message.
CERTIFICATE_BYTES_MAX = 64 * 1024
# An RSA key of RSA_BITS_MAX has 4,700 bytes.
KEY_BYTES_MAX = 16 * 1024
# The TLS library of the server rejects RSA keys with a larger exponent (Go, crypto/rsa).
RSA_EXPONENT_BITS_MAX = 31
# Credentials of a cloud have about 2 kB, a dozen values, two levels and a dozen lines.
TEXT_BYTES_MAX = 64 * 1024
JSON_VALUES_MAX = 1000
JSON_LEVELS_MAX = 32
LINES_MAX = 1000

UNREADABLE = (
    ValueError,
    TypeError,
    RecursionError,
    InternalError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""Errors of the libraries for files with another format, and for files that they cannot use: a key
with a password, an unknown curve, contradictory extensions."""


class RefusedFileError(ValueError):
    """The file exceeds a limit. The text has the value, the limit and the next step."""


@contextmanager
def entry(name: str) -> Iterator[None]:
    """Prefix errors about a file with the name of its entry in the Secret."""
    try:
        yield
    except RefusedFileError as error:
        raise RefusedFileError(f"{name}: {error}") from error
    except UNREADABLE as error:
        raise UnreadableFileError(f"{name}: {error}") from error


def check_size(content: bytes, most: int = FILE_BYTES_MAX) -> None:
    """Raise RefusedFileError for a file of more than `most` bytes."""
    if len(content) > most:
        raise RefusedFileError(
            f"it has {len(content)} bytes, and up to {most} are read: remove what is not needed"
        )


def _check_pem(content: bytes) -> None:
    check_size(content)
    blocks = content.count(b"-----BEGIN ")
    if blocks > PEM_BLOCKS_MAX:
        raise RefusedFileError(
            f"it has {blocks} PEM blocks, and up to {PEM_BLOCKS_MAX} are read: remove the "
            "certificates that are not needed"
        )


def certificates(content: bytes) -> tuple[x509.Certificate, ...]:
    """Read all certificates of a PEM file.

    Raises UnreadableFileError if there is none or one is invalid, and RefusedFileError.
    """
    _check_pem(content)
    try:
        loaded = tuple(x509.load_pem_x509_certificates(content))
    except UNREADABLE as error:
        raise UnreadableFileError(str(error)) from error
    for position, certificate in enumerate(loaded, start=1):
        size = len(certificate.tbs_certificate_bytes)
        if size > CERTIFICATE_BYTES_MAX:
            raise RefusedFileError(
                f"its certificate number {position} has {size} bytes, and up to "
                f"{CERTIFICATE_BYTES_MAX} are read: issue one with fewer names"
            )
    return loaded


def private_key(content: bytes) -> PrivateKeyTypes:
    """Read the first private key of a PEM file, for its public key, or to sign if it is ECDSA.

    Raises UnreadableFileError. Raises RefusedFileError for a key that is too large, or of a type
    that the server does not accept.
    """
    _check_pem(content)
    key = _first_key(content)
    try:
        kind = key_kind(key)
    except NotDerError as error:
        raise UnreadableFileError(f"its private key cannot be read: {error}") from error
    if kind is None:
        # For other types, a library computes the public key, in cubic time.
        raise RefusedFileError(
            "its private key is none of RSA, ECDSA and Ed25519: use a key of one of these types"
        )
    if kind.bits > RSA_BITS_MAX:
        raise RefusedFileError(_too_large(kind.bits))
    try:
        # Skip the check that the factors of an RSA key are prime, which takes seconds: the operator
        # only compares the public key with that of a certificate. The server makes the check, and
        # reports an invalid key. The library never skips the checks of other types.
        return serialization.load_der_private_key(
            key, password=None, unsafe_skip_rsa_key_validation=True
        )
    except UNREADABLE as error:
        raise UnreadableFileError(str(error)) from error


def _first_key(content: bytes) -> bytes:
    """Return the bytes of the first PEM block with a private key without a password."""
    head, _, rest = content.partition(b"PRIVATE KEY-----")
    label = head.rpartition(b"-----BEGIN ")[2] + b"PRIVATE KEY-----"
    body, end, _ = rest.partition(b"-----END " + label)
    if not end:
        raise UnreadableFileError("it has no PEM block of a private key")
    if b"ENCRYPTED" in label or b"ENCRYPTED" in body:
        raise UnreadableFileError("its private key has a password")
    try:
        key = base64.b64decode(b"".join(body.split()), validate=True)
    except binascii.Error:
        raise UnreadableFileError("its private key is not base64") from None
    if len(key) > KEY_BYTES_MAX:
        raise RefusedFileError(
            f"its private key has {len(key)} bytes, and up to {KEY_BYTES_MAX} are read: create an "
            f"RSA key of up to {RSA_BITS_MAX} bits, or an ECDSA key"
        )
    return key


def check_public_key(key: PublicKeyTypes) -> None:
    """Raise RefusedFileError for a public key with which a signature check is expensive.

    The server does not accept the refused keys either.
    """
    is_supported = isinstance(key, rsa.RSAPublicKey | ed25519.Ed25519PublicKey)
    if not is_supported and not (
        isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in CURVES
    ):
        raise RefusedFileError(
            "its key is none of RSA, ECDSA (P-256, P-384, P-521) and Ed25519: use a CA with a key "
            "of one of these types"
        )
    if not isinstance(key, rsa.RSAPublicKey):
        return
    if key.key_size > RSA_BITS_MAX:
        raise RefusedFileError(_too_large(key.key_size))
    exponent = key.public_numbers().e.bit_length()
    if exponent > RSA_EXPONENT_BITS_MAX:
        raise RefusedFileError(
            f"its RSA key has a public exponent of {exponent} bits, and up to "
            f"{RSA_EXPONENT_BITS_MAX} are read: create a key with the usual exponent, 65537"
        )


def _too_large(bits: int) -> str:
    return (
        f"its RSA key has {bits} bits, and up to {RSA_BITS_MAX} are read: create a smaller one, "
        "or an ECDSA key"
    )


def is_json_object(content: bytes) -> bool:
    """Return whether a file is one JSON object. Raises RefusedFileError."""
    if not content.lstrip().startswith(b"{"):
        return False
    check_size(content, TEXT_BYTES_MAX)
    # Before the parser runs: each value follows one of these delimiters.
    values = sum(map(content.count, (b",", b"[", b"{")))
    if values > JSON_VALUES_MAX:
        raise RefusedFileError(
            f"its JSON has {values} values, and up to {JSON_VALUES_MAX} are read: remove what is "
            "not needed"
        )
    try:
        value = json.loads(content)
    except RecursionError:
        raise RefusedFileError(_TOO_DEEP) from None
    except ValueError:
        return False
    if too_deep(value, JSON_LEVELS_MAX) is not None:
        raise RefusedFileError(_TOO_DEEP)
    return isinstance(value, dict)


def lines(content: bytes) -> list[str]:
    """Read a file of lines. Raises UnreadableFileError, RefusedFileError."""
    check_size(content, TEXT_BYTES_MAX)
    count = content.count(b"\n") + 1
    if count > LINES_MAX:
        raise RefusedFileError(
            f"it has {count} lines, and up to {LINES_MAX} are read: remove what is not needed"
        )
    try:
        return content.decode().split("\n")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(str(error)) from error


_TOO_DEEP = f"its JSON is nested deeper than {JSON_LEVELS_MAX} levels: reduce the nesting"
