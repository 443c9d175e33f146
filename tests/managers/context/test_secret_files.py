"""managers.context.secret_files: files beyond a limit are refused, and all others are read."""

from __future__ import annotations

import json
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

from contracts.api.values.public_key import RSA_BITS_MAX
from managers.bootstrap.seal.secret import FILES_MAX, KEYS_MAX
from managers.certs.chain import LONGEST_CHAIN, SAME_SUBJECT_MAX
from managers.context.authority_pem import UnreadableFileError, ascii_pem, check_trusted
from managers.context.secret_files import (
    CERTIFICATE_BYTES_MAX,
    FILE_BYTES_MAX,
    JSON_LEVELS_MAX,
    JSON_VALUES_MAX,
    KEY_BYTES_MAX,
    LINES_MAX,
    PEM_BLOCKS_MAX,
    RSA_EXPONENT_BITS_MAX,
    TEXT_BYTES_MAX,
    RefusedFileError,
    certificates,
    check_public_key,
    entry,
    is_json_object,
    lines,
    private_key,
)
from managers.images.credentials import LOGINS_MAX, STARS_MAX
from tests.gen import key_files

ECDSA = key_files.SIGNER
PEM = key_files.key_pem(ECDSA)
CERTIFICATE = key_files.certificate(ECDSA.public_key())
LARGEST = key_files.rsa_key(RSA_BITS_MAX)


def public(key: PrivateKeyTypes) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


# sentence: (file, key)
READ: dict[str, tuple[bytes, PrivateKeyTypes]] = {
    "ECDSA": (PEM, ECDSA),
    "ECDSA in the older form": (key_files.key_pem(ECDSA, older=True), ECDSA),
    "the largest RSA key": (key_files.key_pem(LARGEST), LARGEST),
    "the largest in the older form": (key_files.key_pem(LARGEST, older=True), LARGEST),
    "behind its parameters, as openssl writes them": (
        key_files.pem("EC PARAMETERS", key_files.P256) + key_files.key_pem(ECDSA, older=True),
        ECDSA,
    ),
    "behind its certificate": (CERTIFICATE + PEM, ECDSA),
    "with line ends of Windows": (PEM.replace(b"\n", b"\r\n"), ECDSA),
    "the first of two": (PEM + key_files.key_pem(LARGEST), ECDSA),
}


@pytest.mark.parametrize(("content", "key"), READ.values(), ids=READ.keys())
def test_a_key_is_read(content: bytes, key: PrivateKeyTypes) -> None:
    assert public(private_key(content)) == public(key)


def test_ed25519_is_read() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    assert public(private_key(key_files.key_pem(key))) == public(key)


# sentence: (file, words of the message)
REFUSED: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "one bit more": (
        key_files.key_pem(key_files.rsa_key(RSA_BITS_MAX + 2)),
        ("8194 bits", "up to 8192", "ECDSA"),
    ),
    "many bytes": (
        key_files.pem("PRIVATE KEY", b"\0" * (KEY_BYTES_MAX + 1)),
        (f"{KEY_BYTES_MAX + 1} bytes", f"up to {KEY_BYTES_MAX}", "up to 8192 bits"),
    ),
    "DSA": (key_files.dsa_pem(64), ("none of RSA, ECDSA and Ed25519", "use a key")),
    "Diffie-Hellman": (key_files.diffie_hellman_pem(64), ("none of RSA, ECDSA and Ed25519",)),
    "a large file": (PEM + b"#" * FILE_BYTES_MAX, ("bytes", f"up to {FILE_BYTES_MAX}")),
    "many blocks": (
        CERTIFICATE * PEM_BLOCKS_MAX + PEM,
        (f"{PEM_BLOCKS_MAX + 1} PEM blocks", f"up to {PEM_BLOCKS_MAX}"),
    ),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_key_beyond_a_limit_is_refused(content: bytes, words: tuple[str, ...]) -> None:
    with pytest.raises(RefusedFileError) as refused:
        private_key(content)
    for word in words:
        assert word in str(refused.value)


