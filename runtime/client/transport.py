"""How calls reach the API server: credentials, deadlines, retries, the write guard, counting.

Knows nothing of Kubernetes objects and nothing of sockets: what carries a call is a `Wire`,
runtime.client.wire.HttpWire in production and a server in memory in simulations. Called by
runtime.client.client only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

from runtime.client.codec import JSON
from runtime.client.credentials import Credentials
from runtime.clock import Clock, Deadline
from runtime.errors import (
    ApiError,
    ConnectionDropped,
    EvictionRefused,
    ResourceVersionTooLarge,
    TransportError,
    Unauthorized,
)

if TYPE_CHECKING:
    from runtime.metrics.metrics import Metrics

TRIES = 4
LONGEST_RETRY_AFTER = 5.0
"""Seconds of Retry-After that are waited out here; longer ones are the caller's to schedule."""

NO_ANSWER = "<error>"
"""The status code, in metrics, of a call that got none."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. `headers` are the credentials, which Transport adds at each try.

    Of an answer of more than `most` bytes nothing is kept: AnswerTooLarge.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    most: int | None = None

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def target(self) -> str:
        """Path and query, encoded."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A successful response (below 300), read to its end."""

    status: int
    body: bytes


class AnswerTooLarge(TransportError):  # noqa: N818 - named like its siblings in errors
    """The answer to a call is larger than the caller wants to hold."""


class Wire(Protocol):
    """Carries a call to one server and brings the answer back, once.

    Raises what runtime.errors.api_error makes of an answer of 300 and above, ConnectionDropped,
    AnswerTooLarge, and TransportError when nothing was sent. Deadlines, second tries and the guard
    are above it: a wire may hang, and is cancelled then.
    """

    async def request(self, call: HttpRequest, /) -> HttpResponse: ...

    def stream(self, call: HttpRequest, /) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The lines of a long answer, each with its newline.

        Entering raises what `request` raises. The iterator ends when the server ends the stream
        between two lines, and raises TransportError for any other end.
        """
        ...

    async def close(self) -> None:
        """Close all connections; further calls open new ones."""
        ...


class Transport:
    """Sends calls over a wire.

    `guard` is called right before each write is sent and may raise LeaseLost to stop it.
    `timeout` bounds one try of a request, or the opening of a stream, in seconds.
    """

    def __init__(
        self,
        wire: Wire,
        credentials: Credentials,
        *,
        clock: Clock,
        metrics: Metrics | None,
        guard: Callable[[], None] | None,
        timeout: float,
    ) -> None:
        self._wire = wire
        self._credentials = credentials
        self._clock = clock
        self._metrics = metrics
        self._guard = guard
        self._timeout = timeout
        self._host = urlsplit(credentials.server).netloc

    async def request(self, call: HttpRequest, *, seconds: float | None = None) -> HttpResponse:
        """Send and read the answer to its end; each try is bounded by seconds.

        A reading call is tried again once after a dropped connection, and after 429 or 5xx when
        the answer names a short Retry-After. A write is tried again only after 429 with
        Retry-After, because nothing else proves that it was not executed (client-go resends
        writes after 5xx too). Any call is tried again once with fresh credentials after 401.

        Raises ApiError for an answer of 300 and above, TransportError for none.
        """
        dropped = False
        for tries_left in reversed(range(TRIES)):
            try:
                return await self._request_once(call, seconds or self._timeout)
            except ConnectionDropped as error:
                if call.writes or dropped:
                    raise TransportError(f"{call.method} {call.path}: {error}") from error
                dropped = True
                self._count_retry(call, NO_ANSWER)
            except ApiError as error:
                pause = _pause_before_retry(call, error)
                if pause is None or tries_left == 0:
                    raise
                await self._clock.sleep(pause)
                self._count_retry(call, str(error.code))
        raise TransportError(f"{call.method} {call.path}: no answer in {TRIES} tries")

    @asynccontextmanager
    async def stream(self, call: HttpRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a long answer and iterate over its lines, each with its newline.

        The opening has the deadline of a request; the caller bounds the reading. The iterator
        ends when the server ends the stream between two lines. Leaving the context closes the
        connection.

        Raises ApiError when opening fails, TransportError at any time.
        """
        async with AsyncExitStack() as stack:

            async def open_stream(prepared: HttpRequest) -> tuple[int, AsyncIterator[bytes]]:
                return 200, await stack.enter_async_context(self._wire.stream(prepared))

            try:
                lines = await self._bounded(call, open_stream, self._timeout)
            except ConnectionDropped as error:
                raise TransportError(f"{call.method} {call.path}: {error}") from error
            yield lines

    async def close(self) -> None:
        """Close all connections; further calls open new ones."""
        await self._wire.close()

    async def _request_once(self, call: HttpRequest, seconds: float) -> HttpResponse:
        async def exchange(prepared: HttpRequest) -> tuple[int, HttpResponse]:
            answer = await self._wire.request(prepared)
            return answer.status, answer

        return await self._bounded(call, exchange, seconds)

    async def _bounded(
        self,
        call: HttpRequest,
        exchange: Callable[[HttpRequest], Awaitable[tuple[int, T]]],
        seconds: float,
    ) -> T:
        """One try in that time, its repetition with fresh credentials included."""
        try:
            async with Deadline(self._clock, seconds):
                try:
                    return await self._attempt(call, exchange)
                except Unauthorized:
                    # Tokens are rotated under us; a 401 also proves that nothing was executed.
                    self._count_retry(call, "401")
                    return await self._attempt(call, exchange)
        except TimeoutError as error:
            raise TransportError(
                f"{call.method} {call.path}: no answer within {seconds:g} s"
            ) from error

    async def _attempt(
        self, call: HttpRequest, exchange: Callable[[HttpRequest], Awaitable[tuple[int, T]]]
    ) -> T:
        prepared = replace(call, headers=await self._credentials.headers())
        if call.writes and self._guard is not None:
            self._guard()
        code, size = NO_ANSWER, None
        sent_at = self._clock.monotonic()
        try:
            status, result = await exchange(prepared)
            code = str(status)
            size = len(result.body) if isinstance(result, HttpResponse) else None
            return result
        except ApiError as error:
            code = str(error.code)
            if isinstance(error, Unauthorized):
                self._credentials.invalidate(before=sent_at)
            raise
        finally:
            self._count(call, code, self._clock.monotonic() - sent_at, size)

    def _count(self, call: HttpRequest, code: str, seconds: float, size: int | None) -> None:
        if self._metrics is None:
            return
        self._metrics.rest_client_requests_total.labels(code, call.method, self._host).inc()
        details = self._metrics.requests
        if details is not None:
            labels = (call.method, self._host)
            details.rest_client_request_duration_seconds.labels(*labels).observe(seconds)
            details.rest_client_request_size_bytes.labels(*labels).observe(len(call.body or b""))
            if size is not None:
                details.rest_client_response_size_bytes.labels(*labels).observe(size)

    def _count_retry(self, call: HttpRequest, code: str) -> None:
        if self._metrics is not None and self._metrics.requests is not None:
            retries = self._metrics.requests.rest_client_request_retries_total
            retries.labels(code, call.method, self._host).inc()


def _pause_before_retry(call: HttpRequest, error: ApiError) -> float | None:
    """Seconds until this call may be sent again, None for not at all."""
    if error.retry_after is None or error.retry_after > LONGEST_RETRY_AFTER:
        return None
    if isinstance(error, ResourceVersionTooLarge | EvictionRefused):
        # The server has waited for that version before it answered; a budget is no load.
        return None
    if error.code == 429 or (error.code >= 500 and not call.writes):
        return error.retry_after
    return None
