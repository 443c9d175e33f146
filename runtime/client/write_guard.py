"""The last check of the guard, when the bytes of a write are sent.

Uses aiohttp. Called by runtime.client.wire, and by clients of other servers: the holder of a lease
checks its guard here, whichever server the request is for.

Waiting for a free connection, DNS, a handshake or a busy event loop can take as long as the
deadline, and a process that was stopped meanwhile runs ready tasks before expired timers. Therefore
the body of the request checks the guard. aiohttp delays the headers until the body is written, and
there is no await between this check and the socket.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.client_middlewares import ClientHandlerType
from aiohttp.payload import BytesPayload

from runtime.errors import ConnectionDropped

Guard = Callable[[], None]
"""Raises if writes are not permitted now: LeaseLost of an elector, or another exception of its
owner."""


def allow_writes() -> None:
    """Allow every write: the guard of a process that holds no lease, such as a Job."""


class GuardCheck:
    """Calls a guard and stores its exception, which aiohttp converts to a connection error."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.error: Exception | None = None

    def __call__(self) -> None:
        """Raise the exception of the guard."""
        try:
            self._guard()
        except Exception as error:
            self.error = error
            raise


class GuardedBody(BytesPayload):
    """The body of a write, which checks the guard when it is sent, even if it is empty."""

    def __init__(self, body: bytes, check: GuardCheck, *, content_type: str) -> None:
        super().__init__(body, content_type=content_type)
        self._check = check

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        self._check()
        await super().write_with_length(writer, content_length)


async def guarded_pieces(pieces: AsyncIterable[bytes], check: GuardCheck) -> AsyncIterator[bytes]:
    """Check before the first piece of a streamed body; the headers are not sent before it."""
    check()
    async for piece in pieces:
        yield piece


async def no_silent_resend(
    request: aiohttp.ClientRequest, handler: ClientHandlerType
) -> aiohttp.ClientResponse:
    """Convert connection errors to a class that aiohttp does not retry.

    It automatically resends GET, PUT and DELETE after its own connection errors, which must not
    happen to a write.
    """
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise ConnectionDropped(str(error) or type(error).__name__) from error
