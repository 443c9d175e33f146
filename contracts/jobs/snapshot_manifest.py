"""The manifest of a snapshot in the store: a JSON object at the key of the snapshot + `.json`.

Uses contracts.api. The backup job writes it last, so a snapshot without a manifest is
incomplete; restores, restore tests and retention read it. Pure. Contains no secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from contracts.api.cluster.status_backup import Snapshot

FORMAT: Final = "openbao.org/snapshot/v1"
MANIFEST_MAX: Final = 64 * 1024
"""Bytes; a manifest of the operator is shorter."""


def may_open(seal: str, snapshot: str) -> bool:
    """Return whether two seal identities (contracts.hcl.seal_identity) may have the same key.

    True if one is "" or has no fingerprint after its @: then only the server can decide.
    """
    if not seal or not snapshot:
        return True
    (key, _, mark), (its_key, _, its_mark) = seal.partition("@"), snapshot.partition("@")
    return key == its_key and (not mark or not its_mark or mark == its_mark)


class ManifestError(ValueError):
    """The bytes are not a manifest in a format that this version supports."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The properties of a snapshot."""

    key: str
    size: int
    """Bytes."""
    digest: str
    """SHA-256 of the object in the store, as sha256:HEX."""
    cluster_id: str
    """Id of the cluster in OpenBao; "" if it was not reported."""
    version: str
    """OpenBao version of the server of the snapshot."""
    index: int
    """Index of the last raft log entry in the snapshot."""
    term: int
    namespace: str
    cluster: str
    cluster_uid: str
    backup: str
    """Name of the OpenBaoBackup."""
    taken_at: str
    """RFC 3339, start of its stream."""
    seal: str = ""
    """The seal that can open it: type of the seal and id of the key."""
    mounts: str = ""
    """Digest of the secret engines (contracts.snapshot_digest); "" if they were not read."""
    canary: str = ""
    """Digest of the content at canary_path; "" if it was not read."""
    canary_path: str = ""

    def to_bytes(self) -> bytes:
        """Return the content of the object in the store."""
        document = {"format": FORMAT} | {
            _NAMES[name]: value for name, value in asdict(self).items()
        }
        return json.dumps(document, indent=2, sort_keys=True).encode() + b"\n"

    def as_status(self) -> Snapshot:
        """Return the snapshot for a status."""
        return Snapshot(
            key=self.key,
            index=self.index,
            term=self.term,
            seal=self.seal or None,
            digest=self.digest,
            cluster_id=self.cluster_id or None,
            version=self.version or None,
            size=self.size,
        )

    @property
    def snapshot_time(self) -> datetime:
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
        raise ManifestError("not JSON, or nested too deep") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ManifestError(f"not a document of format {FORMAT}")
    values = {name: _value(document, name) for name in _NAMES}
    try:
        manifest = Manifest(**values)
        moment = manifest.snapshot_time
    except ValueError:
        raise ManifestError("takenAt is not an RFC 3339 time") from None
    if moment.tzinfo is None:
        raise ManifestError("takenAt has no time zone")
    return manifest


def _value(document: Mapping[str, Any], name: str) -> Any:
    field = _NAMES[name]
    value = document.get(field, "" if name in _OPTIONAL else None)
    if name in _NUMBERS:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        raise ManifestError(f"{field} is missing, or is not a non-negative integer")
    if not isinstance(value, str):
        raise ManifestError(f"{field} is missing, or is not a string")
    return value
