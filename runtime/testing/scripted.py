"""An HTTP server in this process that follows a script, for cases that a real server cannot
produce.

Uses aiohttp. Called by tests of the client and the reflector: truncated lines, dropped connections,
410 in both forms, silence. The behavior of an API server is tested with a real one.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

Answer = Callable[[web.BaseRequest], Coroutine[None, None, web.StreamResponse]]
"""One step of a script: how the server handles one request."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


def reply(code: int, body: object = None, *, headers: Mapping[str, str] | None = None) -> Answer:
    """Respond once; bytes are sent unchanged, anything else as JSON."""
    payload = body if isinstance(body, bytes) else orjson.dumps(body)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(
            status=code, body=payload, content_type="application/json", headers=headers
        )

    return answer


def status(code: int, reason: str, message: str = "", **details: object) -> Answer:
    """Respond with a Status object, as the API server reports errors."""
    return reply(code, status_body(code, reason, message, **details))


def status_body(code: int, reason: str, message: str = "", **details: object) -> dict[str, Any]:
    """A Status object; details are those of its details field."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def listing(
    items: list[dict[str, Any]], resource_version: str = "100", *, token: str = ""
) -> Answer:
    """Respond to a list request with one page."""
    metadata = {"resourceVersion": resource_version} | ({"continue": token} if token else {})
    return reply(200, {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items})


def event(kind: str, obj: Mapping[str, Any]) -> bytes:
    """One line of a watch."""
    return orjson.dumps({"type": kind, "object": obj}) + b"\n"


def bookmark(resource_version: str) -> bytes:
    """A BOOKMARK line of a watch."""
    return event("BOOKMARK", {"metadata": {"resourceVersion": resource_version}})


def stream(*chunks: bytes, then: str = "end") -> Answer:
    """Open a watch and send chunks; `then` is "end", "cut" (the connection) or "silence"."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if then == "cut" and request.transport is not None:
            request.transport.abort()
        if then == "silence":
            await _silence()
        return response

    return answer


def trickle(lines: "asyncio.Queue[bytes]") -> Answer:
    """Open a watch and send the lines of a queue, forever."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(await lines.get())

    return answer


async def silence(request: web.BaseRequest) -> web.StreamResponse:
    """Accept the request and never respond."""
    await _silence()
    return web.Response()


async def drop(request: web.BaseRequest) -> web.StreamResponse:
    """Close the connection without a response."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _silence() -> None:
    await asyncio.get_running_loop().create_future()


class ScriptedServer:
    """Follows its script in order; a request after the script gets 418 and is recorded in
    `surplus`.

    `otherwise` handles all requests after the script instead, for clients that loop. With a TLS
    context it serves HTTPS.
    """

    def __init__(
        self,
        *script: Answer,
        otherwise: Answer | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._script = list(script)
        self._otherwise = otherwise
        self._tls = tls
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.0)
        self._port = 0
        self._answering: set[asyncio.Task[web.StreamResponse]] = set()
        self.requests: list[Received] = []
        self.surplus: list[Received] = []

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def extend(self, *script: Answer) -> None:
        """Append to the script."""
        self._script.extend(script)

    async def __aenter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0))
        self._port = listener.getsockname()[1]
        await self._runner.setup()
        await web.SockSite(self._runner, listener, ssl_context=self._tls).start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stop listening, and abort the responses in progress."""
        for task in tuple(self._answering):
            task.cancel()
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        received = Received(
            request.method, request.path, dict(request.query), request.headers, await request.read()
        )
        self.requests.append(received)
        answer = self._script.pop(0) if self._script else self._otherwise
        if answer is None:
            self.surplus.append(received)
            return web.Response(status=418, text="beyond the script")
        task = asyncio.create_task(answer(request))
        self._answering.add(task)
        try:
            return await task
        finally:
            self._answering.discard(task)
