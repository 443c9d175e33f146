"""A runtime.client.transport.Wire to a fake server in the same event loop.

Uses the server and a plan of faults. Called by tests in virtual time, without sockets. Deadlines
and retries are those of runtime.client.transport.
"""

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NoReturn

from runtime.client.client import Client
from runtime.client.credentials import DIRECT
from runtime.client.transport import AnswerTooLarge, HttpRequest, HttpResponse
from runtime.clock import Clock
from runtime.errors import ConnectionDropped, TransportError, api_error
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.answers import RefusedAnswer, Reply
from runtime.testing.api_server.faults import Fault, FaultKind, Faults, NoFaults
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.watching import WatchStream

LATENCY = (0.001, 0.02)
"""Range of the latency in seconds, random for each direction."""


class AnonymousCredentials:
    """Credentials for a server without authentication."""

    server = "https://fake.test"
    route = DIRECT
    namespace = "default"

    async def headers(self) -> Mapping[str, str]:
        return {}

    def ssl_context(self) -> ssl.SSLContext:
        raise RuntimeError("there is no socket here")

    def invalidate(self, *, before: float | None = None) -> None:
        """Nothing to read again."""


class FakeWire:
    """The wire of one client; user is the manager of writes that do not name one.

    streams counts the open watches; pace is the least number of seconds per line of a watch.
    """

    def __init__(
        self,
        server: FakeApiServer,
        rng: random.Random,
        *,
        faults: Faults | None = None,
        latency: tuple[float, float] = LATENCY,
        user: str = "unknown",
    ) -> None:
        self.server = server
        self.faults: Faults = faults or NoFaults()
        self.streams = 0
        self.pace = 0.0
        self._rng = rng
        self._latency = latency
        self._user = user

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        fault = self.faults.next(call)
        await self._connect(call, fault)
        reply = self._refusal(fault) or self.server.handle(call, user=self._user)
        await self._delay(_seconds(fault, FaultKind.LATE_REPLY))
        reply = await self._inject_into_reply(reply, fault)
        if reply.status >= 300:
            raise api_error(reply.status, reply.headers, reply.body)
        if call.most is not None and len(reply.body) > call.most:
            raise AnswerTooLarge(f"the response has more than {call.most} bytes")
        return HttpResponse(reply.status, reply.body)

    def stream(self, call: HttpRequest, /) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._stream(call)

    @asynccontextmanager
    async def _stream(self, call: HttpRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        fault = self.faults.next(call)
        await self._connect(call, fault)
        refused = self._refusal(fault)
        if refused is not None:
            raise api_error(refused.status, refused.headers, refused.body)
        try:
            watch = self.server.open(call)
        except RefusedAnswer as error:
            reply = error.reply()
            raise api_error(reply.status, reply.headers, reply.body) from error
        self.streams += 1
        try:
            await self._inject_into_watch(watch, fault)
            yield _Lines(watch, self)
        finally:
            self.streams -= 1
            self.server.leave(watch)

    async def close(self) -> None:
        """Nothing to close: there are no connections."""

    async def _connect(self, call: HttpRequest, fault: Fault | None) -> None:
        await self._delay(_seconds(fault, FaultKind.DELAY))
        if not self.server.up or (fault and fault.kind is FaultKind.REFUSED):
            raise TransportError(f"{call.method} {call.path}: connection refused")
        if fault and fault.kind is FaultKind.RESET:
            raise ConnectionDropped("reset before the request arrived")

    @staticmethod
    def _refusal(fault: Fault | None) -> Reply | None:
        refusal = fault.refusal() if fault else None
        return refusal.reply() if refusal else None

    async def _inject_into_reply(self, reply: Reply, fault: Fault | None) -> Reply:
        """Inject a fault into a reply."""
        match fault.kind if fault else None:
            case FaultKind.LOST_REPLY:
                raise ConnectionDropped("reset before the answer arrived")
            case FaultKind.TORN:
                raise ConnectionDropped("the response was truncated")
            case FaultKind.SILENCE:
                await _forever()
            case FaultKind.PROXY:
                return Reply(502, b"<html><h1>Bad Gateway</h1></html>")
        return reply

    async def _inject_into_watch(self, watch: WatchStream, fault: Fault | None) -> None:
        """Inject a fault into a new watch."""
        match fault.kind if fault else None:
            case FaultKind.LOST_REPLY:
                raise ConnectionDropped("reset before the answer arrived")
            case FaultKind.TORN:
                watch.tear(self._rng.randint(0, watch.unread))
            case FaultKind.SILENCE:
                watch.freeze(self._rng.randint(0, watch.unread))
            case FaultKind.PROXY:
                reply = Reply(502, b"<html><h1>Bad Gateway</h1></html>")
                raise api_error(reply.status, reply.headers, reply.body)

    async def _delay(self, extra: float = 0.0) -> None:
        await self.server.clock.sleep(self._rng.uniform(*self._latency) + extra)


def client_of(
    wire: FakeWire,
    *,
    metrics: Metrics | None = None,
    guard: Callable[[], None] | None = None,
    clock: Clock | None = None,
) -> Client:
    """A client of the fake server, with the deadlines and retries of the real transport.

    clock is that of the client, by default that of the server.
    """
    return Client.over(
        wire, AnonymousCredentials(), clock=clock or wire.server.clock, metrics=metrics, guard=guard
    )


class _Lines:
    """The lines of a watch, with the errors of the Wire protocol."""

    def __init__(self, watch: WatchStream, wire: FakeWire) -> None:
        self._watch = watch
        self._wire = wire

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._wire.pace:
            await self._wire.server.clock.sleep(self._wire.pace)
        try:
            chunk = await self._watch.read()
        except ConnectionResetError as error:
            raise TransportError(f"the stream broke: {error}") from error
        if not chunk:
            raise StopAsyncIteration
        if not chunk.endswith(b"\n"):
            raise TransportError("the stream was cut inside a line")
        return chunk


def _seconds(fault: Fault | None, kind: FaultKind) -> float:
    return fault.seconds if fault and fault.kind is kind else 0.0


async def _forever() -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("unreachable")
