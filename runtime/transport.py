"""HTTP to the API server: sessions, credentials, deadlines, retries, the write guard, counting.

Uses aiohttp; knows nothing of Kubernetes objects. Called by runtime.client only.

Two pools: watches hold their connections for minutes and may not starve requests. Environment
proxies are ignored (trust_env=False): a control plane client that follows them surprises people,
and looking them up costs two thread hops per request.
"""

import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

import aiohttp
from aiohttp.client_middlewares import ClientHandlerType
from yarl import URL

from runtime.clock import Clock, Deadline
from runtime.codec import JSON
from runtime.credentials import Credentials
from runtime.errors import (
    ApiError,
    ResourceVersionTooLarge,
    TransportError,
    Unauthorized,
    api_error,
)
from runtime.metrics import Metrics

REQUEST_POOL = 32
"""Requests in flight: our own cap, well below the fair share of one client of a busy server."""

IDLE_CONNECTION_SECONDS = 75.0
"""Below the 90 s after which the API server closes an idle connection, so that a request is
rarely sent into a closing one; above aiohttp's 15 s, so that quiet clients keep theirs."""

TRIES = 4
LONGEST_RETRY_AFTER = 5.0
"""Seconds of Retry-After that are waited out here; longer ones are the caller's to schedule."""

WATCH_BUFFER = 1 << 20
LONGEST_LINE = 32 << 20
"""Bytes of one watch event. etcd stores at most 1.5 MiB per object by default."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, before credentials."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def target(self) -> str:
        """Path and query, encoded."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful response (below 300), read to its end."""

    status: int
    body: bytes


class _DroppedError(Exception):
    """The connection was lost after the request had been sent, or part of it.

    Not a class aiohttp knows, and that is its purpose: aiohttp resends GET, PUT and DELETE by
    itself after its own connection errors, which must not happen to a write behind our back.
    """


