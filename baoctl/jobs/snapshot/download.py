"""Downloads a snapshot from its store to a disk, and inspects it before it is used.

Uses store.store and snapshot.inspect. Called by baoctl.jobs.restore and restore_test.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.snapshot.inspect import Archive, Meta, NotASnapshot
from baoctl.jobs.store.store import JobStore
from contracts.api.cluster.status_errors import SNAPSHOT_MAX
from contracts.jobs.snapshot_manifest import MANIFEST_MAX, Manifest, ManifestError, read_manifest
from contracts.naming.snapshot_keys import manifest_key

CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class DownloadedSnapshot:
    """A complete snapshot on the disk."""

    path: Path
    size: int
    digest: str
    """sha256:HEX."""
    meta: Meta


async def download_snapshot(
    store: JobStore, key: str, path: Path, limit: int = SNAPSHOT_MAX
) -> DownloadedSnapshot:
    """Read a snapshot of at most `limit` bytes into a new file.

    Raises JobFailure(Storage), or JobFailure(Verification) for a damaged snapshot.
    """
    archive = Archive()

    def feed(chunk: bytes) -> None:
        try:
            archive.feed(chunk)
        except NotASnapshot as error:
            raise JobFailure("Verification", f"{key} is not a valid snapshot: {error}") from None

    download = await store.fetch(key, path, limit, feed)
    if download is None:
        raise JobFailure(
            "Storage",
            f"{key} is not in the store: retention may have removed it. Choose another snapshot, "
            "or check the key, prefix and bucket",
        )
    try:
        meta = archive.finish()
    except NotASnapshot as error:
        raise JobFailure("Verification", f"{key} is not a valid snapshot: {error}") from None
    return DownloadedSnapshot(path, download.size, download.digest, meta)


async def read_chunks(path: Path) -> AsyncIterator[bytes]:
    """Yield the content of a file in chunks of CHUNK_BYTES."""
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk


async def manifest_of(store: JobStore, key: str) -> Manifest | None:
    """Read the manifest of a snapshot; None if it does not exist. Raises JobFailure."""
    name = manifest_key(key)
    content = await store.read(name, MANIFEST_MAX)
    if content is None:
        return None
    try:
        manifest = read_manifest(content)
    except ManifestError as error:
        raise JobFailure("Verification", f"{name} is not a manifest: {error}") from None
    if manifest.key != key:
        raise JobFailure("Verification", f"{name} is for another snapshot: {manifest.key}")
    return manifest
