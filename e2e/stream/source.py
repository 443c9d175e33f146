"""Serves a snapshot of any size by HTTPS: a valid archive with an incompressible state.

The archive is prepared in memory, so that the source does not limit the measurement. Runs as a
separate process.
"""

import io
import json
import os
import ssl
import struct
import sys
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from baoctl.jobs.snapshot.inspect import META, SEALED, STATE, SUMS
from managers.bao.client import SNAPSHOT

MIB = 1 << 20
# The largest stored (uncompressed) block of deflate.
_STORED = 65_535


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(format=tarfile.USTAR_FORMAT)


def _file(name: str, content: bytes) -> bytes:
    return _header(name, len(content)) + content + bytes(-len(content) % 512)


def archive(mebibytes: int) -> Iterator[bytes]:
    """Yield the uncompressed archive."""
    meta = {"Index": 7, "Term": 2, "Size": mebibytes * MIB}
    yield _file(META, json.dumps(meta).encode())
    yield _header(STATE, mebibytes * MIB)
    block = os.urandom(MIB)
    for _ in range(mebibytes):
        yield block
    yield _file(SUMS, b"s" * 140) + _file(SEALED, b"t" * 200) + bytes(1024)


def pack(mebibytes: int) -> Iterator[bytes]:
    """Yield the archive as gzip with stored blocks."""
    yield b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    check, size = 0, 0
    for piece in archive(mebibytes):
        check, size = zlib.crc32(piece, check), size + len(piece)
        blocks = io.BytesIO()
        for start in range(0, len(piece), _STORED):
            block = piece[start : start + _STORED]
            blocks.write(b"\0" + struct.pack("<HH", len(block), len(block) ^ 0xFFFF) + block)
        yield blocks.getvalue()
    yield b"\x01\0\0\xff\xff" + struct.pack("<II", check, size & 0xFFFFFFFF)


def serve(folder: Path, port: int, mebibytes: int) -> None:
    """Serve until the process is stopped."""
    pieces = list(pack(mebibytes))

    async def snapshot(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        return response

    async def health(request: web.Request) -> web.Response:
        state = {"initialized": True, "sealed": False, "standby": False, "version": "2.4.0"}
        return web.json_response(state | {"cluster_id": "id"})

    async def empty(request: web.Request) -> web.Response:
        return web.json_response({"data": {}})

    application = web.Application()
    application.router.add_get(f"/v1/{SNAPSHOT}", snapshot)
    application.router.add_get("/v1/sys/health", health)
    application.router.add_get("/v1/{path:.*}", empty)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    web.run_app(application, host="127.0.0.1", port=port, ssl_context=context, print=None)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
