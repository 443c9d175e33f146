"""Verifies the cosign signatures of an image. Pure: a check returns the signed bytes or raises.

Two schemes: the older one signs a small document ("simple signing"), the newer one an in-toto
statement in a DSSE envelope inside a Sigstore bundle v0.3. Both name the digest of the image, and
the older one also its repository. A signature is valid only for the image that it names.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding

from contracts import image_reference
from contracts.api.values.public_key import PublicKey
from runtime.limits.nesting import UnreadableError
from runtime.limits.nesting import read_json as shallow_json

SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
SIGNATURE = "dev.cosignproject.cosign/signature"
LOG_BUNDLE = "dev.sigstore.cosign/bundle"
STATEMENT = "application/vnd.in-toto+json"
SIGN_PREDICATE = "https://sigstore.dev/cosign/sign/v1"
_CLAIM = "cosign container image signature"
_STATEMENT_TYPES = ("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1")
_SIGNATURES_MAX = 32
_VALUES_MAX = 100_000
# In the older scheme cosign signs with SHA-256 for every curve.
_HASH_BY_KEY_SIZE: Mapping[int, hashes.HashAlgorithm] = {384: hashes.SHA384(), 521: hashes.SHA512()}


class VerificationError(ValueError):
    """A signature does not verify the image. The message quotes no content of the registry."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A document with a verified signature, as a transparency log records it."""

    content: bytes
    """The signed document, or the payload of the envelope."""
    signature: bytes
    log_entries: tuple[Mapping[str, Any], ...] = ()
    """The log entries of the signature, in cosign's own format or as tlogEntries of a bundle."""


def simple_signing_layers(manifest: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """List the signatures in the manifest under the tag `sha256-<digest>.sig`."""
    for layer in as_list(manifest.get("layers"))[:_SIGNATURES_MAX]:
        if as_dict(layer).get("mediaType") == SIMPLE_SIGNING:
            yield layer


def check_simple_signing(
    layer: Mapping[str, Any], payload: bytes, key: PublicKey, reference: str, digest: str
) -> Signed:
    """Check one signature of the older scheme. `payload` is the content of the layer.

    `reference` is the image of the pod. Raises VerificationError.
    """
    annotations = as_dict(layer.get("annotations"))
    signature = unbase64(annotations.get(SIGNATURE))
    verify(key, signature, payload)
    critical = as_dict(as_dict(read_json(payload)).get("critical"))
    if critical.get("type") != _CLAIM:
        raise VerificationError("the signed document is not a claim about a container image")
    _same_digest(as_dict(critical.get("image")).get("docker-manifest-digest"), digest)
    _same_repository(as_dict(critical.get("identity")).get("docker-reference"), reference)
    bundle = annotations.get(LOG_BUNDLE)
    entries = (as_dict(read_json(bundle.encode())),) if isinstance(bundle, str) else ()
    return Signed(payload, signature, entries)


def check_bundle(bundle: bytes, key: PublicKey, digest: str) -> Signed:
    """Check a Sigstore bundle with a DSSE envelope. Raises VerificationError."""
    content = as_dict(read_json(bundle))
    envelope = as_dict(content.get("dsseEnvelope"))
    kind = envelope.get("payloadType")
    if kind != STATEMENT:
        raise VerificationError("the bundle contains no in-toto statement")
    payload = unbase64(envelope.get("payload"))
    signatures = as_list(envelope.get("signatures"))
    if len(signatures) != 1:
        raise VerificationError("the bundle does not contain exactly one signature")
    signature = unbase64(as_dict(signatures[0]).get("sig"))
    verify(key, signature, pre_authentication(STATEMENT, payload))
    check_statement(payload, digest)
    material = as_dict(content.get("verificationMaterial"))
    entries = tuple(
        as_dict(entry) for entry in as_list(material.get("tlogEntries"))[:_SIGNATURES_MAX]
    )
    return Signed(payload, signature, entries)


def check_statement(payload: bytes, digest: str) -> None:
    """Check that a verified payload approves the image. Raises VerificationError."""
    statement = as_dict(read_json(payload))
    if statement.get("_type") not in _STATEMENT_TYPES:
        raise VerificationError("the signed document is not an in-toto statement")
    if statement.get("predicateType") != SIGN_PREDICATE:
        # An attestation, such as an SBOM or a scan report, does not approve the image.
        raise VerificationError("the statement is not a signature: it has another predicate type")
    subjects = [as_dict(as_dict(item).get("digest")) for item in as_list(statement.get("subject"))]
    if len(subjects) != 1:
        raise VerificationError("the statement is not about exactly one image")
    _same_digest(f"sha256:{subjects[0].get('sha256')}", digest)


def pre_authentication(kind: str, payload: bytes) -> bytes:
    """Return the bytes that a DSSE signature signs (pre-authentication encoding of DSSE v1)."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def verify(key: PublicKey, signature: bytes, content: bytes) -> None:
    """Check a signature over bytes with one key. Raises VerificationError."""
    if not any(_is_valid(key, signature, content, algorithm) for algorithm in _hashes(key)):
        raise VerificationError("the signature does not match the key of the policy")


def _hashes(key: PublicKey) -> tuple[hashes.HashAlgorithm, ...]:
    if isinstance(key, ec.EllipticCurvePublicKey) and key.key_size in _HASH_BY_KEY_SIZE:
        return (hashes.SHA256(), _HASH_BY_KEY_SIZE[key.key_size])
    return (hashes.SHA256(),)


def _is_valid(
    key: PublicKey, signature: bytes, content: bytes, algorithm: hashes.HashAlgorithm
) -> bool:
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, content, ec.ECDSA(algorithm))
        else:
            key.verify(signature, content, padding.PKCS1v15(), algorithm)
    except InvalidSignature:
        return False
    return True


def _same_digest(signed: Any, digest: str) -> None:
    if not isinstance(signed, str) or not hmac.compare_digest(signed.encode(), digest.encode()):
        raise VerificationError("the signature is for another image: the digests differ")


def _same_repository(signed: Any, reference: str) -> None:
    try:
        signed_reference = image_reference.parse(signed if isinstance(signed, str) else "")
    except ValueError:
        raise VerificationError("the signature does not name the repository of the image") from None
    if signed_reference.identity != image_reference.parse(reference).identity:
        raise VerificationError(
            "the signature is for an image of another repository; sign the copy in its repository"
        )


def read_json(content: bytes) -> Any:
    """Read JSON. Raises VerificationError."""
    try:
        return shallow_json(content, values=_VALUES_MAX)
    except UnreadableError:
        raise VerificationError("the signed document is not valid JSON") from None


def as_dict(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty mapping."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def unbase64(text: Any) -> bytes:
    """Decode standard base64. Raises VerificationError."""
    try:
        return base64.b64decode(text if isinstance(text, str) else "!", validate=True)
    except (binascii.Error, ValueError):
        raise VerificationError("a signature or its envelope is not base64") from None
