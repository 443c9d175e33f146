"""Small snapshots in the format of OpenBao, for tests that damage them."""

import gzip
import hashlib
import io
import json
import tarfile
from typing import Any

from baoctl.jobs.snapshot.inspect import META, SEALED, STATE, SUMS
from contracts.jobs.snapshot_manifest import Manifest


def members(state: bytes = b"x" * 5000, index: int = 7) -> dict[str, bytes]:
    """The files of a snapshot, in their order."""
    meta = {"Version": 1, "ID": "bolt-snapshot", "Index": index, "Term": 2, "Size": len(state)}
    return {META: json.dumps(meta).encode(), STATE: state, SUMS: b"s" * 140, SEALED: b"t" * 200}


def archive_of(files: dict[str, bytes]) -> bytes:
    """The archive of files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def snapshot(state: bytes = b"x" * 5000, index: int = 7) -> bytes:
    """A complete snapshot."""
    return archive_of(members(state, index))


def digest_of(content: bytes) -> str:
    """The digest of an object, as a manifest has it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def manifest_for(key: str, content: bytes = b"", **fields: Any) -> Manifest:
    """The manifest of a snapshot with this content, which the cluster `c` in `ns` took."""
    default = {
        "cluster_id": "id", "version": "2.4.0", "index": 1, "term": 1, "namespace": "ns",
        "cluster": "c", "cluster_uid": "u", "backup": "b", "taken_at": "2026-01-01T03:00:00Z",
    }  # fmt: skip
    return Manifest(key=key, size=len(content), digest=digest_of(content), **{**default, **fields})
