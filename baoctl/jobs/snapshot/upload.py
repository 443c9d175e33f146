"""Streams a snapshot from the leader into the store: inspected, hashed and bounded on the way.

Uses leader_client, store.store and snapshot.inspect. Called by baoctl.jobs.backup. Nothing is kept
on a disk, and in memory only the parts in flight. There is no object before the last byte was
checked.
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

PIECE: Final = 1 << 20
"""Bytes that are inspected together: enough that switching threads costs nothing."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot that is in the store."""

    size: int
    digest: str
    meta: Meta


async def take(store: JobStore, at: LeaderSession, key: str, limit: int = SNAPSHOT_MAX) -> Taken:
    """Stream a snapshot into the store. Raises JobFailure; then nothing was stored."""
    measure = _Measure(limit)
    try:
        async with at.bao.snapshot(at.leader.address, at.token) as pieces:
            await store.upload(key, measure.looked_at(pieces))
    except Denied as error:
        raise JobFailure(
            "Authentication", f"the role of the job may not take a snapshot: {error}"
        ) from None
    except BaoError as error:
        raise JobFailure("Snapshot", f"the stream of {at.leader.pod} broke: {error}") from None
    except NotASnapshot as error:
        raise JobFailure("Snapshot", f"what {at.leader.pod} sent is no snapshot: {error}") from None
    return measure.taken()


class _Measure:
    """Hashes and reads a stream while it passes, each in a thread of its own."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._digest = hashlib.sha256()
        self._archive = Archive()
        self._meta: Meta | None = None

    async def looked_at(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The same bytes; raises NotASnapshot instead of ending when they are not a whole one."""
        looks: tuple[asyncio.Future[None], ...] = ()
        loop = asyncio.get_running_loop()
        async for piece in _gathered(pieces):
            await asyncio.gather(*looks)
            self._size += len(piece)
            if self._size > self._limit:
                raise NotASnapshot(f"it is over {self._limit} bytes, the most that is stored")
            looks = (
                loop.run_in_executor(None, self._digest.update, piece),
                loop.run_in_executor(None, self._archive.feed, piece),
            )
            yield piece
        await asyncio.gather(*looks)
        self._meta = self._archive.finish()

    def taken(self) -> Taken:
        """What passed."""
        assert self._meta is not None
        return Taken(self._size, f"sha256:{self._digest.hexdigest()}", self._meta)


async def _gathered(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    gathered = bytearray()
    async for piece in pieces:
        gathered += piece
        if len(gathered) >= PIECE:
            yield bytes(gathered)
            gathered.clear()
    if gathered:
        yield bytes(gathered)
