"""Parser of OpenPGP signatures (RFC 9580, chapter 5.2).

Uses hashing and contracts.api.values.openpgp_packets. Called by contracts.api.values.openpgp_parts.
The behavior follows the server (ProtonMail/go-crypto 1.3.0 and 1.4.1, packet/signature.go): it
ignores some signatures as if they were absent, and others make the whole key unreadable. The
checksum of a signature is compared, but the signature is not verified: damaged keys are detected,
forged ones are not.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from contracts.api.values.openpgp_packets import Cursor, NotAKeyError, each_subpacket

MALFORMED: Final = "a signature in it is malformed"
_NUMBERS: Mapping[int, int] = {1: 1, 3: 1, 17: 2, 19: 2, 22: 2}
"""Number of integers in a signature of RSA (either use), DSA, ECDSA, EdDSA (legacy)."""
_OCTETS: Mapping[int, int] = {27: 64, 28: 114}
"""Number of octets in a signature of Ed25519, Ed448."""
SIGNING: Final = frozenset({*_NUMBERS, *_OCTETS})
CROSS_SIGNATURE: Final = 0x19
MAY_SIGN: Final = 0x02
_SHA1 = 2
_HASHES: Mapping[int, str] = {
    _SHA1: "sha1",
    8: "sha256",
    9: "sha384",
    10: "sha512",
    11: "sha224",
    12: "sha3_256",
    14: "sha3_512",
}
_SALTS: Mapping[int, int] = {8: 16, 9: 24, 10: 32, 11: 16, 12: 16, 14: 32}
# The server knows the subpackets with a reader below, and these. It ignores a signature with an
# unknown critical subpacket.
_PLAIN = frozenset({11, 21, 22, 23, 24, 26, 28, 30})


def _is_notation(content: bytes) -> bool:
    name, value = content[4:6], content[6:8]
    size = int.from_bytes(name, "big") + int.from_bytes(value, "big")
    return len(content) >= 8 and len(content) == 8 + size


def _is_fingerprint(content: bytes) -> bool:
    return bool(content) and len(content) == (33 if content[0] >= 5 else 21)


_SHAPED: Mapping[int, Callable[[bytes], bool]] = {
    5: lambda content: len(content) == 2,
    6: lambda content: content.endswith(b"\0"),
    20: _is_notation,
    29: bool,
    35: _is_fingerprint,
    39: lambda content: len(content) % 2 == 0,
}
"""Subpackets of which the server checks only the format."""


class _IgnoredSignatureError(Exception):
    """The server ignores the signature as if it were absent."""


@dataclass(slots=True)
class _Statements:
    """The values in the subpackets of one signature."""

    version: int
    nested: bool
    created: int | None = None
    lifetime: int = 0
    key_lifetime: int = 0
    flags: int | None = None
    primary: bool = False
    key_id: str = ""
    fingerprint: str = ""
    crossed: bool = False
    count: int = 0


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature. Times are in seconds since 1970, lifetimes in seconds; 0 is unlimited."""

    kind: int
    created: int
    lifetime: int
    key_lifetime: int
    flags: int | None
    """The first octet of the key flags; None if it has none."""
    primary: bool
    key_id: str
    fingerprint: str
    """`key_id` and `fingerprint` of the issuer in upper-case hex; either may be ""."""
    crossed: bool
    """Whether it embeds the cross-signature of a signing subkey."""
    count: int
    """Number of its subpackets."""
    version: int = field(repr=False)
    digest: int = field(repr=False)
    signed: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    mark: bytes = field(repr=False)

    def fits(self, content: bytes) -> bool:
        """Return whether the checksum matches a signature over this content."""
        end = bytes((self.version, 0xFF)) + len(self.signed).to_bytes(4, "big")
        digest = hashlib.new(_HASHES[self.digest], usedforsecurity=False)
        digest.update(self.salt + content + self.signed + end)
        return digest.digest()[:2] == self.mark


def read_signature(body: bytes) -> Signature | None:
    """Read a signature; None for one that the server ignores. Raises NotAKeyError."""
    try:
        return _signature(Cursor(body), nested=False)
    except _IgnoredSignatureError:
        return None


