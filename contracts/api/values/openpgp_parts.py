"""The parts of a public key: the key, its user IDs, its subkeys (RFC 9580, chapters 5.5 and 10.1).

Uses contracts.api.values.openpgp_packets and openpgp_signature. Called by
contracts.api.values.openpgp. Parts are assembled as the server does it (ProtonMail/go-crypto 1.3.0
and 1.4.1, openpgp/keys.go). A key that the server could not read is rejected, because a failed
first boot cannot be repeated.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from contracts.api.values.openpgp_packets import (
    SUBPACKETS_MAX,
    Cursor,
    NotAKeyError,
    Packet,
    each_subpacket,
)
from contracts.api.values.openpgp_signature import MAY_SIGN, SIGNING, Signature, read_signature

SIGNATURE, PUBLIC_KEY, PUBLIC_SUBKEY = 2, 6, 14
_MARKER, _TRUST, _USER_ID = 10, 12, 13
_SECRET_TAGS = (5, 7)
_USER_ATTRIBUTE, _PADDING = 17, 21
_FREE_TAGS = 40
"""Packets with this tag or a higher one are ignored."""
_CERTIFICATIONS, _CERTIFICATION_REVOKED = frozenset({0x10, 0x11, 0x12, 0x13}), 0x30
_BINDING, _DIRECT, _KEY_REVOKED, _SUBKEY_REVOKED = 0x18, 0x1F, 0x20, 0x28
RSA: Final = frozenset({1, 2, 3})
RSA_MINIMUM = 1024
"""Bits; Go refuses to encrypt to a smaller key."""
_ECDH, _ECDSA, _EDDSA = 18, 19, 22
# RSA (either use), RSA to encrypt only, Elgamal, ECDH, X25519, X448.
ENCRYPTING: Final = frozenset({1, 2, 16, _ECDH, 25, 26})
_LAYOUTS: Mapping[int, str] = {
    **dict.fromkeys(RSA, "nn"),
    16: "nnn",
    17: "nnnn",
    _ECDH: "cns",
    _ECDSA: "cn",
    _EDDSA: "cn",
}
"""The fields of a key: numbers (n), a curve (c), a short field with its length (s)."""
_OCTETS: Mapping[int, int] = {25: 32, 26: 56, 27: 32, 28: 57}
"""Octets of keys without numbers: X25519, X448, Ed25519, Ed448."""
_CURVE25519 = bytes.fromhex("2b060104019755010501")
_ED25519 = bytes.fromhex("2b06010401da470f01")
_WEIERSTRASS = (
    bytes.fromhex("2a8648ce3d030107"),
    bytes.fromhex("2b81040022"),
    bytes.fromhex("2b81040023"),
    bytes.fromhex("2b8104000a"),
    bytes.fromhex("2b2403030208010107"),
    bytes.fromhex("2b240303020801010b"),
    bytes.fromhex("2b240303020801010d"),
)
"""NIST P-256, P-384, P-521, secp256k1, and three Brainpool curves."""
_CURVES: Mapping[int, frozenset[bytes]] = {
    _ECDH: frozenset({*_WEIERSTRASS, _CURVE25519, bytes.fromhex("2b656f")}),
    _ECDSA: frozenset(_WEIERSTRASS),
    _EDDSA: frozenset({_ED25519, bytes.fromhex("2b6571")}),
}


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One key packet: the primary key, or a subkey."""

    version: int
    created: int
    algorithm: int
    bits: int
    """Bits of its first number: the size of an RSA key."""
    fingerprint: str
    """Upper-case hex; "" for an unknown version."""
    key_id: str
    hashed: bytes = field(repr=False)
    """The bytes of the key that are hashed for a signature."""


@dataclass(slots=True)
class UserId:
    """A user ID, and the primary key's signatures about it."""

    content: bytes
    certifications: list[Signature] = field(default_factory=list)
    revoked: int = 0


@dataclass(slots=True)
class Subkey:
    """A subkey, and the primary key's signatures about it."""

    key: KeyPart
    bindings: list[Signature] = field(default_factory=list)
    revoked: bool = False


