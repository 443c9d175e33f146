"""The fake server on a loopback socket, for clients with real connections.

Uses aiohttp. The same server object may be reached through a wire at the same time.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from runtime.client.transport import HttpRequest
from runtime.testing.api_server.answers import RefusedAnswer, Reply
from runtime.testing.api_server.faults import Fault, FaultKind, Faults, NoFaults
from runtime.testing.api_server.server import FakeApiServer


@asynccontextmanager
async def serving(server: FakeApiServer, *, faults: Faults | None = None) -> AsyncIterator[str]:
    """Serve during the block; yields the base URL."""
    adapter = _Adapter(server, faults or NoFaults())
    listener = socket.create_server(("127.0.0.1", 0))
    # A quiet watch does not notice that its client has disconnected.
    handler = web.Server(adapter.answer, handler_cancellation=True)
    runner = web.ServerRunner(handler, shutdown_timeout=0.0)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        adapter.stop()
        await runner.cleanup()


class _Adapter:
    """Converts HTTP requests to calls, and replies and watches to HTTP responses."""

    def __init__(self, server: FakeApiServer, faults: Faults) -> None:
        self._server = server
        self._faults = faults
        self._answering: set[asyncio.Task[web.StreamResponse]] = set()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.create_task(self._answer(request))
        self._answering.add(task)
        try:
            return await task
        finally:
            self._answering.discard(task)

    def stop(self) -> None:
        """Abort the responses in progress."""
        for task in tuple(self._answering):
            task.cancel()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        call = HttpRequest(
            request.method,
            request.path,
            dict(request.query),
            await request.read() or None,
            request.headers.get("Content-Type", ""),
            request.headers.get("Accept", ""),
        )
        fault = self._faults.next(call)
        if fault and fault.kind in (FaultKind.DELAY, FaultKind.LATE_REPLY):
            await self._server.clock.sleep(fault.seconds)
        if not self._server.up or (fault and fault.kind in (FaultKind.REFUSED, FaultKind.RESET)):
            return _abort(request)
        refusal = fault.refusal() if fault else None
        if refusal is not None:
            return _response(refusal.reply())
        if call.query.get("watch") in ("true", "1"):
            return await self._watch(request, call, fault)
        agent = request.headers.get("User-Agent", "unknown")
        reply = self._server.handle(call, user=agent.partition("/")[0])
        return await _send(request, reply, fault)

    async def _watch(
        self, request: web.BaseRequest, call: HttpRequest, fault: Fault | None
    ) -> web.StreamResponse:
        try:
            watch = self._server.open(call)
        except RefusedAnswer as refused:
            return _response(refused.reply())
        try:
            if fault and fault.kind is FaultKind.TORN:
                watch.tear()
            if fault and fault.kind is FaultKind.SILENCE:
                watch.freeze()
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            response.enable_chunked_encoding()
            await response.prepare(request)
            while chunk := await watch.read():
                await response.write(chunk)
            return response
        except ConnectionResetError:
            # An injected reset, or the client has disconnected.
            return _abort(request)
        finally:
            self._server.leave(watch)


async def _send(request: web.BaseRequest, reply: Reply, fault: Fault | None) -> web.StreamResponse:
    match fault.kind if fault else None:
        case FaultKind.LOST_REPLY:
            return _abort(request)
        case FaultKind.SILENCE:
            await asyncio.get_running_loop().create_future()
        case FaultKind.PROXY:
            return web.Response(status=502, text="<html><h1>Bad Gateway</h1></html>")
        case FaultKind.TORN:
            half = web.StreamResponse(headers={"Content-Length": str(len(reply.body))})
            await half.prepare(request)
            await half.write(reply.body[: len(reply.body) // 2])
            return _abort(request)
    return _response(reply)


def _response(reply: Reply) -> web.Response:
    return web.Response(
        status=reply.status,
        body=reply.body,
        content_type="application/json",
        headers=dict(reply.headers),
    )


def _abort(request: web.BaseRequest) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
