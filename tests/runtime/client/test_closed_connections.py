"""Connections that are closed during a response, to servers that ignore the close."""

import asyncio
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from managers.certs.x509 import issue_server, make_authority
from runtime.client.transport import AnswerTooLarge, HttpRequest
from runtime.client.wire import HttpWire
from runtime.clock import SystemClock
from tests.runtime.serving import Tokens

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


class SilentServer:
    """Sends the start of a body for each request, and then nothing more."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[ssl.SSLSocket] = []
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                raw, _ = self._listener.accept()
            except OSError:
                return
            peer = self._context.wrap_socket(raw, server_side=True)
            self._open.append(peer)
            peer.recv(65536)
            peer.sendall(_HEAD + b"x" * 1000)

    def close(self) -> None:
        """Stop listening, and close all connections."""
        self._listener.close()
        for peer in self._open:
            peer.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SilentServer]:
    pair = issue_server(make_authority("x", SystemClock().now()), ("x",), (), SystemClock().now())
    (tmp_path / "crt").write_bytes(pair.certificate)
    (tmp_path / "key").write_bytes(pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    server = SilentServer(context)
    yield server
    server.close()


class Trusting(Tokens):
    """Credentials that accept any server certificate."""

    def ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


def test_no_connection_outlives_its_client(server: SilentServer) -> None:
    async def cut_short() -> None:
        wire = HttpWire(Trusting(f"https://127.0.0.1:{server.port}"), user_agent="test")
        for _ in range(3):
            with pytest.raises(AnswerTooLarge):
                await wire.request(HttpRequest("GET", "/", most=100))
        await wire.close()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(cut_short())
        gc.collect()
    assert [str(warning.message) for warning in caught if "unclosed" in str(warning.message)] == []
