"""Parser of OpenPGP packets from base64, with bounds (RFC 9580, chapters 4.2 and 4.3).

Uses the standard library. Called by contracts.api.values.openpgp, openpgp_parts and
openpgp_signature. The text comes from a tenant: the bounds below limit every loop.
"""

import binascii
from collections.abc import Iterator
from typing import Final, NamedTuple

TEXT_MAX: Final = 16384
"""Characters of base64; the schema of the field has the same bound."""
PACKETS_MAX: Final = 128
SUBPACKETS_MAX: Final = 1024
"""In all signatures of one key. An export of gpg has about ten in each."""
SUBPACKETS_OF_ONE: Final = 128
"""In one signature."""
_LESS = "add --export-options export-minimal"
_ARMOR = "-----BEGIN"
_PARTIAL = 224


class NotAKeyError(ValueError):
    """The text is not a public key that the server can encrypt to. Messages have at most 80
    characters."""


class Packet(NamedTuple):
    """One packet: its type and its content."""

    tag: int
    body: bytes


class Cursor:
    """Reads bytes from the first to the last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Whether all bytes were read."""
        return self._at >= len(self._data)

    @property
    def passed(self) -> bytes:
        """The bytes that were read."""
        return self._data[: self._at]

    def take(self, count: int) -> bytes:
        """Read `count` bytes. Raises NotAKeyError if there are fewer."""
        end = self._at + count
        if end > len(self._data):
            raise NotAKeyError("it is cut short")
        part = self._data[self._at : end]
        self._at = end
        return part

    def number(self, size: int) -> int:
        """Read an unsigned number of `size` bytes."""
        return int.from_bytes(self.take(size), "big")

    def integer(self) -> tuple[int, bytes]:
        """Read a multiprecision integer; return its bits and its bytes (RFC 9580, 3.2)."""
        bits = self.number(2)
        return bits, self.take((bits + 7) // 8)


def packets_of(text: str) -> tuple[Packet, ...]:
    """Read all packets of a text in base64. Raises NotAKeyError if the text is invalid."""
    packets: list[Packet] = []
    for packet in each_packet(text):
        packets.append(packet)
        if len(packets) > PACKETS_MAX:
            raise NotAKeyError(f"it has more than {PACKETS_MAX} packets; {_LESS}")
    return tuple(packets)


def each_packet(text: str) -> Iterator[Packet]:
    """Read the packets one by one; packets after the last one that is consumed are not checked."""
    cursor = Cursor(_decode(text))
    while not cursor.at_end:
        yield _packet(cursor)


def _decode(text: str) -> bytes:
    if len(text) > TEXT_MAX:
        raise NotAKeyError(f"it is longer than {TEXT_MAX} characters; {_LESS}")
    if _ARMOR in text:
        raise NotAKeyError("it is armored; export it without --armor")
    try:
        data = binascii.a2b_base64("".join(text.split()), strict_mode=True)
    except ValueError:
        # binascii.Error for invalid base64, ValueError for a text that is not ASCII.
        raise NotAKeyError("it is not base64") from None
    if data.startswith(_ARMOR.encode()):
        raise NotAKeyError("it is armored; export it without --armor")
    return data


def _packet(cursor: Cursor) -> Packet:
    first = cursor.number(1)
    if not first & 0x80:
        raise NotAKeyError("it is not in the format of OpenPGP")
    if first & 0x40:
        return Packet(first & 0x3F, cursor.take(_new_length(cursor)))
    size = (1, 2, 4, 0)[first & 0x03]
    if not size:
        # An indeterminate length is valid only in messages, not in keys.
        raise NotAKeyError("it is not in the format of OpenPGP")
    return Packet(first >> 2 & 0x0F, cursor.take(cursor.number(size)))


def _new_length(cursor: Cursor) -> int:
    first = cursor.number(1)
    if _PARTIAL <= first < 255:
        raise NotAKeyError("it is not in the format of OpenPGP")
    return _length(cursor, first)


def _length(cursor: Cursor, first: int) -> int:
    if first < 192:
        return first
    if first < 255:
        return (first - 192 << 8) + cursor.number(1) + 192
    return cursor.number(4)


class Subpacket(NamedTuple):
    """One subpacket of a signature; `critical`: a reader that does not know it must ignore the
    signature."""

    kind: int
    critical: bool
    content: bytes


def each_subpacket(data: bytes) -> Iterator[Subpacket]:
    """Read the subpackets of a signature (RFC 9580, 5.2.3.7)."""
    cursor = Cursor(data)
    for _ in range(SUBPACKETS_OF_ONE):
        if cursor.at_end:
            return
        # Unlike packets, subpackets have no partial lengths: here, first octets of 224 to 254 begin
        # a length of two octets.
        body = cursor.take(_length(cursor, cursor.number(1)))
        if not body:
            raise NotAKeyError("a signature in it is malformed")
        yield Subpacket(body[0] & 0x7F, bool(body[0] & 0x80), body[1:])
    if not cursor.at_end:
        raise NotAKeyError(f"a signature in it has more than {SUBPACKETS_OF_ONE} subpackets")
