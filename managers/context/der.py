"""Parses the outer levels of DER (ITU-T X.690). Pure.

Returns the kind and size of a private key, and the names in a certificate, before a library does
expensive computations with them. Called by managers.context.secret_files and managers.certs.chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

INTEGER, OCTETS, OBJECT, SEQUENCE, VERSION = 0x02, 0x04, 0x06, 0x30, 0xA0
# A length of more than four bytes exceeds the size limit of every file.
_LENGTH_DIGITS = 4
# RFC 8017, A.1.2: version, n, e, d, p, q and three more numbers.
_RSA_NUMBERS = 9
# Object identifiers of RFC 8017, RFC 5480 and RFC 8410, in DER.
_ALGORITHMS: Mapping[bytes, str] = {
    bytes.fromhex("2a864886f70d010101"): "RSA",
    bytes.fromhex("2a8648ce3d0201"): "ECDSA",
    bytes.fromhex("2b6570"): "Ed25519",
}


class NotDerError(ValueError):
    """The bytes are not the expected DER structure."""


@dataclass(frozen=True, slots=True)
class Element:
    """One value: its tag, its content, and all of its bytes."""

    tag: int
    content: bytes
    whole: bytes


@dataclass(frozen=True, slots=True)
class KeyKind:
    """The kind of a private key: RSA, ECDSA or Ed25519. `bits`: size of an RSA modulus, else 0."""

    name: str
    bits: int = 0


def elements(data: bytes) -> Iterator[Element]:
    """Yield consecutive values. Iteration raises NotDerError."""
    at = 0
    while at < len(data):
        start, end = _content(data, at)
        yield Element(data[at], data[start:end], data[at:end])
        at = end


def _content(data: bytes, at: int) -> tuple[int, int]:
    """Return start and end of the content of the value at offset `at`."""
    start = at + 2
    if start > len(data):
        raise NotDerError("it is truncated")
    size = data[at + 1]
    if size >= 0x80:
        digits = size - 0x80
        if not 0 < digits <= _LENGTH_DIGITS:
            raise NotDerError("it has no valid length")
        start += digits
        size = int.from_bytes(data[start - digits : start], "big")
    if start + size > len(data):
        raise NotDerError("it is truncated")
    return start, start + size


def _sequence(data: bytes, most: int) -> list[Element]:
    """Return at most `most` values of the SEQUENCE in `data`."""
    whole = list(islice(elements(data), 2))
    if [element.tag for element in whole] != [SEQUENCE]:
        raise NotDerError("it is not a SEQUENCE")
    return list(islice(elements(whole[0].content), most))


def key_kind(key: bytes) -> KeyKind | None:
    """Return the kind of a private key in PKCS#8, PKCS#1 or SEC 1; None for other kinds.

    Raises NotDerError.
    """
    parts = _sequence(key, _RSA_NUMBERS + 1)
    match [element.tag for element in parts]:
        case [0x02, 0x30, 0x04, *_]:  # RFC 5958: version, algorithm, key
            algorithm = next(elements(parts[1].content), None)
            name = _ALGORITHMS.get(algorithm.content) if algorithm else None
            if name == "RSA":
                return _rsa(_sequence(parts[2].content, _RSA_NUMBERS + 1))
            return None if name is None else KeyKind(name)
        case [0x02, 0x04, *_]:  # RFC 5915
            return KeyKind("ECDSA")
    return _rsa(parts)


def _rsa(numbers: list[Element]) -> KeyKind | None:
    if [element.tag for element in numbers] != [INTEGER] * _RSA_NUMBERS:
        return None
    return KeyKind("RSA", int.from_bytes(numbers[1].content, "big").bit_length())


def names(certificate: bytes) -> tuple[bytes, bytes]:
    """Return issuer and subject of a certificate (TBSCertificate, RFC 5280, 4.1), in DER.

    Raises NotDerError.
    """
    parts = _sequence(certificate, 7)
    if parts and parts[0].tag == VERSION:
        parts = parts[1:]
    if len(parts) < 5:
        raise NotDerError("it is not a certificate")
    return parts[2].whole, parts[4].whole
