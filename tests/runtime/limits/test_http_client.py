"""runtime.limits.http_client: limits for a server that sends without end."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from runtime.limits.http_client import (
    HEADERS_MAX,
    PIECE,
    PiecemealSocket,
    bounded_session,
    exceeded_limit,
    read_body,
    refuse_compressed,
)
from runtime.limits.nesting import UnreadableError
from tests.runtime.pouring import CHUNK, ENDLESS, OK, WRONG, Pouring, answer, bomb, pouring

MOST = 100_000
TLS = ssl.create_default_context()
TIMEOUT = aiohttp.ClientTimeout(total=10)


@asynccontextmanager
async def open_request(
    first: bytes, forever: bytes = b""
) -> AsyncIterator[tuple[aiohttp.ClientResponse, Pouring]]:
    """The response of a server that sends just these bytes."""
    async with (
        pouring(first, forever) as server,
        bounded_session(TIMEOUT, tls=TLS, limit=2) as session,
        session.get(f"http://127.0.0.1:{server.port}/") as response,
    ):
        yield response, server


@pytest.mark.parametrize("body", [b"", b"x" * MOST], ids=["nothing", "the maximum"])
async def test_a_body_is_read_up_to_its_bound(body: bytes) -> None:
    async with open_request(answer(body)) as (response, _):
        assert await read_body(response, MOST) == body


async def test_a_body_is_read_unchanged() -> None:
    async with open_request(bomb(1 << 20)) as (response, _):
        assert len(await read_body(response, MOST)) < MOST


async def test_an_endless_body_is_read_up_to_its_limit() -> None:
    async with open_request(ENDLESS, CHUNK) as (response, server):
        content = response.content
        with pytest.raises(UnreadableError, match=f"longer than {MOST} bytes"):
            await read_body(response, MOST)
        # The read and the buffered bytes: aiohttp buffers twice its limit.
        assert content.total_bytes <= MOST + 1 + 2 * 4 * PIECE + PIECE
        await asyncio.wait_for(server.cut.wait(), 10)


@pytest.mark.parametrize("encoding", [b"gzip", b"GZIP", b"br", b"x" * 1000, b"gzip, identity"])
async def test_a_compressed_response_is_rejected(encoding: bytes) -> None:
    async with open_request(answer(b"{}", b"Content-Encoding: " + encoding)) as (response, _):
        with pytest.raises(UnreadableError, match="compressed") as raised:
            refuse_compressed(response)
    assert len(str(raised.value)) < 100


@pytest.mark.parametrize("headers", [(), (b"Content-Encoding: identity",), (b"Content-Encoding:",)])
async def test_an_uncompressed_response_is_accepted(headers: tuple[bytes, ...]) -> None:
    async with open_request(answer(b"{}", *headers)) as (response, _):
        refuse_compressed(response)
        assert await read_body(response, MOST) == b"{}"


@pytest.mark.parametrize("first", WRONG.values(), ids=WRONG.keys())
async def test_unbounded_headers_are_an_error(first: bytes) -> None:
    with pytest.raises(aiohttp.ClientError):
        async with open_request(first) as (response, _):
            await read_body(response, MOST)


async def test_the_error_names_the_limits_of_headers() -> None:
    with pytest.raises(aiohttp.ClientError) as raised:
        async with open_request(WRONG["many headers"]):
            pass
    assert f"more than {HEADERS_MAX} headers" in str(exceeded_limit(raised.value))
    assert exceeded_limit(aiohttp.ClientConnectionError()) is None


async def test_no_cookie_is_kept() -> None:
    async with (
        pouring(answer(b"", b"Set-Cookie: a=b; Path=/")) as server,
        bounded_session(TIMEOUT, tls=TLS, limit=2) as session,
    ):
        for _ in range(2):
            async with session.get(f"http://localhost:{server.port}/"):
                pass
    assert not any(b"cookie" in request.lower() for request in server.requests)


@pytest.mark.parametrize("size", [1, PIECE, 1 << 20])
def test_a_socket_returns_one_piece_at_a_time(size: int) -> None:
    """The loop iterates once for each of them."""
    ours, theirs = socket.socketpair()
    with theirs, PiecemealSocket(fileno=ours.detach()) as taking:
        theirs.sendall(b"x" * 100_000)
        buffer = bytearray(size)
        expected = min(size, PIECE)
        assert len(taking.recv(size)) == expected
        assert taking.recv_into(memoryview(buffer)) == expected
        assert taking.recv_into(buffer, size) == expected
        assert taking.recv_into(buffer, 1) == 1


async def test_a_session_uses_piecemeal_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[int] = []
    recv = PiecemealSocket.recv

    def noted(self: PiecemealSocket, size: int, flags: int = 0) -> bytes:
        data = recv(self, size, flags)
        pieces.append(len(data))
        return data

    monkeypatch.setattr(PiecemealSocket, "recv", noted)
    async with open_request(answer(b"x" * MOST)) as (response, _):
        await read_body(response, MOST)
    assert sum(pieces) > MOST
    assert max(pieces) <= PIECE


async def test_a_body_may_end_with_its_connection() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"\r\n" + b"x" * MOST)
        writer.close()

    listener = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with (
        listener,
        bounded_session(TIMEOUT, tls=TLS, limit=2) as session,
        session.get(f"http://127.0.0.1:{port}/") as response,
    ):
        assert len(await read_body(response, MOST)) == MOST
