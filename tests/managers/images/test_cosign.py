"""managers.images.cosign: signatures of real cosign are accepted, and changed ones refused."""

import re

import orjson
import pytest

from contracts.api.values.public_key import read_public_key
from managers.images.cosign import (
    SIGNATURE,
    VerificationError,
    check_bundle,
    check_simple_signing,
    simple_signing_layers,
)
from tests.managers.images.recorded import KINDS, base64_of, recording
from tests.managers.images.signing import Signer

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64
IMAGE = "registry.example.com/openbao:2.4.0"
REPOSITORY = "registry.example.com/openbao"


@pytest.mark.parametrize("kind", KINDS)
def test_signatures_of_real_cosign_are_accepted(kind: str) -> None:
    record = recording(kind)
    key = read_public_key(record.public_key)
    signed = check_bundle(record.bundle, key, record.digest)
    assert record.digest.removeprefix("sha256:").encode() in signed.content
    signed = check_simple_signing(
        record.older_layer, record.older_payload, key, record.reference, record.digest
    )
    assert signed.content == record.older_payload


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_each_key_verifies_only_its_own_signatures(kind: str, other: str) -> None:
    if kind == other:
        return
    record, key = recording(kind), read_public_key(recording(other).public_key)
    with pytest.raises(VerificationError, match="does not match the key"):
        check_bundle(record.bundle, key, record.digest)
    with pytest.raises(VerificationError, match="does not match the key"):
        check_simple_signing(
            record.older_layer, record.older_payload, key, record.reference, record.digest
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_of_another_image_is_refused(kind: str) -> None:
    record = recording(kind)
    key = read_public_key(record.public_key)
    with pytest.raises(VerificationError, match="another image"):
        check_bundle(record.bundle, key, OTHER)
    with pytest.raises(VerificationError, match="another image"):
        check_simple_signing(record.older_layer, record.older_payload, key, record.reference, OTHER)


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_byte_is_refused(kind: str) -> None:
    record = recording(kind)
    key = read_public_key(record.public_key)
    payload = record.older_payload.replace(b'"optional":null', b'"optional":true')
    with pytest.raises(VerificationError):
        check_simple_signing(record.older_layer, payload, key, record.reference, record.digest)
    whole = orjson.loads(record.bundle)
    statement = whole["dsseEnvelope"]["payload"]
    whole["dsseEnvelope"]["payload"] = statement[:-4] + "IH19"
    with pytest.raises(VerificationError):
        check_bundle(orjson.dumps(whole), key, record.digest)


def test_a_simple_signature_is_valid_only_for_its_repository() -> None:
    signer = Signer()
    key = read_public_key(signer.public_key)
    layer, payload = signer.older("registry.example.com/test", DIGEST)
    with pytest.raises(VerificationError, match="another repository"):
        check_simple_signing(layer, payload, key, IMAGE, DIGEST)


@pytest.mark.parametrize(
    ("signed", "used"),
    [
        ("index.docker.io/openbao/openbao", "openbao/openbao:2.4.0"),
        ("index.docker.io/library/openbao", "openbao"),
        ("registry.example.com/openbao:2.4.0", IMAGE),
        (f"registry.example.com/openbao@{DIGEST}", IMAGE),
    ],
)
def test_aliases_of_a_repository_are_equal(signed: str, used: str) -> None:
    signer = Signer()
    layer, payload = signer.older(signed, DIGEST)
    check_simple_signing(layer, payload, read_public_key(signer.public_key), used, DIGEST)


OLDER_LIES: dict[str, tuple[dict[str, object], str]] = {
    "no claim about an image": ({"type": "atomic container signature"}, "not a claim"),
    "no digest": ({"image": {}}, "digests differ"),
    "an invalid digest": ({"image": {"docker-manifest-digest": 7}}, "digests differ"),
    "no repository": ({"identity": {}}, "does not name the repository"),
    "an invalid repository": ({"identity": {"docker-reference": "///"}}, "does not name"),
}


@pytest.mark.parametrize(("changes", "reason"), OLDER_LIES.values(), ids=OLDER_LIES.keys())
def test_an_incomplete_signed_document_is_refused(changes: dict[str, object], reason: str) -> None:
    signer = Signer()
    layer, payload = signer.older(REPOSITORY, DIGEST, **changes)
    with pytest.raises(VerificationError, match=reason):
        check_simple_signing(layer, payload, read_public_key(signer.public_key), IMAGE, DIGEST)


SUBJECT = {"digest": {"sha256": "a" * 64}}
STATEMENT_LIES: dict[str, tuple[dict[str, object], str]] = {
    "an attestation": ({"predicateType": "https://spdx.dev/Document"}, "another predicate type"),
    "another type": ({"_type": "https://example.com"}, "not an in-toto statement"),
    "two images": ({"subject": [SUBJECT, SUBJECT]}, "exactly one image"),
    "no image": ({"subject": []}, "exactly one image"),
    "an image without digest": ({"subject": [{"name": "x"}]}, "digests differ"),
    "a digest of another kind": ({"subject": [{"digest": {"sha512": "a"}}]}, "digests differ"),
}


@pytest.mark.parametrize(("changes", "reason"), STATEMENT_LIES.values(), ids=STATEMENT_LIES.keys())
def test_an_incomplete_signed_statement_is_refused(changes: dict[str, object], reason: str) -> None:
    signer = Signer()
    bundle = signer.bundle(DIGEST, **changes)
    with pytest.raises(VerificationError, match=reason):
        check_bundle(bundle, read_public_key(signer.public_key), DIGEST)


def test_a_bundle_of_another_payload_type_is_refused() -> None:
    signer = Signer()
    bundle = signer.bundle_over(b"{}", kind="text/plain")
    with pytest.raises(VerificationError, match="no in-toto statement"):
        check_bundle(bundle, read_public_key(signer.public_key), DIGEST)


def test_an_envelope_with_two_signatures_is_refused() -> None:
    signer = Signer()
    whole = orjson.loads(signer.bundle(DIGEST))
    whole["dsseEnvelope"]["signatures"] *= 2
    with pytest.raises(VerificationError, match="exactly one signature"):
        check_bundle(orjson.dumps(whole), read_public_key(signer.public_key), DIGEST)


@pytest.mark.parametrize("junk", [b"", b"[]", b"null", b"{}", b'{"dsseEnvelope":7}', b"\xff"])
def test_junk_is_refused_without_a_crash(junk: bytes) -> None:
    signer = Signer()
    key = read_public_key(signer.public_key)
    with pytest.raises(VerificationError):
        check_bundle(junk, key, DIGEST)
    with pytest.raises(VerificationError):
        check_simple_signing({"annotations": {SIGNATURE: "??"}}, junk, key, IMAGE, DIGEST)
    with pytest.raises(VerificationError):
        check_simple_signing(signer.older_over(junk), junk, key, IMAGE, DIGEST)


def test_only_signature_layers_are_read_up_to_a_limit() -> None:
    layer, _ = Signer().older(REPOSITORY, DIGEST)
    many = {"layers": [{"mediaType": "text/plain"}, "x", *([layer] * 100)]}
    assert 0 < len(list(simple_signing_layers(many))) < 40
    assert list(simple_signing_layers({"layers": 7})) == []


def test_the_message_contains_nothing_from_the_signature() -> None:
    signer = Signer()
    secret = "hunter2"
    layer, payload = signer.older(f"registry.example.com/{secret}", DIGEST)
    with pytest.raises(VerificationError) as caught:
        check_simple_signing(layer, payload, read_public_key(signer.public_key), IMAGE, DIGEST)
    assert not re.search(secret, str(caught.value))
    assert base64_of(payload) not in str(caught.value)
