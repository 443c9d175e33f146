"""HTTP with servers of other owners: bounds on their responses.

Uses aiohttp. Called by clients whose servers belong to tenants, who could
otherwise harm all others by a load on this process. runtime.client.wire calls the API server, and
reads without bounds.

An answer is never unpacked. Its body is read by `read_body` up to a bound, its headers are few and
short, one answer comes for each question, and of each connection one piece is read per iteration of
the event loop. Anything else ends the connection.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader

from runtime.limits.nesting import UnreadableError

FIELD_MAX = 8190
"""Bytes of one header, or of the first line; signed addresses of blobs have some thousand."""
HEADERS_MAX = 64
INTERIM_MAX = 8
"""Answers with a code below 200, before the one that counts."""
PIECE = 16 * 1024
"""Bytes that are parsed at once: some hundred answers of nothing but a head."""
UNPACKED = frozenset({"", "identity"})
CIPHERS = "@SECLEVEL=2:ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
"""Those of Python for TLS 1.2, without DHE: its group is the server's choice, and one of 10,000
bits costs the client a second of its one thread. The servers of Go have none of these."""


class _InterimError(aiohttp.ClientPayloadError):
    """A server goes on announcing its answer."""


class PiecemealSocket(socket.socket):
    """Hands over one piece at a time, however much there is."""

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        return super().recv(min(size, PIECE), flags)

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0, /) -> int:
        return super().recv_into(buffer, min(size or memoryview(buffer).nbytes, PIECE), flags)


class _OneAnswer(ResponseHandler):
    """A connection that takes one answer to each question, and nothing while there is none.

    aiohttp parses and keeps what comes on a connection that waits for its next use: a kilobyte of
    memory for each forty bytes, for as long as it waits.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._interim = 0
        self._answered = True

    def set_response_params(self, **settings: Any) -> None:
        """A question is about to be sent."""
        self._interim, self._answered = 0, False
        super().set_response_params(**settings)

    def data_received(self, data: bytes) -> None:
        if data and self._answered and (self._payload is None or self._payload.is_eof()):
            self.abort()
            return
        super().data_received(data)
        if self._interim > INTERIM_MAX:
            self.set_exception(_InterimError())
            # Not abort() of aiohttp, which forgets the error.
            if self.transport is not None:
                self.transport.abort()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        if data[0].code < 200:
            self._interim += 1
        else:
            self._answered = True
        super().feed_data(data, size)


def _one_answer(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return _OneAnswer(loop)


class _Connector(aiohttp.TCPConnector):
    """Makes such connections."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # aiohttp has no parameter for it; tests of managers.bao see it when this has no effect.
        self._factory = functools.partial(_one_answer, loop=asyncio.get_running_loop())


def bounded_session(
    timeout: aiohttp.ClientTimeout,
    *,
    tls: ssl.SSLContext,
    limit: int,
    resolver: AbstractResolver | None = None,
    pieces: bool = True,
) -> aiohttp.ClientSession:
    """Open a session with servers of other owners; `limit` is of connections.

    `pieces=False` takes what has come at once: for long transfers, in processes that do nothing
    else.
    """
    connector = _Connector(
        ssl=tls,
        limit=limit,
        resolver=resolver,
        use_dns_cache=False,
        socket_factory=_piecemeal if pieces else None,
    )
    return aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        headers={"Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        read_bufsize=4 * PIECE,
        max_line_size=FIELD_MAX,
        max_field_size=FIELD_MAX,
        max_headers=HEADERS_MAX,
    )


def _piecemeal(address: aiohttp.AddrInfoType) -> socket.socket:
    return PiecemealSocket(*address[:3])


async def read_body(response: aiohttp.ClientResponse, most: int) -> bytes:
    """Read a body to its end, as it came. Raises UnreadableError for one of more than `most` bytes.

    Of that one no more than `most` bytes and one are read, and its connection is given up.
    """
    body = bytearray()
    while len(body) <= most:
        piece = await response.content.read(most + 1 - len(body))
        if not piece:
            return bytes(body)
        body += piece
    _hang_up(response)
    raise UnreadableError(f"longer than {most} bytes")


def refuse_packed(response: aiohttp.ClientResponse) -> None:
    """Raise UnreadableError for an answer that was packed though we asked for none."""
    packed = response.headers.get("Content-Encoding", "").strip().lower()
    if packed not in UNPACKED:
        _hang_up(response)
        shown = packed[:20] if packed.isascii() and packed.isprintable() else "of another name"
        raise UnreadableError(f"packed (Content-Encoding {shown}), which nobody asked for")


def broken_bound(error: aiohttp.ClientError) -> UnreadableError | None:
    """Return what an error of aiohttp says of an answer; None when it is not about a bound."""
    if isinstance(error, _InterimError):
        return UnreadableError(f"preceded by more than {INTERIM_MAX} interim answers")
    if isinstance(error, aiohttp.ClientResponseError):
        return UnreadableError(
            f"no HTTP, or has more than {HEADERS_MAX} headers or one of more than {FIELD_MAX} bytes"
        )
    return None


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """End the connection at once: an orderly end would wait for the server."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