@dataclass(slots=True)
class Certificate:
    """A public key with its user IDs, signatures and subkeys."""

    key: KeyPart
    user_ids: dict[bytes, UserId] = field(default_factory=dict)
    """User IDs that the primary key certified; the last one of each content."""
    direct: list[Signature] = field(default_factory=list)
    subkeys: list[Subkey] = field(default_factory=list)
    owner: UserId | Subkey | None = None
    """The subject of the next signature; None for the primary key."""
    spent: int = 0
    """Number of subpackets read so far."""


def read_certificate(packets: Iterable[Packet]) -> Certificate:
    """Assemble the packets of one key. Raises NotAKeyError."""
    packets = tuple(packets)
    if any(packet.tag in _SECRET_TAGS for packet in packets):
        raise NotAKeyError("it is a private key, which only its owner may have")
    if not packets or packets[0].tag != PUBLIC_KEY:
        raise NotAKeyError("it does not start with a public key packet")
    certificate = Certificate(read_key(packets[0].body))
    if certificate.key.algorithm not in SIGNING:
        raise NotAKeyError(f"key {certificate.key.key_id} cannot sign its own parts")
    for tag, body in packets[1:]:
        reader = _READERS.get(tag)
        if reader is not None:
            reader(certificate, body)
        elif tag < _FREE_TAGS:
            raise NotAKeyError(f"it has a packet of type {tag}, which no public key has")
    return certificate


def read_key(body: bytes) -> KeyPart:
    """Read a key packet. Raises NotAKeyError for one that the server cannot read."""
    cursor = Cursor(body)
    version, created, algorithm = cursor.number(1), cursor.number(4), cursor.number(1)
    fingerprint = fingerprint_of(body)
    if not fingerprint:
        raise NotAKeyError(f"it has a key of version {version}; the server reads 4 and 6")
    key_id = fingerprint[-16:] if version == 4 else fingerprint[:16]
    if version == 6:
        cursor.take(4)
    if algorithm not in ENCRYPTING | SIGNING or (version == 6 and algorithm == _EDDSA):
        raise NotAKeyError(f"key {key_id} uses algorithm {algorithm}, which the server cannot read")
    bits, curve = _material(cursor, algorithm)
    if curve not in _CURVES.get(algorithm, (b"",)) or (version == 6 and curve == _CURVE25519):
        raise NotAKeyError(f"key {key_id} uses a curve that the server cannot read")
    return KeyPart(version, created, algorithm, bits, fingerprint, key_id, _hash_input(body))


def _material(cursor: Cursor, algorithm: int) -> tuple[int, bytes]:
    """Read the key material; return the bits of its first number, and its curve."""
    sizes: list[int] = []
    curve = b""
    for part in _LAYOUTS.get(algorithm, ""):
        if part == "n":
            sizes.append(cursor.integer()[0])
        elif part == "c":
            curve = cursor.take(cursor.number(1))
        else:
            cursor.take(cursor.number(1))
    cursor.take(_OCTETS.get(algorithm, 0))
    if not cursor.at_end:
        # The server would read the remaining bytes as the next packet.
        raise NotAKeyError("a key in it is malformed")
    return (sizes[0] if sizes else 0), curve


def fingerprint_of(body: bytes) -> str:
    """Return the fingerprint of a key packet (RFC 9580, 5.5.4) in upper-case hex; "" for an unknown
    version."""
    if body[:1] == b"\x04":
        return hashlib.sha1(_hash_input(body), usedforsecurity=False).hexdigest().upper()
    if body[:1] == b"\x06":
        return hashlib.sha256(_hash_input(body)).hexdigest().upper()
    return ""


def _hash_input(body: bytes) -> bytes:
    if body[0] == 4:
        return b"\x99" + len(body).to_bytes(2, "big") + body
    return b"\x9b" + len(body).to_bytes(4, "big") + body


def _another_key(certificate: Certificate, body: bytes) -> None:
    raise NotAKeyError("it holds several keys, and the server takes the first; export one")


def _user_id(certificate: Certificate, body: bytes) -> None:
    certificate.owner = UserId(body)