async def _no_silent_resend(
    request: aiohttp.ClientRequest, handler: ClientHandlerType
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _DroppedError(_words(error)) from error


class Transport:
    """Sends calls; the only holder of aiohttp sessions for the API server.

    `guard` is called right before each write is sent and may raise LeaseLost to stop it.
    `timeout` bounds one try of a request, or the opening of a stream, in seconds.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        user_agent: str,
        clock: Clock,
        metrics: Metrics | None,
        guard: Callable[[], None] | None,
        timeout: float,
    ) -> None:
        self._credentials = credentials
        self._user_agent = user_agent
        self._clock = clock
        self._metrics = metrics
        self._guard = guard
        self._timeout = timeout
        self._host = URL(credentials.server).authority
        self._requests: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    async def request(self, call: Call, *, seconds: float | None = None) -> Answer:
        """Send and read the answer to its end; each try is bounded by seconds.

        A reading call is tried again once after a dropped connection, and after 429 or 5xx when
        the answer names a short Retry-After. A write is tried again only after 429 with
        Retry-After, because nothing else proves that it was not executed. Any call is tried
        again once with fresh credentials after 401.

        Raises ApiError for an answer of 300 and above, TransportError for none.
        """
        dropped = False
        for tries_left in reversed(range(TRIES)):
            try:
                return await self._request_once(call, seconds or self._timeout)
            except _DroppedError as error:
                if call.writes or dropped:
                    raise TransportError(f"{call.method} {call.path}: {error}") from error
                dropped = True
            except ApiError as error:
                pause = _pause_before_retry(call, error)
                if pause is None or tries_left == 0:
                    raise
                await self._clock.sleep(pause)
        raise TransportError(f"{call.method} {call.path}: no answer in {TRIES} tries")

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a long answer and iterate over its lines, each with its newline.

        The opening has the deadline of a request; the caller bounds the reading. The iterator
        ends when the server ends the stream between two lines. Leaving the context closes the
        connection.

        Raises ApiError when opening fails, TransportError at any time.
        """
        if self._streams is None:
            self._streams = self._session(limit=0)
        try:
            async with Deadline(self._clock, self._timeout):
                response = await self._open(self._streams, call)
        except _DroppedError as error:
            raise TransportError(f"{call.method} {call.path}: {error}") from error
        except TimeoutError as error:
            raise _too_slow(call, self._timeout) from error
        lines = _lines(response)
        try:
            yield lines
        finally:
            await lines.aclose()
            response.close()

    async def close(self) -> None:
        """Close all connections; further calls open new ones."""
        sessions = (self._requests, self._streams)
        self._requests = self._streams = None
        for session in sessions:
            if session is not None:
                await session.close()

    async def _request_once(self, call: Call, seconds: float) -> Answer:
        if self._requests is None:
            self._requests = self._session(limit=REQUEST_POOL)
        try:
            async with (
                Deadline(self._clock, seconds),
                await self._open(self._requests, call) as response,
            ):
                return Answer(response.status, await _read(response))
        except TimeoutError as error:
            raise _too_slow(call, seconds) from error

    async def _open(self, session: aiohttp.ClientSession, call: Call) -> aiohttp.ClientResponse:
        """Send and return the answer, its body unread; errors are read and raised."""
        try:
            return await self._attempt(session, call)
        except Unauthorized:
            # Tokens are rotated under us; a 401 also proves that nothing was executed.
            self._credentials.invalidate()
            return await self._attempt(session, call)

    async def _attempt(self, session: aiohttp.ClientSession, call: Call) -> aiohttp.ClientResponse:
        try:
            headers = {
                **await self._credentials.headers(),
                "Accept": call.accept,
                "Content-Type": call.content_type,
            }
            context = self._credentials.ssl_context()
            if call.writes and self._guard is not None:
                self._guard()
            response = await session.request(
                call.method,
                URL(self._credentials.server + call.target, encoded=True),
                data=call.body,
                headers=headers,
                ssl=context,
                allow_redirects=False,
                read_bufsize=WATCH_BUFFER,
            )
        except _DroppedError:
            self._count(call, "<error>")
            raise
        except (aiohttp.ClientError, OSError) as error:
            # TimeoutError is an OSError too: here it is a connect that the kernel gave up.
            self._count(call, "<error>")
            raise TransportError(f"{call.method} {call.path}: {_words(error)}") from error
        self._count(call, str(response.status))
        if response.status < 300:
            return response
        async with response:
            raise api_error(response.status, response.headers, await _read(response))

    def _session(self, *, limit: int) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=limit,
                keepalive_timeout=IDLE_CONNECTION_SECONDS,
                socket_factory=_watched_socket,
            ),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            middlewares=(_no_silent_resend,),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self._user_agent, "Accept-Encoding": "identity"},
            trust_env=False,
        )

    def _count(self, call: Call, code: str) -> None:
        if self._metrics is not None:
            self._metrics.rest_client_requests_total.labels(
                code=code, method=call.method, host=self._host
            ).inc()


def _pause_before_retry(call: Call, error: ApiError) -> float | None:
    """Seconds until this call may be sent again, None for not at all."""
    if error.retry_after is None or error.retry_after > LONGEST_RETRY_AFTER:
        return None
    if isinstance(error, ResourceVersionTooLarge):
        # The server has waited for that version before it answered.
        return None
    if error.code == 429 or (error.code >= 500 and not call.writes):
        return error.retry_after
    return None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    try:
        return await response.read()
    except (aiohttp.ClientError, OSError) as error:
        raise _DroppedError(f"the answer was cut short: {_words(error)}") from error


async def _lines(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    while True:
        try:
            line = await response.content.readline(max_line_length=LONGEST_LINE)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise TransportError(f"the stream broke: {_words(error)}") from error
        if not line:
            return
        if not line.endswith(b"\n"):
            raise TransportError("the stream was cut inside a line")
        yield line


def _too_slow(call: Call, seconds: float) -> TransportError:
    return TransportError(f"{call.method} {call.path}: no answer within {seconds:g} s")


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _watched_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A socket whose kernel notices a dead peer: HTTP/1.1 itself has no ping.

    Probes after 30 s of silence, every 5 s, three times; unacknowledged data counts likewise.
    """
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 45_000)
    return made
