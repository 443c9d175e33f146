"""managers.context.der: the kind and the size of a key, without arithmetic."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from hypothesis import given
from hypothesis import strategies as st

from managers.context.der import KeyKind, NotDerError, elements, key_kind, names
from tests.gen import key_files

FORMATS = serialization.PrivateFormat
RSA = key_files.rsa_key(2048)


def der(key: PrivateKeyTypes, form: serialization.PrivateFormat = FORMATS.PKCS8) -> bytes:
    return key.private_bytes(serialization.Encoding.DER, form, serialization.NoEncryption())


# sentence: (key, what it is)
KEYS: dict[str, tuple[bytes, KeyKind | None]] = {
    "RSA": (der(RSA), KeyKind("RSA", 2048)),
    "RSA in the older form": (der(RSA, FORMATS.TraditionalOpenSSL), KeyKind("RSA", 2048)),
    "a larger RSA key": (der(key_files.rsa_key(10240)), KeyKind("RSA", 10240)),
    "ECDSA": (der(ec.generate_private_key(ec.SECP521R1())), KeyKind("ECDSA")),
    "ECDSA in the older form": (
        der(key_files.SIGNER, FORMATS.TraditionalOpenSSL),
        KeyKind("ECDSA"),
    ),
    "Ed25519": (der(ed25519.Ed25519PrivateKey.generate()), KeyKind("Ed25519")),
    "Ed448": (der(ed448.Ed448PrivateKey.generate()), None),
    "DSA in the older form": (
        key_files.der(0x30, *(key_files.number(n) for n in range(1, 7))),
        None,
    ),
    "RSA of three primes": (
        key_files.der(0x30, *(key_files.number(n) for n in range(1, 10)), key_files.der(0x30)),
        None,
    ),
    "another algorithm": (
        key_files.der(
            0x30, key_files.number(0), key_files.der(0x30, key_files.DSA), key_files.der(0x04)
        ),
        None,
    ),
    "no algorithm": (
        key_files.der(0x30, key_files.number(0), key_files.der(0x30), key_files.der(0x04)),
        None,
    ),
}


@pytest.mark.parametrize(("key", "kind"), KEYS.values(), ids=KEYS.keys())
def test_a_key_is_known_by_its_form(key: bytes, kind: KeyKind | None) -> None:
    assert key_kind(key) == kind


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"\x30",
        b"\x30\x80",
        b"\x30\x85\0\0\0\0\0",
        b"\x30\x05\x02",
        b"\x02\x01\x01",
        b"\x30\0\0",
    ],
    ids=["nothing", "a tag", "no end", "a long length", "a part", "a number", "more behind it"],
)
def test_other_bytes_are_no_key(key: bytes) -> None:
    with pytest.raises(NotDerError):
        key_kind(key)


@given(st.binary(max_size=80))
def test_any_bytes_raise_only_the_documented_error(data: bytes) -> None:
    for read in (key_kind, names, lambda some: list(elements(some))):
        try:
            read(key_files.der(0x30, data))
        except NotDerError:
            continue


def test_the_names_of_a_certificate_are_those_that_a_library_reads() -> None:
    pem = key_files.certificate(key_files.SIGNER.public_key(), "leaf", issuer="root")
    loaded = x509.load_pem_x509_certificate(pem)
    issuer, subject = names(loaded.tbs_certificate_bytes)
    assert (issuer, subject) == (loaded.issuer.public_bytes(), loaded.subject.public_bytes())
