"""The bytes of OpenPGP: base64 to packets, within bounds (RFC 9580, chapters 4.2 and 4.3).

Uses the standard library. Called by contracts.api.values.openpgp and its neighbours. The text is a
tenant's: no loop here is longer than the bounds below, whatever the text says.
"""

import binascii
from collections.abc import Iterator
from typing import Final, NamedTuple

TEXT_MAX: Final = 16384
"""Characters of base64; the schema of the field says the same."""
PACKETS_MAX: Final = 128
SUBPACKETS_MAX: Final = 1024
"""In all signatures of one key. An export of gpg has about ten in each."""
SUBPACKETS_OF_ONE: Final = 128
"""In one signature."""
_LESS = "add --export-options export-minimal"
_ARMOUR = "-----BEGIN"
_PARTIAL = 224


class NotAKeyError(ValueError):
    """Why a text is no public key that the server could encrypt to; at most 80 characters."""


class Packet(NamedTuple):
    """One packet: what it is, and its content."""

    tag: int
    body: bytes


class Cursor:
    """Reads bytes from the first to the last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self._at >= len(self._data)

    @property
    def passed(self) -> bytes:
        """What was read so far."""
        return self._data[: self._at]

    def take(self, count: int) -> bytes:
        """Read so many bytes. Raises NotAKeyError when there are fewer."""
        end = self._at + count
        if end > len(self._data):
            raise NotAKeyError("it is cut short")
        part = self._data[self._at : end]
        self._at = end
        return part

    def number(self, size: int) -> int:
        """Read an unsigned number of so many bytes."""
        return int.from_bytes(self.take(size), "big")

    def integer(self) -> tuple[int, bytes]:
        """Read a number that says its own length: its bits, its bytes (RFC 9580, 3.2)."""
        bits = self.number(2)
        return bits, self.take((bits + 7) // 8)


def packets_of(text: str) -> tuple[Packet, ...]:
    """Read all packets of a text in base64. Raises NotAKeyError where it holds none."""
    packets: list[Packet] = []
    for packet in each_packet(text):
        packets.append(packet)
        if len(packets) > PACKETS_MAX:
            raise NotAKeyError(f"it has more than {PACKETS_MAX} packets; {_LESS}")
    return tuple(packets)


def each_packet(text: str) -> Iterator[Packet]:
    """Read one packet after the other; what follows the last one taken is ignored."""
    cursor = Cursor(_decoded(text))
    while not cursor.at_end:
        yield _packet(cursor)


def _decoded(text: str) -> bytes:
    if len(text) > TEXT_MAX:
        raise NotAKeyError(f"it is longer than {TEXT_MAX} characters; {_LESS}")
    if _ARMOUR in text:
        raise NotAKeyError("it is armoured; export it without --armor")
    try:
        data = binascii.a2b_base64("".join(text.split()), strict_mode=True)
    except ValueError:
        # Its subclass binascii.Error for bad base64, and itself for what is not ASCII.
        raise NotAKeyError("it is not base64") from None
    if data.startswith(_ARMOUR.encode()):
        raise NotAKeyError("it is armoured; export it without --armor")
    return data


def _packet(cursor: Cursor) -> Packet:
    first = cursor.number(1)
    if not first & 0x80:
        raise NotAKeyError("it is not in the format of OpenPGP")
    if first & 0x40:
        return Packet(first & 0x3F, cursor.take(_new_length(cursor)))
    size = (1, 2, 4, 0)[first & 0x03]
    if not size:
        # Without a length the packet ends where the text ends: only messages may be so.
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
    """One statement of a signature; `critical`: who does not know it ignores the signature."""

    kind: int
    critical: bool
    content: bytes


def each_subpacket(data: bytes) -> Iterator[Subpacket]:
    """Read the statements of a signature (RFC 9580, 5.2.3.7)."""
    cursor = Cursor(data)
    for _ in range(SUBPACKETS_OF_ONE):
        if cursor.at_end:
            return
        # Not as for a packet: lengths that are partial there are of two bytes here.
        body = cursor.take(_length(cursor, cursor.number(1)))
        if not body:
            raise NotAKeyError("a signature in it is malformed")
        yield Subpacket(body[0] & 0x7F, bool(body[0] & 0x80), body[1:])
    if not cursor.at_end:
        raise NotAKeyError(f"a signature in it has more than {SUBPACKETS_OF_ONE} subpackets")
