"""An HTTPS server that serves bad snapshots: truncated, endless, or with arbitrary content.

Real servers cannot be made to do this; all other tests use real ones.
"""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from managers.bao.client import SNAPSHOT
from tests.integration.bao_server import free_port, make_certificate


@asynccontextmanager
async def played_server(
    folder: Path, body: Callable[[], AsyncIterator[bytes]], *, drop: bool = False
) -> AsyncIterator[int]:
    """Serve on the loopback address; yields the port. `drop` aborts the connection."""

    async def snapshot(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        async for piece in body():
            await response.write(piece)
        if drop and request.transport is not None:
            request.transport.abort()
        return response

    async def health(request: web.Request) -> web.Response:
        state = {"initialized": True, "sealed": False, "standby": False, "version": "2.4.0"}
        return web.json_response(state | {"cluster_id": "id"})

    async def deny(request: web.Request) -> web.Response:
        return web.json_response({"errors": ["permission denied"]}, status=403)

    make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    application = web.Application()
    application.router.add_get(f"/v1/{SNAPSHOT}", snapshot)
    application.router.add_get("/v1/sys/health", health)
    application.router.add_get("/v1/{path:.*}", deny)
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
        yield port
    finally:
        await runner.cleanup()
