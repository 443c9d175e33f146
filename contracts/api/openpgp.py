"""As much of OpenPGP as it takes to tell what a public key is (RFC 4880, RFC 9580).

Uses nothing but hashing. Called by the rules about recovery keys, and by the manager that hands
the shares out: the server names each share by the fingerprint of the key that it is encrypted to.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

_PUBLIC_KEY, _PUBLIC_SUBKEY, _SIGNATURE = 6, 14, 2
_SECRET_TAGS = (5, 7)
# RSA (either use), RSA to encrypt only, Elgamal, ECDH, X25519, X448.
_RSA = 1
_ENCRYPTING = frozenset({_RSA, 2, 16, 18, 25, 26})
_KEY_FLAGS, _ENCRYPT_FLAGS = 27, 0x0C
_ARMOUR = b"-----BEGIN"


class NotAKeyError(ValueError):
    """Why a text is no public key that a share could be encrypted to."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key; `fingerprint` is lower-case hex, "" for a version that we do not know."""

    fingerprint: str


def read_public_key(text: str) -> PublicKey:
    """Read the base64 of a binary key, as `gpg --export | base64` gives it.

    Raises NotAKeyError for what is none, for a private key, and for one that cannot encrypt.
    """
    packets = list(_packets(_decoded(text)))
    if any(tag in _SECRET_TAGS for tag, _ in packets):
        raise NotAKeyError("it is a private key, which nobody but its owner may see")
    if not packets or packets[0][0] != _PUBLIC_KEY or len(packets[0][1]) < 6:
        raise NotAKeyError("it does not start with a public key packet")
    if not _encrypts(packets):
        raise NotAKeyError("it has no part that can encrypt")
    return PublicKey(_fingerprint(packets[0][1]))


def _decoded(text: str) -> bytes:
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error:
        raise NotAKeyError("it is not base64") from None
    if data.startswith(_ARMOUR):
        raise NotAKeyError("it is armoured; export it without --armor")
    return data


def _packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and body of each packet; raises NotAKeyError where the bytes are none."""
    at = 0
    while at < len(data):
        first = data[at]
        if not first & 0x80:
            raise NotAKeyError("it is not in the format of OpenPGP")
        new = bool(first & 0x40)
        tag = first & 0x3F if new else first >> 2 & 0x0F
        length, start = _new_length(data, at + 1) if new else _old_length(data, at)
        if length < 0 or start + length > len(data):
            raise NotAKeyError("it is cut short")
        yield tag, data[start : start + length]
        at = start + length


def _new_length(data: bytes, at: int) -> tuple[int, int]:
    """Length of a body and where it starts; -1 for none (RFC 4880, 4.2.2)."""
    first = data[at] if at < len(data) else 255
    if first < 192:
        return first, at + 1
    if first < 224 and at + 1 < len(data):
        return (first - 192 << 8) + data[at + 1] + 192, at + 2
    if first == 255 and at + 5 <= len(data):
        return int.from_bytes(data[at + 1 : at + 5], "big"), at + 5
    return -1, at


def _old_length(data: bytes, at: int) -> tuple[int, int]:
    """The same for the older header (RFC 4880, 4.2.1)."""
    size = (1, 2, 4, 0)[data[at] & 0x03]
    start = at + 1 + size
    if not size or start > len(data):
        return -1, at
    return int.from_bytes(data[at + 1 : start], "big"), start


def _algorithm(body: bytes) -> int:
    return body[5] if len(body) > 5 else 0


def _encrypts(packets: list[tuple[int, bytes]]) -> bool:
    """Whether a subkey can encrypt, or the key itself is RSA and says that it may."""
    if any(tag == _PUBLIC_SUBKEY and _algorithm(body) in _ENCRYPTING for tag, body in packets):
        return True
    if _algorithm(packets[0][1]) != _RSA:
        return False
    return any(_flags(body) & _ENCRYPT_FLAGS for tag, body in packets if tag == _SIGNATURE)


def _flags(signature: bytes) -> int:
    """The key flags in the signed part of a version 4 signature; 0 when it has none."""
    if len(signature) < 6 or signature[0] != 4:
        return 0
    signed = signature[6 : 6 + int.from_bytes(signature[4:6], "big")]
    at = 0
    while at < len(signed):
        length, start = _new_length(signed, at)
        if length < 1 or start + length > len(signed):
            return 0
        if signed[start] & 0x7F == _KEY_FLAGS and length > 1:
            return signed[start + 1]
        at = start + length
    return 0


def _fingerprint(body: bytes) -> str:
    """RFC 4880, 12.2 and RFC 9580, 5.5.4."""
    if body[0] == 4:
        head = b"\x99" + len(body).to_bytes(2, "big")
        return hashlib.sha1(head + body, usedforsecurity=False).hexdigest()
    if body[0] == 6:
        return hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest()
    return ""