def _subkey(certificate: Certificate, body: bytes) -> None:
    certificate.owner = Subkey(read_key(body))
    certificate.subkeys.append(certificate.owner)


def _signature(certificate: Certificate, body: bytes) -> None:
    signature = read_signature(body)
    if signature is None:
        return
    _spend(certificate, signature.count)
    if signature.kind == _KEY_REVOKED:
        raise NotAKeyError(f"key {certificate.key.key_id} is revoked")
    match certificate.owner:
        case UserId() as user_id:
            _about_user_id(certificate, user_id, signature)
        case Subkey() as subkey:
            _about_subkey(certificate, subkey, signature)
        case None:
            _about_key(certificate, signature)


def _spend(certificate: Certificate, count: int) -> None:
    certificate.spent += count
    if certificate.spent > SUBPACKETS_MAX:
        raise NotAKeyError(f"its signatures have more than {SUBPACKETS_MAX} subpackets")


def _about_key(certificate: Certificate, signature: Signature) -> None:
    # For version 4 the server uses only the certifications of user IDs.
    if (
        signature.kind == _DIRECT
        and certificate.key.version == 6
        and _is_own(certificate, signature)
    ):
        _check(certificate, signature, b"")
        certificate.direct.append(signature)


def _about_user_id(certificate: Certificate, user_id: UserId, signature: Signature) -> None:
    if signature.kind not in (*_CERTIFICATIONS, _CERTIFICATION_REVOKED):
        raise _misplaced_signature(signature, "a user ID")
    if not _is_own(certificate, signature):
        return
    length = len(user_id.content).to_bytes(4, "big")
    _check(certificate, signature, b"\xb4" + length + user_id.content)
    if signature.kind == _CERTIFICATION_REVOKED:
        user_id.revoked += 1
    else:
        user_id.certifications.append(signature)
    certificate.user_ids[user_id.content] = user_id


def _about_subkey(certificate: Certificate, subkey: Subkey, signature: Signature) -> None:
    if signature.kind not in (_BINDING, _SUBKEY_REVOKED):
        raise _misplaced_signature(signature, "a subkey")
    _check(certificate, signature, subkey.key.hashed)
    if (signature.flags or 0) & MAY_SIGN and not signature.crossed:
        raise NotAKeyError(f"subkey {subkey.key.key_id} may sign, and has not signed the key")
    if signature.kind == _SUBKEY_REVOKED:
        subkey.revoked = True
    else:
        subkey.bindings.append(signature)


def _is_own(certificate: Certificate, signature: Signature) -> bool:
    """Return whether the issuer is the primary key; other signatures are ignored."""
    key = certificate.key
    if signature.fingerprint:
        return signature.fingerprint == key.fingerprint
    return signature.key_id == key.key_id


def _check(certificate: Certificate, signature: Signature, content: bytes) -> None:
    if not signature.fits(certificate.key.hashed + content):
        raise NotAKeyError(f"a signature of key {certificate.key.key_id} is about something else")


def _misplaced_signature(signature: Signature, parent: str) -> NotAKeyError:
    return NotAKeyError(f"a signature of type {signature.kind:#04x} is out of place after {parent}")


def _marker(certificate: Certificate, body: bytes) -> None:
    if body != b"PGP":
        raise NotAKeyError("a marker packet in it is malformed")


def _trust(certificate: Certificate, body: bytes) -> None:
    """Ignore it like a marker: a signature after it is about the packet before it."""


def _user_attribute(certificate: Certificate, body: bytes) -> None:
    _spend(certificate, sum(1 for _ in each_subpacket(body)))
    certificate.owner = None


def _padding(certificate: Certificate, body: bytes) -> None:
    certificate.owner = None


_READERS: Mapping[int, Callable[[Certificate, bytes], None]] = {
    SIGNATURE: _signature,
    PUBLIC_KEY: _another_key,
    PUBLIC_SUBKEY: _subkey,
    _USER_ID: _user_id,
    _MARKER: _marker,
    _TRUST: _trust,
    _USER_ATTRIBUTE: _user_attribute,
    _PADDING: _padding,
}
