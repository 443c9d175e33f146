"""Builds OpenPGP public keys packet by packet, to test keys that gpg does not create.

The checksums of signatures are valid, the signatures are zeros: who verifies
them refuses every key that is built here.
"""

import base64
import hashlib
from dataclasses import dataclass, replace
from typing import Any

from tests.contracts.api.pgp_keys import MADE

CERTIFIES, SIGNS, MESSAGES, STORAGE = 0x01, 0x02, 0x04, 0x08
POSITIVE, BINDING, CROSS, DIRECT = 0x13, 0x18, 0x19, 0x1F
KEY_REVOKED, SUBKEY_REVOKED, CERTIFICATION_REVOKED = 0x20, 0x28, 0x30
EDDSA, ECDH, RSA, ED25519, X25519 = 22, 18, 1, 27, 25
SIGNATURE, KEY, MARKER, TRUST, USER_ID, SUBKEY, ATTRIBUTE = 2, 6, 10, 12, 13, 14, 17
_ED25519 = bytes.fromhex("2b06010401da470f01")
CURVE25519 = bytes.fromhex("2b060104019755010501")
BRAINPOOL_T = bytes.fromhex("2b2403030208010108")
"""A curve that no server reads."""


def integer(bits: int) -> bytes:
    """A number of so many bits."""
    return bits.to_bytes(2, "big") + b"\xff" * ((bits + 7) // 8)


_MATERIAL = {
    EDDSA: bytes((len(_ED25519),)) + _ED25519 + integer(263),
    ECDH: bytes((len(CURVE25519),)) + CURVE25519 + integer(263) + b"\x03\x01\x08\x07",
    RSA: integer(2048) + integer(17),
    16: integer(1024) * 3,
    17: integer(1024) * 4,
    ED25519: bytes(32),
    X25519: bytes(32),
}


def ecdh_on(curve: bytes) -> bytes:
    """The numbers of an ECDH key on another curve."""
    return bytes((len(curve),)) + curve + integer(263) + b"\x03\x01\x08\x07"


@dataclass(frozen=True)
class Part:
    """A key or subkey."""

    algorithm: int
    created: int = MADE
    version: int = 4
    material: bytes | None = None

    @property
    def body(self) -> bytes:
        """Its packet without the header."""
        given = self.material
        material = _MATERIAL.get(self.algorithm, b"") if given is None else given
        size = len(material).to_bytes(4, "big") if self.version > 4 else b""
        head = bytes((self.version,)) + self.created.to_bytes(4, "big") + bytes((self.algorithm,))
        return head + size + material

    @property
    def hashed(self) -> bytes:
        """The bytes that a signature covers."""
        if self.version == 4:
            return b"\x99" + len(self.body).to_bytes(2, "big") + self.body
        return b"\x9b" + len(self.body).to_bytes(4, "big") + self.body

    @property
    def fingerprint(self) -> str:
        """Upper-case hex."""
        digest = hashlib.sha1 if self.version == 4 else hashlib.sha256
        return digest(self.hashed).hexdigest().upper()

    @property
    def key_id(self) -> str:
        """The sixteen digits that users see."""
        return self.fingerprint[-16:] if self.version == 4 else self.fingerprint[:16]


PRIMARY = Part(EDDSA)
ENCRYPTS = Part(ECDH)
ALICE = b"Alice <alice@example.com>"


def subpacket(kind: int, content: bytes) -> bytes:
    """One statement of a signature."""
    return bytes((len(content) + 1, kind)) + content


@dataclass(frozen=True)
class Sig:
    """A signature by PRIMARY, unless another issuer is named."""

    kind: int
    flags: int | None = None
    created: int | None = MADE
    key_lifetime: int = 0
    lifetime: int = 0
    primary: bool = False
    extra: bytes = b""
    """Further signed statements."""
    crossed: bool = False
    issuer: Part | None = PRIMARY
    by_id: bool = False
    """The issuer is named outside of the signed part, by its key id alone."""
    algorithm: int = EDDSA
    digest: int = 8
    version: int = 4
    mark: bytes | None = None

    def body(self, content: bytes) -> bytes:
        """Its packet without the header, over this content."""
        statements = self._statements()
        wide = 4 if self.version == 6 else 2
        head = bytes((self.version, self.kind, self.algorithm, self.digest))
        signed = head + len(statements).to_bytes(wide, "big") + statements
        salt = bytes(16) if self.version == 6 else b""
        end = bytes((self.version, 0xFF)) + len(signed).to_bytes(4, "big")
        mark = hashlib.sha256(salt + content + signed + end).digest()[:2]
        outside = b""
        if self.issuer and self.by_id:
            outside = subpacket(16, bytes.fromhex(self.issuer.key_id))
        data = signed + len(outside).to_bytes(wide, "big") + outside
        numbers = {ED25519: bytes(64), RSA: integer(2048)}.get(self.algorithm, integer(256) * 2)
        if self.version == 6:
            salt = bytes((16,)) + salt
        return data + (self.mark or mark) + salt + numbers

    def _statements(self) -> bytes:
        parts = []
        if self.issuer and not self.by_id:
            version = bytes((self.issuer.version,))
            parts.append(subpacket(33, version + bytes.fromhex(self.issuer.fingerprint)))
        for kind, value in ((2, self.created), (3, self.lifetime), (9, self.key_lifetime)):
            if value:
                parts.append(subpacket(kind, value.to_bytes(4, "big")))
        if self.primary:
            parts.append(subpacket(25, b"\x01"))
        if self.flags is not None:
            parts.append(subpacket(27, bytes((self.flags,))))
        if self.crossed:
            parts.append(subpacket(32, Sig(CROSS).body(b"")))
        return b"".join(parts) + self.extra


Packet = tuple[int, bytes]


def user_id(*signatures: Sig, name: bytes = ALICE, key: Part = PRIMARY) -> list[Packet]:
    """A user ID and the signatures about it."""
    content = key.hashed + b"\xb4" + len(name).to_bytes(4, "big") + name
    return [(USER_ID, name), *((SIGNATURE, signature.body(content)) for signature in signatures)]


def subkey(part: Part, *signatures: Sig, key: Part = PRIMARY) -> list[Packet]:
    """A subkey and the signatures about it."""
    content = key.hashed + part.hashed
    return [
        (SUBKEY, part.body),
        *((SIGNATURE, signature.body(content)) for signature in signatures),
    ]


def about_key(signature: Sig, key: Part = PRIMARY) -> Packet:
    """A signature about the key itself."""
    return SIGNATURE, signature.body(key.hashed)


SELF = Sig(POSITIVE, CERTIFIES | SIGNS)
BOUND = Sig(BINDING, MESSAGES | STORAGE)
OWNER = user_id(SELF)
WHOLE: list[Packet] = [(KEY, PRIMARY.body), *OWNER, *subkey(ENCRYPTS, BOUND)]


def whole_key(part: Part = ENCRYPTS, **changes: Any) -> list[Packet]:
    """A whole key whose subkey is this one, bound by a signature with such changes."""
    return [(KEY, PRIMARY.body), *OWNER, *subkey(part, replace(BOUND, **changes))]


def text(*packets: Packet) -> str:
    """The packets in base64."""
    return base64.b64encode(binary(*packets)).decode()


def binary(*packets: Packet) -> bytes:
    """The packets, each with a header of the new format."""
    return b"".join(
        bytes((0xC0 | tag, 255)) + len(body).to_bytes(4, "big") + body for tag, body in packets
    )
