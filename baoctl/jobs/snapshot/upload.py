"""Streams a snapshot from the leader into the store, and inspects, hashes and limits the stream.

Uses leader_client, store.store and snapshot.inspect. Called by baoctl.jobs.backup. Nothing is
written to a disk, and only the parts in flight are in memory. The store has no object before the
last byte is checked.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import LeaderSession
from baoctl.jobs.snapshot.inspect import Archive, Meta, NotASnapshot
from baoctl.jobs.store.store import JobStore
from contracts.api.cluster.status_errors import SNAPSHOT_MAX
from managers.bao.client import BaoError, Denied

CHUNK_BYTES: Final = 1 << 20
"""Size of a chunk that is inspected; large, because each inspection switches threads."""


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot in the store: its size in bytes, its digest (sha256:HEX) and its metadata."""

    size: int
    digest: str
    meta: Meta


async def take(
    store: JobStore, session: LeaderSession, key: str, limit: int = SNAPSHOT_MAX
) -> StoredSnapshot:
    """Stream a snapshot into the store. Raises JobFailure; then nothing is stored."""
    inspector = _StreamInspector(limit)
    try:
        async with session.bao.snapshot(session.leader.address, session.token) as chunks:
            await store.upload(key, inspector.inspect(chunks))
    except Denied as error:
        raise JobFailure(
            "Authentication", f"the role of the job may not take a snapshot: {error}"
        ) from None
    except BaoError as error:
        raise JobFailure(
            "Snapshot", f"the stream of {session.leader.pod} failed: {error}"
        ) from None
    except NotASnapshot as error:
        raise JobFailure(
            "Snapshot", f"{session.leader.pod} did not send a snapshot: {error}"
        ) from None
    return inspector.snapshot()


class _StreamInspector:
    """Hashes and inspects the chunks of a stream in two threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._digest = hashlib.sha256()
        self._archive = Archive()
        self._meta: Meta | None = None

    async def inspect(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the same bytes. Raises NotASnapshot if they are not a complete snapshot."""
        pending: tuple[asyncio.Future[None], ...] = ()
        loop = asyncio.get_running_loop()
        async for chunk in _large_chunks(chunks):
            await asyncio.gather(*pending)
            self._size += len(chunk)
            if self._size > self._limit:
                raise NotASnapshot(f"it exceeds the limit of {self._limit} bytes")
            pending = (
                loop.run_in_executor(None, self._digest.update, chunk),
                loop.run_in_executor(None, self._archive.feed, chunk),
            )
            yield chunk
        await asyncio.gather(*pending)
        self._meta = self._archive.finish()

    def snapshot(self) -> StoredSnapshot:
        """Return the size, digest and metadata of the stream."""
        assert self._meta is not None
        return StoredSnapshot(self._size, f"sha256:{self._digest.hexdigest()}", self._meta)


async def _large_chunks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    buffer = bytearray()
    async for chunk in chunks:
        buffer += chunk
        if len(buffer) >= CHUNK_BYTES:
            yield bytes(buffer)
            buffer.clear()
    if buffer:
        yield bytes(buffer)
