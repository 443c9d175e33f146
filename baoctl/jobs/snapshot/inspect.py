"""Inspects the stream of a snapshot: checks that it is complete, and reads its metadata.

Uses the standard library. Called by snapshot.upload, snapshot.download and restore_test. A
snapshot of OpenBao 2.4.0 is a gzip stream of a tar archive of meta.json, state.bin, SHA256SUMS and
SHA256SUMS.sealed, in this order. There is no HTTP error if the server aborts the stream. So the
archive is complete only if the gzip stream ends with its checksum, state.bin has the size that
meta.json names, and SHA256SUMS.sealed exists.

The checksums in SHA256SUMS are not compared here: the gzip checksum covers the same bytes, and the
server compares them during a restore.
"""

from __future__ import annotations

import json
import tarfile
import zlib
from dataclasses import dataclass
from typing import Any, Final

META: Final = "meta.json"
STATE: Final = "state.bin"
SUMS: Final = "SHA256SUMS"
SEALED: Final = "SHA256SUMS.sealed"
_NAMES: Final = (META, STATE, SUMS, SEALED)
SMALL_MAX: Final = 8 * 1024
"""Limit of the server for metadata and sums (raft snapshot archive, OpenBao 2.4.0)."""
_BLOCK: Final = 512
_GZIP: Final = 16 + zlib.MAX_WBITS
_OUTPUT: Final = 1 << 20


class NotASnapshot(ValueError):  # noqa: N818  named after what was found
    """The bytes are not a complete snapshot; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Meta:
    """The metadata of a snapshot."""

    index: int
    term: int
    state_size: int
    """Bytes of the state, uncompressed."""


class Archive:
    """Reads a snapshot in chunks, with constant memory.

    `feed` and `finish` raise NotASnapshot. If `finish` returns, the snapshot is complete.
    """

    def __init__(self) -> None:
        self._gzip = zlib.decompressobj(_GZIP)
        self._block = bytearray()
        self._left = 0
        self._padding = 0
        self._name = ""
        self._small = bytearray()
        self._names: list[str] = []
        self._state_size = 0
        self._meta: Meta | None = None
        self._ended = False

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes of the stream."""
        while chunk:
            if self._gzip.eof:
                raise NotASnapshot("there are bytes after the end of the archive")
            try:
                plain = self._gzip.decompress(chunk, _OUTPUT)
            except zlib.error as error:
                raise NotASnapshot(f"it is not a gzip stream, or is damaged: {error}") from None
            self._read(memoryview(plain))
            chunk = self._gzip.unconsumed_tail or self._gzip.unused_data

    def finish(self) -> Meta:
        """Return the metadata of the snapshot after the end of the stream."""
        while not self._gzip.eof:
            # `feed` leaves input unread when the output reaches its limit.
            plain = self._gzip.decompress(self._gzip.unconsumed_tail, _OUTPUT)
            if not plain:
                raise NotASnapshot("it is cut off: the stream ended before the archive did")
            self._read(memoryview(plain))
        if tuple(self._names) != _NAMES or self._left or self._padding:
            missing = [name for name in _NAMES if name not in self._names]
            raise NotASnapshot(f"it is cut off: {', '.join(missing) or self._name} is missing")
        assert self._meta is not None
        return self._meta

    def _read(self, data: memoryview) -> None:
        while data and not self._ended:
            if self._left:
                data = self._content(data)
            elif self._padding:
                skipped = min(self._padding, len(data))
                self._padding -= skipped
                data = data[skipped:]
            else:
                data = self._header(data)

    def _header(self, data: memoryview) -> memoryview:
        taken = min(_BLOCK - len(self._block), len(data))
        self._block += data[:taken]
        if len(self._block) == _BLOCK:
            block = bytes(self._block)
            self._block.clear()
            if not any(block):
                self._ended = True
            else:
                self._member(block)
        return data[taken:]

    def _member(self, block: bytes) -> None:
        try:
            member = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError) as error:
            raise NotASnapshot(f"it is not a tar archive: {type(error).__name__}") from None
        expected = _NAMES[len(self._names)] if len(self._names) < len(_NAMES) else "its end"
        if member.name != expected:
            raise NotASnapshot(f"it has {member.name[:80]!r} where {expected} was expected")
        if member.name != STATE and member.size > SMALL_MAX:
            raise NotASnapshot(f"{member.name} has {member.size} bytes; at most {SMALL_MAX}")
        if self._meta is not None and member.name == STATE:
            self._compare(member.size)
        self._name = member.name
        self._names.append(member.name)
        self._left = member.size
        self._padding = -member.size % _BLOCK
        self._small.clear()

    def _compare(self, size: int) -> None:
        assert self._meta is not None
        if size != self._meta.state_size:
            raise NotASnapshot(
                f"its state has {size} bytes, and meta.json has {self._meta.state_size}"
            )

    def _content(self, data: memoryview) -> memoryview:
        taken = min(self._left, len(data))
        if self._name == META:
            self._small += data[:taken]
        self._left -= taken
        if not self._left and self._name == META:
            self._meta = _meta(bytes(self._small))
        return data[taken:]


def _meta(content: bytes) -> Meta:
    try:
        fields: Any = json.loads(content)
        return Meta(int(fields["Index"]), int(fields["Term"]), int(fields["Size"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise NotASnapshot("its meta.json does not have Index, Term and Size") from None
