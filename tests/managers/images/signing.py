"""Signs as cosign does, with keys of a test, also documents that cosign would not sign."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import orjson
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from managers.images.cosign import (
    BUNDLE,
    LOG_BUNDLE,
    SIGN_PREDICATE,
    SIGNATURE,
    SIMPLE_SIGNING,
    STATEMENT,
    pre_authentication,
)
from tests.managers.images.recorded import base64_of

CLAIM = "cosign container image signature"


def new_key() -> ec.EllipticCurvePrivateKey:
    """Generate a key."""
    return ec.generate_private_key(ec.SECP256R1())


def pem(key: ec.EllipticCurvePrivateKey) -> str:
    """The public key, as in a spec."""
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def statement(digest: str, **changes: Any) -> bytes:
    """The statement that is signed in the newer format."""
    parts = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": digest.removeprefix("sha256:")}}],
        "predicateType": SIGN_PREDICATE,
        "predicate": {},
    }
    return orjson.dumps({**parts, **changes})


@dataclass
class Signer:
    """A private key."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=new_key)

    @property
    def public_key(self) -> str:
        """The public key in PEM."""
        return pem(self.key)

    def sign(self, content: bytes) -> bytes:
        """Sign bytes with SHA-256."""
        return self.key.sign(content, ec.ECDSA(hashes.SHA256()))

    def older(self, repository: str, digest: str, **changes: Any) -> tuple[dict[str, Any], bytes]:
        """A signature of the older format: the layer and the document."""
        critical = {
            "identity": {"docker-reference": repository},
            "image": {"docker-manifest-digest": digest},
            "type": CLAIM,
            **changes,
        }
        payload = orjson.dumps({"critical": critical, "optional": None})
        return self.older_over(payload), payload

    def older_over(self, payload: bytes, log: Any = None) -> dict[str, Any]:
        """The layer of a signature over any document, with an entry of a log."""
        notes = {SIGNATURE: base64_of(self.sign(payload))}
        if log is not None:
            notes[LOG_BUNDLE] = orjson.dumps(log).decode()
        return {
            "mediaType": SIMPLE_SIGNING,
            "size": len(payload),
            "digest": f"sha256:{hashlib.sha256(payload).hexdigest()}",
            "annotations": notes,
        }

    def bundle(self, digest: str, **changes: Any) -> bytes:
        """A bundle about an image; `changes` are of the statement."""
        return self.bundle_over(statement(digest, **changes))

    def bundle_over(self, payload: bytes, entries: Any = None, kind: str = STATEMENT) -> bytes:
        """A bundle over any statement, with entries of a log."""
        signature = self.sign(pre_authentication(kind, payload))
        return orjson.dumps(
            {
                "mediaType": BUNDLE,
                "verificationMaterial": {
                    "publicKey": {"hint": "x"},
                    **({"tlogEntries": entries} if entries is not None else {}),
                },
                "dsseEnvelope": {
                    "payload": base64_of(payload),
                    "payloadType": kind,
                    "signatures": [{"sig": base64_of(signature)}],
                },
            }
        )