def _signature(cursor: Cursor, *, nested: bool) -> Signature:
    version = cursor.number(1)
    if version not in (4, 6):
        raise _IgnoredSignatureError
    kind, algorithm, digest = cursor.take(3)
    readable = digest in _HASHES and not (version == 6 and digest == _SHA1)
    if algorithm not in SIGNING or not readable:
        raise _IgnoredSignatureError
    size = 4 if version == 6 else 2
    statements = _Statements(version, nested)
    hashed = cursor.take(cursor.number(size))
    signed = cursor.passed
    _read_into(statements, hashed, _READERS)
    _read_into(statements, cursor.take(cursor.number(size)), _UNSIGNED_READERS)
    if statements.created is None:
        raise NotAKeyError(MALFORMED)
    mark = cursor.take(2)
    salt = b""
    if version == 6:
        salt = cursor.take(cursor.number(1))
        if len(salt) != _SALTS[digest]:
            raise NotAKeyError(MALFORMED)
    _skip_numbers(cursor, algorithm, nested=nested)
    return Signature(
        kind=kind,
        created=statements.created,
        lifetime=statements.lifetime,
        key_lifetime=statements.key_lifetime,
        flags=statements.flags,
        primary=statements.primary,
        key_id=statements.key_id,
        fingerprint=statements.fingerprint,
        crossed=statements.crossed,
        count=statements.count,
        version=version,
        digest=digest,
        signed=signed,
        salt=salt,
        mark=mark,
    )


def _skip_numbers(cursor: Cursor, algorithm: int, *, nested: bool) -> None:
    for _ in range(_NUMBERS.get(algorithm, 0)):
        cursor.integer()
    cursor.take(_OCTETS.get(algorithm, 0))
    if not cursor.at_end and not nested:
        # The server would read the remaining bytes as the next packet.
        raise NotAKeyError(MALFORMED)


_Reader = Callable[[_Statements, bytes], None]


def _read_into(statements: _Statements, data: bytes, readers: Mapping[int, _Reader]) -> None:
    for kind, critical, content in each_subpacket(data):
        statements.count += 1
        reader = readers.get(kind)
        if reader is not None:
            reader(statements, content)
        elif readers is _READERS:
            _check_unread(kind, content, critical=critical)


def _check_unread(kind: int, content: bytes, *, critical: bool) -> None:
    fits = _SHAPED.get(kind)
    if fits is not None and not fits(content):
        raise NotAKeyError(MALFORMED)
    if fits is None and critical and kind not in _PLAIN:
        raise _IgnoredSignatureError


def _seconds(content: bytes) -> int:
    if len(content) != 4:
        raise NotAKeyError(MALFORMED)
    return int.from_bytes(content, "big")


def _created(statements: _Statements, content: bytes) -> None:
    statements.created = _seconds(content)


def _lifetime(statements: _Statements, content: bytes) -> None:
    statements.lifetime = _seconds(content)


def _key_lifetime(statements: _Statements, content: bytes) -> None:
    statements.key_lifetime = _seconds(content)


def _exportable(statements: _Statements, content: bytes) -> None:
    if not content:
        raise NotAKeyError(MALFORMED)
    if content[0] == 0:
        raise _IgnoredSignatureError


def _primary(statements: _Statements, content: bytes) -> None:
    if len(content) != 1:
        raise NotAKeyError(MALFORMED)
    statements.primary = content[0] > 0


def _flags(statements: _Statements, content: bytes) -> None:
    statements.flags = (statements.flags or 0) | (content[0] if content else 0)


def _key_id(statements: _Statements, content: bytes) -> None:
    if len(content) != 8:
        raise NotAKeyError(MALFORMED)
    if statements.version == 4:
        statements.key_id = content.hex().upper()


def _fingerprint(statements: _Statements, content: bytes) -> None:
    if not _is_fingerprint(content):
        raise NotAKeyError(MALFORMED)
    statements.fingerprint = content[1:].hex().upper()


def _embedded(statements: _Statements, content: bytes) -> None:
    # Only one level of nesting, so that the text cannot choose the depth of the recursion.
    if statements.nested or statements.crossed:
        raise NotAKeyError(MALFORMED)
    inner = _signature(Cursor(content), nested=True)
    if inner.kind != CROSS_SIGNATURE:
        raise NotAKeyError(MALFORMED)
    statements.crossed = True
    statements.count += inner.count


_UNSIGNED_READERS: Mapping[int, _Reader] = {16: _key_id, 32: _embedded, 33: _fingerprint}
"""Readers of subpackets that may be in the unsigned part."""
_READERS: Mapping[int, _Reader] = {
    **_UNSIGNED_READERS,
    2: _created,
    3: _lifetime,
    4: _exportable,
    9: _key_lifetime,
    25: _primary,
    27: _flags,
}
