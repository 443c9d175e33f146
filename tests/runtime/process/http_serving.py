"""Runs an HTTP server of the process for the length of a test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from runtime.process.health import HttpServer


@contextlib.asynccontextmanager
async def serving(server: HttpServer) -> AsyncIterator[str]:
    """Run a server, and yield its URL."""
    task = asyncio.create_task(server.run())
    await server.ready()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
