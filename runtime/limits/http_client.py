"""An HTTP client for untrusted servers: limits their responses.

Uses aiohttp. Called by clients whose servers belong to tenants, which could otherwise overload this
process. runtime.client.wire calls the API server, and reads without limits.

Responses are never decompressed. `read_body` limits the body, headers are few and short, each
request gets one response, and of each connection one piece is read per iteration of the event loop.
Anything else closes the connection.
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
"""Longest header or first line, in bytes; signed URLs of blobs have a few thousand."""
HEADERS_MAX = 64
INTERIM_MAX = 8
"""Maximum number of interim responses (1xx) before the final one."""
PIECE = 16 * 1024
"""Bytes that are parsed in one step: about a hundred responses without a body."""
UNCOMPRESSED = frozenset({"", "identity"})


class _InterimResponsesError(aiohttp.ClientPayloadError):
    """A server sent too many interim responses."""


class PiecemealSocket(socket.socket):
    """Returns at most one piece per read."""

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        return super().recv(min(size, PIECE), flags)

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0, /) -> int:
        return super().recv_into(buffer, min(size or memoryview(buffer).nbytes, PIECE), flags)


class _OneResponse(ResponseHandler):
    """A connection that accepts one response per request, and no data while it is idle.

    aiohttp parses and keeps data of an idle connection: a kilobyte of memory for each forty bytes.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._interim = 0
        self._answered = True

    def set_response_params(self, **settings: Any) -> None:
        """Reset the state; aiohttp calls this before it sends a request."""
        self._interim, self._answered = 0, False
        super().set_response_params(**settings)

    def data_received(self, data: bytes) -> None:
        if data and self._answered and (self._payload is None or self._payload.is_eof()):
            self.abort()
            return
        super().data_received(data)
        if self._interim > INTERIM_MAX:
            self.set_exception(_InterimResponsesError())
            # Not abort() of aiohttp, which drops the error.
            if self.transport is not None:
                self.transport.abort()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        if data[0].code < 200:
            self._interim += 1
        else:
            self._answered = True
        super().feed_data(data, size)


def _one_response(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return _OneResponse(loop)


class _Connector(aiohttp.TCPConnector):
    """Creates _OneResponse connections."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # aiohttp has no parameter for it; tests of managers.bao fail if this has no effect.
        self._factory = functools.partial(_one_response, loop=asyncio.get_running_loop())


def bounded_session(
    timeout: aiohttp.ClientTimeout,
    *,
    tls: ssl.SSLContext,
    limit: int,
    resolver: AbstractResolver | None = None,
    pieces: bool = True,
) -> aiohttp.ClientSession:
    """Open a session with untrusted servers; `limit` is the number of connections.

    `pieces=False` reads without the limit per iteration: for long transfers, in processes with no
    other work.
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
    """Read a whole body. Raises UnreadableError for one of more than `most` bytes.

    In that case it reads at most `most` + 1 bytes, and closes the connection.
    """
    body = bytearray()
    while len(body) <= most:
        piece = await response.content.read(most + 1 - len(body))
        if not piece:
            return bytes(body)
        body += piece
    _hang_up(response)
    raise UnreadableError(f"longer than {most} bytes")


def refuse_compressed(response: aiohttp.ClientResponse) -> None:
    """Raise UnreadableError for a compressed response: the request did not accept compression."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in UNCOMPRESSED:
        _hang_up(response)
        shown = encoding[:20] if encoding.isascii() and encoding.isprintable() else "unprintable"
        raise UnreadableError(f"compressed (Content-Encoding {shown}), which was not requested")


def exceeded_limit(error: aiohttp.ClientError) -> UnreadableError | None:
    """Return the limit that a response exceeded, by the error of aiohttp; None for other errors."""
    if isinstance(error, _InterimResponsesError):
        return UnreadableError(f"preceded by more than {INTERIM_MAX} interim responses")
    if isinstance(error, aiohttp.ClientResponseError):
        return UnreadableError(
            f"not HTTP, or has more than {HEADERS_MAX} headers "
            f"or one of more than {FIELD_MAX} bytes"
        )
    return None


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Close the connection immediately: a clean end would wait for the server."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
