"""The manifest of a snapshot in the store: a JSON object at the key of the snapshot + `.json`.

Uses the standard library. Written last by the job of a backup, so that a snapshot without one was
never finished; read by restores, tests and retention. Pure. Holds no secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

FORMAT: Final = "openbao.org/snapshot/v1"
MANIFEST_MAX: Final = 64 * 1024
"""Bytes; a longer one is not ours."""


def may_open(one: str, other: str) -> bool:
    """Whether two seal identities (contracts.hcl.seal_identity) may be of the same key.

    One without the fingerprint behind its @ contradicts no other, nor does "": the server decides.
    """
    if not one or not other:
        return True
    (key, _, mark), (its_key, _, its_mark) = one.partition("@"), other.partition("@")
    return key == its_key and (not mark or not its_mark or mark == its_mark)


class ManifestError(ValueError):
    """The bytes are no manifest of a format that this version reads."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a snapshot is known by."""

    key: str
    size: int
    """Bytes."""
    digest: str
    """Of the object, sha256:HEX."""
    cluster_id: str
    """Id that OpenBao gave to the cluster; "" when it did not say."""
    version: str
    """OpenBao version of the server that made it."""
    index: int
    """Of the raft log that it holds."""
    term: int
    namespace: str
    cluster: str
    cluster_uid: str
    backup: str
    """Name of the OpenBaoBackup."""
    taken_at: str
    """RFC 3339, when its stream began."""
    seal: str = ""
    """What it can be opened with: type of the seal and id of the key."""
    mounts: str = ""
    """Digest of the secret engines (contracts.snapshot_digest); "" when they were not read."""
    canary: str = ""
    """Digest of what was at canary_path; "" when it was not read."""
    canary_path: str = ""

    def to_bytes(self) -> bytes:
        """The content of the object."""
        document = {"format": FORMAT} | {
            _NAMES[name]: value for name, value in asdict(self).items()
        }
        return json.dumps(document, indent=2, sort_keys=True).encode() + b"\n"

    @property
    def taken(self) -> datetime:
        """`taken_at`, aware."""
        return datetime.fromisoformat(self.taken_at)


_NAMES: Mapping[str, str] = {
    "key": "key",
    "size": "size",
    "digest": "digest",
    "cluster_id": "clusterID",
    "version": "version",
    "index": "index",
    "term": "term",
    "namespace": "namespace",
    "cluster": "cluster",
    "cluster_uid": "clusterUID",
    "backup": "backup",
    "taken_at": "takenAt",
    "seal": "seal",
    "mounts": "mounts",
    "canary": "canary",
    "canary_path": "canaryPath",
}
"""The name of each field in the document."""
_NUMBERS = frozenset({"size", "index", "term"})
_OPTIONAL = frozenset({"seal", "mounts", "canary", "canary_path"})


def read_manifest(content: bytes) -> Manifest:
    """Read a manifest; unknown fields of the same format are ignored. Raises ManifestError."""
    if len(content) > MANIFEST_MAX:
        raise ManifestError(f"{len(content)} bytes; a manifest has at most {MANIFEST_MAX}")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise ManifestError("not JSON, or nested without end") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ManifestError(f"not a document of format {FORMAT}")
    values = {name: _value(document, name) for name in _NAMES}
    try:
        manifest = Manifest(**values)
        moment = manifest.taken
    except ValueError:
        raise ManifestError("takenAt is no time of RFC 3339") from None
    if moment.tzinfo is None:
        raise ManifestError("takenAt has no zone")
    return manifest


def _value(document: Mapping[str, Any], name: str) -> Any:
    field = _NAMES[name]
    value = document.get(field, "" if name in _OPTIONAL else None)
    if name in _NUMBERS:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        raise ManifestError(f"{field} is missing, or is no number from 0")
    if not isinstance(value, str):
        raise ManifestError(f"{field} is missing, or is no text")
    return value
