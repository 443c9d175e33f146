"""managers.bootstrap.seal.secret: facts about the format are kept, the content never is."""

import base64
import dataclasses
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from contracts.records.secrets import CredentialFacts
from e2e.harness import certificates
from managers.bootstrap.seal.secret import FILES_MAX, KEYS_MAX, credential_facts, fingerprint
from tests import gen
from tests.gen import key_files

KEY = bytes(range(32))


def facts(content: bytes) -> CredentialFacts:
    (credential_fact,) = credential_facts({"k": base64.b64encode(content).decode()}).values()
    return credential_fact


@pytest.mark.parametrize(
    "content",
    [KEY, KEY.hex().encode(), base64.b64encode(KEY), base64.urlsafe_b64encode(KEY).rstrip(b"=")],
    ids=["raw", "hex", "base64", "base64 of URLs"],
)
def test_a_key_is_recognized_in_every_encoding_of_the_server(content: bytes) -> None:
    credential = facts(content)
    assert credential.unseal_key
    assert credential.fingerprint == fingerprint(KEY)


@pytest.mark.parametrize(
    "content", [b"", KEY[:31], KEY + b"\n", b"g" * 64, b"!" * 43, KEY.hex().encode() + b"\n"]
)
def test_content_that_the_server_rejects_is_not_a_key(content: bytes) -> None:
    credential = facts(content)
    assert not credential.unseal_key
    assert credential.fingerprint == ""


def test_fingerprints_differ_and_do_not_contain_the_key() -> None:
    other = fingerprint(KEY[::-1])
    assert other != fingerprint(KEY)
    assert KEY.hex()[:8] not in fingerprint(KEY)


def test_a_certificate_and_its_key_have_the_same_public_key() -> None:
    signed = certificates.authority("a")
    certificate, private = signed.pem, signed.key_pem
    stranger = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    assert facts(certificate).certificate
    assert facts(certificate).public_key == facts(private).public_key != ""
    assert facts(stranger).public_key not in ("", facts(certificate).public_key)


@pytest.mark.parametrize(
    "content", [b"-----BEGIN CERTIFICATE-----\nx", b"-----BEGIN PRIVATE KEY-----\nx"]
)
def test_invalid_pem_is_neither_certificate_nor_key(content: bytes) -> None:
    assert not facts(content).certificate
    assert facts(content).public_key == ""


def test_json_and_profiles_are_recognized() -> None:
    assert facts(b'{"type": "service_account"}').json_object
    assert not facts(b'["a"]').json_object
    assert not facts(b"{").json_object
    profile = gen.present(facts(b"[DEFAULT]\nuser=u\ntenancy=\nkey_file = /k\n").oci)
    assert profile.missing == ("fingerprint", "tenancy", "region")
    assert profile.key_file == "/k"
    for text in (b"[OTHER]\nuser=u\n", b"see [DEFAULT]\nuser=u\n", b"[DEFAULT]\nuser=\xff\n"):
        assert facts(text).oci is None
    assert facts(b" \n").blank
    assert facts(b"token\n").trailing_newline
    assert not facts(b"token").trailing_newline


# sentence: (profile, whether it has a user, file of its key); None if it is not a profile
PROFILES: dict[str, tuple[bytes, bool, str] | None] = {
    "with colons": (b"[DEFAULT]\nuser: u\nkey_file: /a=b\n", True, "/a=b"),
    "in capitals": (b"[DEFAULT]\nUSER=u\nKey_File=/k\n", True, "/k"),
    "with line ends of Windows": (b"[DEFAULT]\r\nuser=u\r\nkey_file=/k\r\n", True, "/k"),
    "behind another profile": (b"[OTHER]\nkey_file=/o\n[DEFAULT]\nuser=u\n", True, ""),
    "before another profile": (b"[DEFAULT]\nuser=u\n[OTHER]\nkey_file=/o\n", True, ""),
    "with comments": (b"[DEFAULT]\n#user=u\n; key_file=/k\n", False, ""),
    "with a name without a value": (b"[DEFAULT]\nuser\n", False, ""),
}


@pytest.mark.parametrize("row", PROFILES.values(), ids=PROFILES.keys())
def test_a_profile_is_read_line_by_line(row: tuple[bytes, bool, str]) -> None:
    content, user, key_file = row
    profile = gen.present(facts(content).oci)
    assert ("user" not in profile.missing) is user
    assert profile.key_file == key_file


# sentence: (file, a word of the problem)
REFUSED: dict[str, tuple[bytes, str]] = {
    "RSA of 10,240 bits": (key_files.key_pem(key_files.rsa_key(10240)), "10240 bits"),
    "a DSA key": (key_files.dsa_pem(12_000), "none of RSA"),
    "JSON that is deep": (key_files.deep_json(900), "32 levels"),
    "a profile without end": (b"[DEFAULT]\na" + b" " * 300_000 + b"b\n", "up to 65536"),
    "a profile of many lines": (b"[DEFAULT]\n" * 2000, "2001 lines"),
}


@pytest.mark.parametrize(("content", "word"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_exceeds_a_limit_has_only_a_problem(content: bytes, word: str) -> None:
    read = facts(content)
    assert word in read.problem
    assert (read.public_key, read.json_object, read.oci) == ("", False, None)
    assert read.size == len(content)


# Content for which the libraries raise other errors than ValueError.
STRANGE = {
    "UnsupportedAlgorithm": key_files.other_curve(key_files.key_pem(key_files.SIGNER, older=True)),
    "UnsupportedAlgorithm of a certificate": key_files.other_curve(
        key_files.certificate(key_files.SIGNER.public_key())
    ),
    "InvalidVersion": key_files.rewritten(
        key_files.certificate(key_files.SIGNER.public_key()), "a003020102", "a003020107"
    ),
    "TypeError": key_files.key_pem(key_files.SIGNER, password=b"p"),
    "InternalError": key_files.diffie_hellman_pem(12_000),
}


@pytest.mark.parametrize("content", STRANGE.values(), ids=STRANGE.keys())
def test_content_that_a_library_rejects_causes_no_crash(content: bytes) -> None:
    read = facts(content)
    assert (read.certificate, read.public_key) == (False, "")


def test_only_so_many_files_and_keys_are_read() -> None:
    pem = base64.b64encode(key_files.key_pem(key_files.SIGNER)).decode()
    data = {f"k{n:02}": pem for n in range(FILES_MAX + 2)} | {"k00-token": "eA==", "z": "eA=="}
    read = credential_facts(data)
    problems = {name for name, credential_fact in read.items() if credential_fact.problem}
    assert problems == {"k16", "k17"}
    assert f"file 17 of its Secret, and up to {FILES_MAX}" in read["k16"].problem
    assert read["k15"].public_key
    assert len(credential_facts({f"k{n:03}": "eA==" for n in range(200)})) == KEYS_MAX
    assert credential_facts({"k": "%%"}) == {}


def test_the_content_is_not_kept() -> None:
    marker = "marker-0123456789"
    secrets = (
        marker.encode(),
        json.dumps({"private_key": marker}).encode(),
        f"[DEFAULT]\nuser={marker}\nkey_file=/k\n".encode(),
        f"-----BEGIN CERTIFICATE-----\n{marker}".encode(),
    )
    for content in secrets:
        assert marker not in repr(dataclasses.asdict(facts(content)))
