"""e2e.harness.leaks: the values that are searched for."""

import base64

import pytest

from e2e.harness.leaks import markers
from runtime.types import Object

TOKEN = b"s.0123456789abcdefghij"
KEY = bytes(range(32))
PEM = b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nAAAA\n-----END-----\n"


def secret(**data: bytes) -> Object:
    encoded = {key.replace("_", "."): base64.b64encode(value) for key, value in data.items()}
    return {"metadata": {"name": "x"}, "data": {k: v.decode() for k, v in encoded.items()}}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (TOKEN, b'{"msg":"token is s.0123456789abcdefghij"}'),
        (KEY, b"key " + KEY.hex().encode()),
        (KEY, b"key " + base64.b64encode(KEY)),
        (PEM, b'{"msg":"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\nAAAA"}'),
    ],
)
def test_a_secret_is_found_in_each_encoding(value: bytes, said: bytes) -> None:
    assert any(marker.text in said for marker in markers([secret(value=value)]))


def test_public_or_short_values_are_ignored() -> None:
    public = secret(ca_crt=PEM, username=b"a-name-of-some-length", pin=b"1234")
    assert [
        marker for marker in markers([public]) if b"1234" in marker.text or b"name" in marker.text
    ] == []
    assert list(markers([secret(ca_crt=PEM)])) == []


def test_a_leak_is_reported_without_the_secret() -> None:
    (source,) = {marker.source for marker in markers([secret(token=TOKEN)])}
    assert source == "Secret x, token"