# sentence: (file, a word of the message)
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "no PEM block"),
    "a certificate": (CERTIFICATE, "no PEM block"),
    "the head alone": (PEM.partition(b"-----END")[0], "no PEM block"),
    "another end": (PEM.replace(b"END PRIVATE KEY", b"END RSA PRIVATE KEY"), "no PEM block"),
    "no base64": (b"-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----\n", "not base64"),
    "other bytes": (key_files.pem("PRIVATE KEY", b"garbage"), "cannot be read"),
    "a password": (key_files.key_pem(ECDSA, password=b"p"), "has a password"),
    "a password in the older form": (
        key_files.key_pem(ECDSA, older=True, password=b"p"),
        "has a password",
    ),
    "an unknown curve": (key_files.other_curve(PEM), "not supported"),
    "a number that is no key": (
        key_files.pem(
            "EC PRIVATE KEY", key_files.der(0x30, key_files.number(1), key_files.der(0x04, b"x"))
        ),
        "Invalid key",
    ),
}


@pytest.mark.parametrize(("content", "word"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_file_without_a_key_is_unreadable(content: bytes, word: str) -> None:
    with pytest.raises(UnreadableFileError, match=word):
        private_key(content)


def test_no_message_shows_the_key() -> None:
    body = PEM.splitlines()[1].decode()
    for content in (PEM.partition(b"-----END")[0], PEM + b"#" * FILE_BYTES_MAX):
        with pytest.raises(ValueError, match=r".") as error:
            private_key(content)
        assert body[:8] not in str(error.value)


def test_as_many_certificates_are_read_as_there_are_public_authorities() -> None:
    assert len(certificates(CERTIFICATE * PEM_BLOCKS_MAX)) == PEM_BLOCKS_MAX
    with pytest.raises(RefusedFileError, match=f"{PEM_BLOCKS_MAX + 1} PEM blocks"):
        certificates(CERTIFICATE * (PEM_BLOCKS_MAX + 1))


def test_a_certificate_of_many_names_is_refused() -> None:
    many = x509.SubjectAlternativeName([x509.DNSName(f"{n:060}.example.com") for n in range(1000)])
    large = key_files.certificate(ECDSA.public_key(), extensions=[many])
    with pytest.raises(RefusedFileError, match=f"number 2 has .* up to {CERTIFICATE_BYTES_MAX}"):
        certificates(CERTIFICATE + large)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        CERTIFICATE[:200],
        CERTIFICATE + b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
        key_files.rewritten(CERTIFICATE, "a003020102", "a003020107"),
    ],
    ids=["nothing", "garbage", "half of one", "a bad one behind it", "another version"],
)
def test_a_file_without_a_certificate_is_unreadable(content: bytes) -> None:
    with pytest.raises(UnreadableFileError):
        certificates(content)


# sentence: (key, a word of the message; "" when it is accepted)
PUBLIC: dict[str, tuple[PublicKeyTypes, str]] = {
    "the largest RSA key": (LARGEST.public_key(), ""),
    "P-384": (ec.generate_private_key(ec.SECP384R1()).public_key(), ""),
    "Ed25519": (ed25519.Ed25519PrivateKey.generate().public_key(), ""),
    "a larger RSA key": (key_files.rsa_key(10240).public_key(), "10240 bits, and up to 8192"),
    "an exponent as long as the key": (
        rsa.RSAPublicNumbers((1 << 2047) + 1, (1 << 2048) - 1).public_key(),
        "2048 bits, and up to 31",
    ),
    "an unsupported curve": (
        ec.generate_private_key(ec.BrainpoolP512R1()).public_key(),
        "P-256, P-384, P-521",
    ),
    "DSA": (
        dsa.DSAPublicNumbers(
            3, dsa.DSAParameterNumbers((1 << 2047) + 1, (1 << 255) + 1, 2)
        ).public_key(),
        "none of RSA",
    ),
}


@pytest.mark.parametrize(("key", "word"), PUBLIC.values(), ids=PUBLIC.keys())
def test_an_expensive_public_key_is_refused(key: PublicKeyTypes, word: str) -> None:
    if not word:
        check_public_key(key)
        return
    with pytest.raises(RefusedFileError, match=word):
        check_public_key(key)


