"""HTTP to the API server with aiohttp: pools, sockets, and the last check of the guard.

Independent of Kubernetes objects. Created by runtime.client.client, used through the protocol
runtime.client.transport.Wire.

Two pools: watches keep their connections for minutes and must not starve requests. Environment
proxies are ignored (trust_env=False): users do not expect them here, and the lookup costs two
thread switches per request. The proxy of a kubeconfig is used.
"""

import socket
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from yarl import URL

from runtime.client.credentials import Credentials
from runtime.client.transport import AnswerTooLarge, HttpRequest, HttpResponse
from runtime.client.write_guard import (
    Guard,
    GuardCheck,
    GuardedBody,
    allow_writes,
    no_silent_resend,
)
from runtime.errors import ConnectionDropped, TransportError, api_error

REQUEST_POOL = 32
"""Maximum number of requests in flight: well below the fair share of a client of a busy server."""

IDLE_CONNECTION_SECONDS = 75.0
"""Below the 90 s after which the API server closes an idle connection, so that a request rarely
meets a closing one; above aiohttp's 15 s, so that quiet clients keep their connections."""

WATCH_BUFFER = 1 << 20
LONGEST_LINE = 32 << 20
"""Longest watch event in bytes. By default etcd stores at most 1.5 MiB per object."""


class HttpWire:
    """Owns the aiohttp sessions for the API server; a runtime.client.transport.Wire.

    `guard` is called immediately before a write is sent and may raise to stop it.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        user_agent: str,
        guard: Guard | None = None,
    ) -> None:
        self._credentials = credentials
        self._user_agent = user_agent
        self._guard = guard or allow_writes
        self._requests: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        if self._requests is None:
            self._requests = self._session(limit=REQUEST_POOL)
        async with await self._open(self._requests, call) as response:
            return HttpResponse(response.status, await _read(response, call.most))

    @asynccontextmanager
    async def stream(self, call: HttpRequest, /) -> AsyncIterator[AsyncIterator[bytes]]:
        if self._streams is None:
            self._streams = self._session(limit=0)
        response = await self._open(self._streams, call)
        lines = _lines(response)
        try:
            yield lines
        finally:
            await lines.aclose()
            response.close()

    async def close(self) -> None:
        sessions = (self._requests, self._streams)
        self._requests = self._streams = None
        for session in sessions:
            if session is not None:
                await session.close()

    async def _open(
        self, session: aiohttp.ClientSession, call: HttpRequest
    ) -> aiohttp.ClientResponse:
        """Send and return the response with its body unread; raise error responses."""
        check = GuardCheck(self._guard if call.writes else allow_writes)
        body = None
        if call.body is not None:
            body = GuardedBody(call.body, check, content_type=call.content_type)
        route = self._credentials.route
        try:
            tls = self._credentials.ssl_context()
        except OSError as error:
            reason = f"the CA or client certificate cannot be read: {_describe(error)}"
            raise TransportError(f"{call.method} {call.path}: {reason}") from error
        try:
            response = await session.request(
                call.method,
                URL(self._credentials.server + call.target, encoded=True),
                data=body,
                headers={
                    **call.headers,
                    "Accept": call.accept,
                    "Content-Type": call.content_type,
                },
                ssl=tls,
                proxy=route.proxy,
                server_hostname=route.server_name,
                allow_redirects=False,
                read_bufsize=WATCH_BUFFER,
            )
        except (aiohttp.ClientError, OSError) as error:
            if check.error is not None:
                raise check.error from None
            # TimeoutError is an OSError too: here the kernel gave up a connect.
            raise TransportError(f"{call.method} {call.path}: {_describe(error)}") from error
        if response.status < 300:
            return response
        async with response:
            raise api_error(response.status, response.headers, await _read(response))

    def _session(self, *, limit: int) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=limit,
            keepalive_timeout=IDLE_CONNECTION_SECONDS,
            socket_factory=_keepalive_socket,
            # Before Python 3.12.8 (python/cpython pull 118960) a TLS connection to a server that
            # does not respond stays open for 30 s after it is closed, even without its client.
            enable_cleanup_closed=sys.version_info < (3, 12, 8),
        )
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            middlewares=(no_silent_resend,),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self._user_agent, "Accept-Encoding": "identity"},
            trust_env=False,
        )


async def _read(response: aiohttp.ClientResponse, most: int | None = None) -> bytes:
    try:
        if most is None:
            return await response.read()
        return b"".join([part async for part in _parts(response, most)])
    except (aiohttp.ClientError, OSError) as error:
        raise ConnectionDropped(f"the response was truncated: {_describe(error)}") from error


async def _parts(response: aiohttp.ClientResponse, most: int) -> AsyncGenerator[bytes, None]:
    room = most
    async for part in response.content.iter_any():
        room -= len(part)
        if room < 0:
            # The connection is closed, because its rest is unread.
            raise AnswerTooLarge(f"the response has more than {most} bytes")
        yield part


async def _lines(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    while True:
        try:
            line = await response.content.readline(max_line_length=LONGEST_LINE)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise TransportError(f"the stream broke: {_describe(error)}") from error
        if not line:
            return
        if not line.endswith(b"\n"):
            raise TransportError("the stream ended within a line")
        yield line


def _describe(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        # Its own text comes from the proxy and contains the URL of the server.
        return f"the proxy of the kubeconfig responded with {error.status}"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"cannot connect to the proxy of the kubeconfig, {error.host}:{error.port}"
    if isinstance(error, aiohttp.ClientConnectorError):
        # Its own text contains the address of a Python object, the TLS settings.
        return f"cannot connect to {error.host}:{error.port}: {_cause(error.os_error)}"
    return str(error) or type(error).__name__


def _cause(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate cannot be verified: {error.verify_message.rstrip('.')}"
    if isinstance(error, ConnectionRefusedError):
        # The text of asyncio repeats the address, as a Python tuple.
        return "connection refused"
    return error.strerror or str(error) or type(error).__name__


def _keepalive_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A socket with keepalive, to detect a dead peer: HTTP/1.1 has no ping.

    Probes after 30 s without data, every 5 s, three times; unacknowledged data times out after 45
    s.
    """
    family, kind, protocol, _, _ = address
    connection = socket.socket(family, kind, protocol)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 45_000)
    return connection
