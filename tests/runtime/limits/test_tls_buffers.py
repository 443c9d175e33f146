"""runtime.limits.tls_buffers: the buffer of each TLS connection."""

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Iterator

import pytest

from runtime.limits.tls_buffers import READ_BUFFER, shrink_tls_buffers


@pytest.fixture
def shrunk() -> Iterator[None]:
    before = sslproto.SSLProtocol.max_size
    shrink_tls_buffers()
    try:
        yield
    finally:
        sslproto.SSLProtocol.max_size = before


async def test_a_connection_allocates_a_small_buffer(shrunk: None) -> None:
    context, loop = ssl.create_default_context(), asyncio.get_running_loop()
    protocol = sslproto.SSLProtocol(
        loop, asyncio.Protocol(), context, loop.create_future(), server_hostname="name"
    )
    protocol.connection_lost(None)
    assert len(protocol.get_buffer(-1)) == READ_BUFFER
