"""A server on loopback that sends just the bytes of a test, and counts the sent ones."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\n"
MOST = 64 << 20
"""A client that reads this much has no limit."""
_PIECE = 1 << 16


def answer(body: bytes, *headers: bytes) -> bytes:
    """A whole response."""
    lines = (OK, *(header + b"\r\n" for header in headers))
    return b"".join(lines) + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def nested_json(levels: int) -> bytes:
    """The JSON text of an object with that many levels."""
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


def bomb(size: int) -> bytes:
    """A compressed response with `size` bytes of JSON."""
    text = b'{"initialized":true,"sealed":false,"standby":false,"version":"%s"}' % (b"a" * size)
    return answer(gzip.compress(text), b"Content-Encoding: gzip")


ENDLESS = OK + b"Transfer-Encoding: chunked\r\n\r\n"
"""The headers of a body of endless CHUNKs."""
CHUNK = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
WRONG: dict[str, bytes] = {
    "a long header": answer(b"{}", b"X-Long: " + b"a" * 9000),
    "a long line": b"HTTP/1.1 200 " + b"a" * 9000 + b"\r\n\r\n",
    "many headers": answer(b"{}", *(b"X-%d: a" % number for number in range(100))),
    "trailers without end": ENDLESS + b"0\r\n" + b"X-Trailer: a\r\n" * 100_000,
    "no HTTP at all": b"SSH-2.0-OpenSSH_9.2\r\n",
}
"""Headers that exceed the limits."""


@dataclass(slots=True)
class Pouring:
    """The address, the requests and the state of the server."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    bytes_sent: int = 0
    """The sent bytes of the endless part."""
    cut: asyncio.Event = field(default_factory=asyncio.Event)
    """The client closed a connection during the endless part."""
    go: asyncio.Event = field(default_factory=asyncio.Event)
    """The endless part waits for it."""


@asynccontextmanager
async def pouring(
    first: bytes, forever: bytes = b"", *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Pouring]:
    """Send `first` for each request, and then `forever` until the client closes the connection."""
    server = Pouring()
    server.go.set()
    tasks = set[asyncio.Task[None]]()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        # So that `sent` measures the client, and not the kernel.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PIECE)
        try:
            await _serve(server, reader, writer, first, forever)
        except asyncio.CancelledError:
            # The test is over.
            return
        finally:
            writer.transport.abort()
            tasks.discard(task)

    listener = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(
    server: Pouring,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    first: bytes,
    forever: bytes,
) -> None:
    try:
        while True:
            server.requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(first)
            await writer.drain()
            pieces = forever * max(1, _PIECE // len(forever)) if forever else b""
            await server.go.wait()
            while forever and server.bytes_sent < MOST:
                writer.write(pieces)
                await writer.drain()
                server.bytes_sent += len(pieces)
    except (OSError, asyncio.IncompleteReadError):
        if server.bytes_sent:
            server.cut.set()
