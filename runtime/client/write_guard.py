"""The last check of the guard, when the bytes of a writing request leave.

Uses aiohttp. Called by runtime.client.wire, and by clients of servers other than the API server:
the holder of a lease checks its guard here, whichever server the request is for.

Waiting for a free connection, a name, a handshake, or for our turn in a busy loop can take as long
as the whole deadline, and a process that was stopped meanwhile runs what is ready before what the
timers woke. So the body of the request checks. aiohttp holds headers back until the body comes, and
between this check and the socket nothing is awaited.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.client_middlewares import ClientHandlerType
from aiohttp.payload import BytesPayload

from runtime.errors import ConnectionDropped

Guard = Callable[[], None]
"""Raises when nothing may be changed now: LeaseLost of an elector, or what an owner adds to it."""


def unguarded() -> None:
    """Permit every write: the guard of a process that holds no lease, such as a Job."""


class LastLook:
    """Asks a guard, and keeps its no: aiohttp makes an error of the connection of it."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.refused: Exception | None = None

    def __call__(self) -> None:
        """Raise what the guard raises."""
        try:
            self._guard()
        except Exception as refused:
            self.refused = refused
            raise


class GuardedBody(BytesPayload):
    """The body of a write, which checks again when it is about to be sent; b"" does so too."""

    def __init__(self, body: bytes, check: LastLook, *, content_type: str) -> None:
        super().__init__(body, content_type=content_type)
        self._check = check

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        self._check()
        await super().write_with_length(writer, content_length)


async def guarded_pieces(pieces: AsyncIterable[bytes], check: LastLook) -> AsyncIterator[bytes]:
    """Ask before the first piece of a body that comes in pieces; the headers wait for that."""
    check()
    async for piece in pieces:
        yield piece


async def no_silent_resend(
    request: aiohttp.ClientRequest, handler: ClientHandlerType
) -> aiohttp.ClientResponse:
    """Raise a class that aiohttp does not know.

    It resends GET, PUT and DELETE by itself after its own connection errors, which must not
    happen to a write behind our back.
    """
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise ConnectionDropped(str(error) or type(error).__name__) from error
