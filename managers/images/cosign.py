"""Verification of cosign signatures of an image. Pure: bytes in, nothing or an error out.

Two schemes: the older one signs a small document ("simple signing"), the newer one an in-toto
statement in a DSSE envelope inside a Sigstore bundle v0.3. Both name the digest of the image; the
older one names its repository too, and each is valid only for what it names.
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
_MOST = 32
_VALUES_MAX = 100_000
# Hash by size of the curve; cosign signs with SHA-256 in the older scheme whatever the curve.
_NATURAL: Mapping[int, hashes.HashAlgorithm] = {384: hashes.SHA384(), 521: hashes.SHA512()}


class NotProvenError(ValueError):
    """A signature does not prove the image. The text is ours, and safe to show."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A document whose signature was checked, as a transparency log would know it."""

    content: bytes
    """What was signed: the document, or the payload of the envelope."""
    signature: bytes
    log_entries: tuple[Mapping[str, Any], ...] = ()
    """What the signer brought of a log: cosign's own form, or tlogEntries of a bundle."""


def simple_signing_layers(manifest: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """List the signatures in the manifest under the tag `sha256-<digest>.sig`."""
    for layer in as_list(manifest.get("layers"))[:_MOST]:
        if as_dict(layer).get("mediaType") == SIMPLE_SIGNING:
            yield layer


def check_simple_signing(
    layer: Mapping[str, Any], payload: bytes, key: PublicKey, reference: str, digest: str
) -> Signed:
    """Check one signature of the older scheme. `payload` is the blob that the layer names.

    `reference` is the image as it is used. Raises NotProvenError.
    """
    notes = as_dict(layer.get("annotations"))
    signature = unbase64(notes.get(SIGNATURE))
    verify(key, signature, payload)
    critical = as_dict(as_dict(read_json(payload)).get("critical"))
    if critical.get("type") != _CLAIM:
        raise NotProvenError("what was signed is no claim about a container image")
    _same_digest(as_dict(critical.get("image")).get("docker-manifest-digest"), digest)
    _same_repository(as_dict(critical.get("identity")).get("docker-reference"), reference)
    bundle = notes.get(LOG_BUNDLE)
    entries = (as_dict(read_json(bundle.encode())),) if isinstance(bundle, str) else ()
    return Signed(payload, signature, entries)


def check_bundle(bundle: bytes, key: PublicKey, digest: str) -> Signed:
    """Check a Sigstore bundle with a DSSE envelope. Raises NotProvenError."""
    whole = as_dict(read_json(bundle))
    envelope = as_dict(whole.get("dsseEnvelope"))
    kind = envelope.get("payloadType")
    if kind != STATEMENT:
        raise NotProvenError("the bundle holds no in-toto statement")
    payload = unbase64(envelope.get("payload"))
    signatures = as_list(envelope.get("signatures"))
    if len(signatures) != 1:
        raise NotProvenError("the bundle does not hold exactly one signature")
    signature = unbase64(as_dict(signatures[0]).get("sig"))
    verify(key, signature, pre_authentication(STATEMENT, payload))
    check_statement(payload, digest)
    material = as_dict(whole.get("verificationMaterial"))
    entries = tuple(as_dict(entry) for entry in as_list(material.get("tlogEntries"))[:_MOST])
    return Signed(payload, signature, entries)


def check_statement(payload: bytes, digest: str) -> None:
    """Check that a verified payload approves the image. Raises NotProvenError."""
    statement = as_dict(read_json(payload))
    if statement.get("_type") not in _STATEMENT_TYPES:
        raise NotProvenError("what was signed is no in-toto statement")
    if statement.get("predicateType") != SIGN_PREDICATE:
        # An attestation (a list of parts, a report of errors) is no approval of the image.
        raise NotProvenError("the statement is not a signature but says something else")
    subjects = [as_dict(as_dict(one).get("digest")) for one in as_list(statement.get("subject"))]
    if len(subjects) != 1:
        raise NotProvenError("the statement is not about exactly one image")
    _same_digest(f"sha256:{subjects[0].get('sha256')}", digest)


def pre_authentication(kind: str, payload: bytes) -> bytes:
    """Encode what a DSSE signature is made over (DSSE v1, "PAE")."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def verify(key: PublicKey, signature: bytes, content: bytes) -> None:
    """Check a signature over bytes with one key. Raises NotProvenError."""
    if not any(_holds(key, signature, content, used) for used in _hashes(key)):
        raise NotProvenError("it was not made with the key of the policy")


def _hashes(key: PublicKey) -> tuple[hashes.HashAlgorithm, ...]:
    if isinstance(key, ec.EllipticCurvePublicKey) and key.key_size in _NATURAL:
        return (hashes.SHA256(), _NATURAL[key.key_size])
    return (hashes.SHA256(),)


def _holds(key: PublicKey, signature: bytes, content: bytes, used: hashes.HashAlgorithm) -> bool:
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, content, ec.ECDSA(used))
        else:
            key.verify(signature, content, padding.PKCS1v15(), used)
    except InvalidSignature:
        return False
    return True


def _same_digest(signed: Any, digest: str) -> None:
    if not isinstance(signed, str) or not hmac.compare_digest(signed.encode(), digest.encode()):
        raise NotProvenError("it is about another image: the digests differ")


def _same_repository(signed: Any, reference: str) -> None:
    try:
        named = image_reference.parse(signed if isinstance(signed, str) else "")
    except ValueError:
        raise NotProvenError("it does not name the repository that it is about") from None
    if named.identity != image_reference.parse(reference).identity:
        raise NotProvenError(
            "it is about an image of another repository; sign the copy in its own repository"
        )


def read_json(content: bytes) -> Any:
    """Read JSON. Raises NotProvenError."""
    try:
        return shallow_json(content, values=_VALUES_MAX)
    except UnreadableError:
        raise NotProvenError("what was signed cannot be read as JSON") from None


def as_dict(value: Any) -> Mapping[str, Any]:
    """Take a value for an object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Take a value for a list; anything else is an empty one."""
    return value if isinstance(value, list) else []


def unbase64(text: Any) -> bytes:
    """Decode standard base64. Raises NotProvenError."""
    try:
        return base64.b64decode(text if isinstance(text, str) else "!", validate=True)
    except (binascii.Error, ValueError):
        raise NotProvenError("a signature or its envelope is not base64") from None
