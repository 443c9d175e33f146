"""A server on loopback that sends just the bytes of a test, and counts what it got rid of."""

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
"""Nobody who reads so much has a bound."""
_PIECE = 1 << 16


def answer(body: bytes, *headers: bytes) -> bytes:
    """A whole answer."""
    lines = (OK, *(header + b"\r\n" for header in headers))
    return b"".join(lines) + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def nested(levels: int) -> bytes:
    """JSON text of an object with so many levels."""
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


def bomb(size: int) -> bytes:
    """An answer of `size` bytes of JSON that is packed into few."""
    text = b'{"initialized":true,"sealed":false,"standby":false,"version":"%s"}' % (b"a" * size)
    return answer(gzip.compress(text), b"Content-Encoding: gzip")


ENDLESS = OK + b"Transfer-Encoding: chunked\r\n\r\n"
"""The head of a body that CHUNK may go on for ever."""
CHUNK = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
WRONG: dict[str, bytes] = {
    "a long header": answer(b"{}", b"X-Long: " + b"a" * 9000),
    "a long line": b"HTTP/1.1 200 " + b"a" * 9000 + b"\r\n\r\n",
    "many headers": answer(b"{}", *(b"X-%d: a" % number for number in range(100))),
    "trailers without end": ENDLESS + b"0\r\n" + b"X-Trailer: a\r\n" * 100_000,
    "no HTTP at all": b"SSH-2.0-OpenSSH_9.2\r\n",
}
"""Heads that nobody has to read."""


@dataclass(slots=True)
class Pouring:
    """Where it is, what it was asked, and how it went on."""

    port: int = 0
    asked: list[bytes] = field(default_factory=list)
    sent: int = 0
    """Bytes that were sent of what goes on for ever."""
    cut: asyncio.Event = field(default_factory=asyncio.Event)
    """The client ended a connection on which that was sent."""
    go: asyncio.Event = field(default_factory=asyncio.Event)
    """What goes on for ever waits for it."""


@asynccontextmanager
async def pouring(
    first: bytes, forever: bytes = b"", *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Pouring]:
    """Answer each request with `first`, and go on with `forever` until the client has enough."""
    server = Pouring()
    server.go.set()
    tasks = set[asyncio.Task[None]]()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        # So that `sent` is about the client, and not about the kernel.
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
            server.asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(first)
            await writer.drain()
            pieces = forever * max(1, _PIECE // len(forever)) if forever else b""
            await server.go.wait()
            while forever and server.sent < MOST:
                writer.write(pieces)
                await writer.drain()
                server.sent += len(pieces)
    except (OSError, asyncio.IncompleteReadError):
        if server.sent:
            server.cut.set()
