"""managers.bootstrap.seal_content: shapes are kept, content never is."""

from __future__ import annotations

import base64
import dataclasses
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from contracts.secret_facts import CredentialFacts
from e2e.harness import certificates
from managers.bootstrap.seal_content import KEYS_MAX, credential_facts, fingerprint

KEY = bytes(range(32))


def facts(content: bytes) -> CredentialFacts:
    (found,) = credential_facts({"k": base64.b64encode(content).decode()}).values()
    return found


@pytest.mark.parametrize(
    "content",
    [
        KEY,
        KEY.hex().encode(),
        base64.b64encode(KEY),
        base64.urlsafe_b64encode(KEY).rstrip(b"="),
    ],
    ids=["raw", "hex", "base64", "base64 of URLs"],
)
def test_the_key_is_told_in_every_spelling_of_the_server(content: bytes) -> None:
    found = facts(content)
    assert found.unseal_key
    assert found.fingerprint == fingerprint(KEY)


@pytest.mark.parametrize(
    "content",
    [b"", KEY[:31], KEY + b"\n", b"g" * 64, b"!" * 43, KEY.hex().encode() + b"\n"],
)
def test_what_the_server_would_refuse_is_no_key(content: bytes) -> None:
    found = facts(content)
    assert not found.unseal_key
    assert found.fingerprint == ""


def test_two_keys_have_two_fingerprints_and_neither_is_in_its_own() -> None:
    other = fingerprint(KEY[::-1])
    assert other != fingerprint(KEY)
    assert KEY.hex()[:8] not in fingerprint(KEY)


def test_a_certificate_and_its_key_are_known_to_belong_together() -> None:
    signed = certificates.authority("a")
    certificate, private = signed.pem, signed.key_pem
    stranger = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    assert facts(certificate).certificate
    assert facts(certificate).public_key == facts(private).public_key != ""
    assert facts(stranger).public_key not in ("", facts(certificate).public_key)


@pytest.mark.parametrize(
    "content", [b"-----BEGIN CERTIFICATE-----\nx", b"-----BEGIN PRIVATE KEY-----\nx"]
)
def test_what_only_looks_like_one_is_none(content: bytes) -> None:
    assert not facts(content).certificate
    assert facts(content).public_key == ""


def test_json_and_profiles_are_told() -> None:
    assert facts(b'{"type": "service_account"}').json_object
    assert not facts(b'["a"]').json_object
    assert not facts(b"{").json_object
    profile = facts(b"[DEFAULT]\nuser=u\ntenancy=\nkey_file = /k\n").oci
    assert profile is not None
    assert profile.missing == ("fingerprint", "tenancy", "region")
    assert profile.key_file == "/k"
    assert facts(b"[OTHER]\nuser=u\n").oci is None


def test_a_blank_file_and_a_newline_at_the_end_are_told() -> None:
    assert facts(b" \n").blank
    assert facts(b"token\n").trailing_newline
    assert not facts(b"token").trailing_newline


def test_nothing_of_the_content_is_kept() -> None:
    marker = "marker-0123456789"
    secrets = (
        marker.encode(),
        json.dumps({"private_key": marker}).encode(),
        f"[DEFAULT]\nuser={marker}\nkey_file=/k\n".encode(),
        f"-----BEGIN CERTIFICATE-----\n{marker}".encode(),
    )
    for content in secrets:
        assert marker not in repr(dataclasses.asdict(facts(content)))


def test_a_huge_secret_is_looked_at_only_so_far() -> None:
    assert len(credential_facts({f"k{n:03}": "eA==" for n in range(200)})) == KEYS_MAX


def test_what_is_no_base64_is_left_out() -> None:
    assert credential_facts({"k": "%%"}) == {}