# sentence: (file, whether it is one, a word of the message)
JSON: dict[str, tuple[bytes, bool, str]] = {
    "an object": (b' {"a": [1]}', True, ""),
    "as deep as allowed": (key_files.deep_json(JSON_LEVELS_MAX), True, ""),
    "deeper": (key_files.deep_json(JSON_LEVELS_MAX + 1), False, f"{JSON_LEVELS_MAX} levels"),
    "deeper than the limit of decoders": (
        b'{"a":' + b"[" * (JSON_VALUES_MAX - 1),
        False,
        f"{JSON_LEVELS_MAX} levels",
    ),
    "many values": (
        json.dumps({"a": [0] * JSON_VALUES_MAX}).encode(),
        False,
        f"up to {JSON_VALUES_MAX}",
    ),
    "many bytes": (
        json.dumps({"a": "b" * TEXT_BYTES_MAX}).encode(),
        False,
        f"up to {TEXT_BYTES_MAX}",
    ),
    "a list": (b"[1]", False, ""),
    "a part": (b'{"a": ', False, ""),
    "bytes": (b'{"\xff": 1}', False, ""),
    "a number without end": (b'{"a": ' + b"1" * 5000 + b"}", False, ""),
}


@pytest.mark.parametrize(("content", "one", "word"), JSON.values(), ids=JSON.keys())
def test_json(content: bytes, one: bool, word: str) -> None:
    if not word:
        assert is_json_object(content) is one
        return
    with pytest.raises(RefusedFileError, match=word):
        is_json_object(content)


def test_lines_are_bounded() -> None:
    assert lines(b"a\r\nb") == ["a\r", "b"]
    with pytest.raises(RefusedFileError, match=f"{LINES_MAX + 1} lines, and up to {LINES_MAX}"):
        lines(b"\n" * LINES_MAX)
    with pytest.raises(RefusedFileError, match=f"up to {TEXT_BYTES_MAX}"):
        lines(b"a" * (TEXT_BYTES_MAX + 1))
    with pytest.raises(UnreadableFileError):
        lines(b"\xff")


def test_non_ascii_comments_are_accepted() -> None:
    """The bundle of public CAs has them; the TLS library raises TypeError for them."""
    bundle = "# Főtanúsítvány\n" + CERTIFICATE.decode()
    check_trusted(bundle)
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=ascii_pem(bundle))


def test_a_file_that_the_tls_library_cannot_read_is_unreadable() -> None:
    indented = "".join(f" {line}\n" for line in CERTIFICATE.decode().splitlines())
    assert certificates(indented.encode())
    with pytest.raises(UnreadableFileError, match="first character"):
        check_trusted(indented)
    with pytest.raises(UnreadableFileError, match="empty"):
        check_trusted("")


@pytest.mark.parametrize("error", [RefusedFileError, UnreadableFileError])
def test_errors_start_with_the_name_of_the_entry(error: type[ValueError]) -> None:
    with pytest.raises(error, match=r"tls\.key: too much"), entry("tls.key"):
        raise error("too much")
    with pytest.raises(UnreadableFileError, match=r"tls\.key: other"), entry("tls.key"):
        raise RecursionError("other")


def test_the_page_of_limits_lists_them() -> None:
    page = (Path(__file__).parents[3] / "docs" / "limits.md").read_text()
    chapter = page.partition("## Files in Secrets")[2].partition("\n## ")[0]
    rows = (
        f"{FILE_BYTES_MAX} bytes, {PEM_BLOCKS_MAX} PEM blocks",
        f"{CERTIFICATE_BYTES_MAX} bytes",
        f"RSA of up to {RSA_BITS_MAX} bits, ECDSA or Ed25519; {KEY_BYTES_MAX} bytes",
        f"an exponent of up to {RSA_EXPONENT_BITS_MAX}",
        f"{SAME_SUBJECT_MAX} that are tried; a chain has up to {LONGEST_CHAIN} links",
        f"{TEXT_BYTES_MAX} bytes, {JSON_VALUES_MAX} values, {JSON_LEVELS_MAX} levels",
        f"{TEXT_BYTES_MAX} bytes, {LINES_MAX} lines",
        f"{FILES_MAX}; of all its keys the first {KEYS_MAX} by name",
        f"{LOGINS_MAX}; up to {STARS_MAX} stars",
    )
    assert [row for row in rows if row not in chapter] == []
