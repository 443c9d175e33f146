"""The content of a real registry after real cosign v3.1.3 had signed, per kind of key.

Files: recorded/<kind>.json, made with `cosign sign` in both of its schemes, without a transparency
log. Manifests are by tag and by digest, blobs by digest.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

KINDS = ("p256", "p384", "rsa")
_FOLDER = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class Recording:
    """One repository with one signed image."""

    registry: str
    repository: str
    tag: str
    digest: str
    public_key: str
    manifests: dict[str, str]
    blobs: dict[str, str]

    @property
    def reference(self) -> str:
        """The image by its tag."""
        return f"{self.registry}/{self.repository}:{self.tag}"

    @property
    def older_layer(self) -> dict[str, Any]:
        """The one signature of the older format."""
        manifest = orjson.loads(self.manifests[f"{self.digest.replace(':', '-')}.sig"])
        (layer,) = manifest["layers"]
        older: dict[str, Any] = layer
        return older

    @property
    def older_payload(self) -> bytes:
        """The signed payload."""
        return self.blobs[self.older_layer["digest"]].encode()

    @property
    def bundle(self) -> bytes:
        """The one bundle of the newer format."""
        (bundle,) = [text for text in self.blobs.values() if "dsseEnvelope" in text]
        return bundle.encode()


def recording(kind: str) -> Recording:
    """Read one recording."""
    return Recording(**orjson.loads((_FOLDER / f"{kind}.json").read_bytes()))


def base64_of(content: bytes) -> str:
    """Encode in base64, as the documents of signatures do."""
    return base64.b64encode(content).decode()
