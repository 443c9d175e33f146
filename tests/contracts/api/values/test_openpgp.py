"""OpenPGP public keys, and texts that are none."""

import base64

import pytest

from contracts.api.values.openpgp import NotAKeyError, read_public_key
from tests.contracts.api.pgp import ALICE, ALICE_FINGERPRINT, SIGNER


def test_the_fingerprint_is_that_of_gpg() -> None:
    assert read_public_key(ALICE).fingerprint == ALICE_FINGERPRINT


def test_line_breaks_are_ignored() -> None:
    folded = "\n".join((ALICE[:76], ALICE[76:152], ALICE[152:]))
    assert read_public_key(folded).fingerprint == ALICE_FINGERPRINT


def _armor(tag: int, body: bytes) -> str:
    return base64.b64encode(bytes((0xC0 | tag, len(body))) + body).decode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not start with a public key"),
        ("!", "not base64"),
        (base64.b64encode(b"-----BEGIN PGP PUBLIC KEY BLOCK-----").decode(), "armored"),
        (base64.b64encode(b"hello").decode(), "not in the format"),
        # The first bit of every packet is 1.
        (base64.b64encode(b"\x19" + base64.b64decode(ALICE)[1:]).decode(), "not in the format"),
        (ALICE[: len(ALICE) // 2 // 4 * 4], "cut short"),
        (SIGNER, "no part that can encrypt"),
        (_armor(5, b"\x04secret"), "private key"),
        (_armor(2, b"\x04signature"), "does not start with a public key"),
    ],
)
def test_an_invalid_key_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(NotAKeyError, match=message) as refused:
        read_public_key(text)
    assert "secret" not in str(refused.value)
