"""Sends requests to the API server: credentials, deadlines, retries, the write guard, metrics.

Independent of Kubernetes objects and of sockets: a `Wire` sends the bytes,
runtime.client.wire.HttpWire in production and a server in memory in simulations. Called by
runtime.client.client and runtime.client.listing.
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
"""Longest Retry-After in seconds that is handled here; the caller schedules longer ones."""

NO_ANSWER = "<error>"
"""The status code in metrics of a request without response."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. `headers` are the credentials, which Transport adds at each attempt.

    A response with more than `most` bytes raises AnswerTooLarge.
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
    """A successful response (below 300) with its whole body."""

    status: int
    body: bytes


class AnswerTooLarge(TransportError):  # noqa: N818 - named like its siblings in errors
    """The response is larger than the limit of the caller."""


class Wire(Protocol):
    """Sends a request to one server once and returns the response.

    Raises the error of runtime.errors.api_error for a status of 300 and above, ConnectionDropped,
    AnswerTooLarge, and TransportError if nothing was sent. The caller implements deadlines, retries
    and the guard: a wire may hang, and is then cancelled.
    """

    async def request(self, call: HttpRequest, /) -> HttpResponse: ...

    def stream(self, call: HttpRequest, /) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The lines of a streamed response, each with its newline.

        Entering raises what `request` raises. The iterator ends when the server ends the stream
        between two lines, and raises TransportError for any other end.
        """
        ...

    async def close(self) -> None:
        """Close all connections; further calls open new ones."""
        ...


class Transport:
    """Sends requests over a wire.

    `guard` is called immediately before each write is sent and may raise LeaseLost to stop it.
    `timeout` limits one attempt of a request, or the opening of a stream, in seconds.
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
        """Send a request and read the whole response; each attempt is limited to `seconds`.

        A read is retried once after a dropped connection, and after 429 or 5xx with a short
        Retry-After. A write is retried only after 429 with Retry-After, because only then it was
        certainly not executed (client-go also retries writes after 5xx). Any request is retried
        once with new credentials after 401.

        Raises ApiError for a status of 300 and above, TransportError without a response.
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
        raise TransportError(f"{call.method} {call.path}: no response in {TRIES} attempts")

    @asynccontextmanager
    async def stream(self, call: HttpRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a streamed response and iterate over its lines, each with its newline.

        The opening has the deadline of a request; the caller limits the reading. The iterator ends
        when the server ends the stream between two lines. Leaving the context closes the
        connection.

        Raises ApiError when opening fails, TransportError at any time.
        """
        async with AsyncExitStack() as stack:

            async def open_stream(prepared: HttpRequest) -> tuple[int, AsyncIterator[bytes]]:
                return 200, await stack.enter_async_context(self._wire.stream(prepared))

            try:
                lines = await self._within_deadline(call, open_stream, self._timeout)
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

        return await self._within_deadline(call, exchange, seconds)

    async def _within_deadline(
        self,
        call: HttpRequest,
        exchange: Callable[[HttpRequest], Awaitable[tuple[int, T]]],
        seconds: float,
    ) -> T:
        """One attempt within that time, including its retry with new credentials."""
        try:
            async with Deadline(self._clock, seconds):
                try:
                    return await self._attempt(call, exchange)
                except Unauthorized:
                    # The token may have been rotated; after a 401 nothing was executed.
                    self._count_retry(call, "401")
                    return await self._attempt(call, exchange)
        except TimeoutError as error:
            raise TransportError(
                f"{call.method} {call.path}: no response within {seconds:g} s"
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
    """Seconds until this request may be retried, None if it must not be."""
    if error.retry_after is None or error.retry_after > LONGEST_RETRY_AFTER:
        return None
    if isinstance(error, ResourceVersionTooLarge | EvictionRefused):
        # The server has already waited for that version; a disruption budget is not overload.
        return None
    if error.code == 429 or (error.code >= 500 and not call.writes):
        return error.retry_after
    return None
