"""The API client of the rig: which requests it retries."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from urllib3 import HTTPConnectionPool

from e2e.rig.kube import TRIES, ApiError, Kube

NOT_YET = (429, {"Retry-After": "0"})
OTHERS = {
    "a budget forbids it": (429, {}),
    "it is overloaded": (503, {"Retry-After": "0"}),
    "there is none": (404, {}),
}


class _Server(ThreadingHTTPServer):
    """Returns `answers` in order, and then an empty object."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.requests = 0
        self.connections = 0
        self.closes = False


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        self.server.requests += 1
        code, headers = self.server.answers.pop(0) if self.server.answers else (200, {})
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "2")
        # Without the header, the client may send its next request before it reads the end of file.
        if self.server.closes:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET  # noqa: N815  the name is that of the library

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[_Server]:
    server = _Server()
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def kube(server: _Server) -> Kube:
    host, port = server.server_address[:2]
    return Kube(HTTPConnectionPool(str(host), port))


def test_a_read_is_retried_while_the_server_starts(kube: Kube, server: _Server) -> None:
    server.answers = [NOT_YET] * (TRIES - 1)
    assert kube.get("/things") == {}
    assert server.requests == TRIES


def test_retries_are_limited(kube: Kube, server: _Server) -> None:
    server.answers = [NOT_YET] * (TRIES + 1)
    with pytest.raises(ApiError) as refused:
        kube.get("/things")
    assert refused.value.code == 429
    assert server.requests == TRIES


@pytest.mark.parametrize("case", OTHERS)
def test_other_errors_are_not_retried(case: str, kube: Kube, server: _Server) -> None:
    server.answers = [OTHERS[case]]
    with pytest.raises(ApiError):
        kube.get("/things")
    assert server.requests == 1


def test_a_write_is_sent_once(kube: Kube, server: _Server) -> None:
    server.answers = [NOT_YET]
    with pytest.raises(ApiError):
        kube.create("/things", {})
    assert server.requests == 1


@pytest.mark.parametrize(("closes", "connections"), [(False, 1), (True, 3)])
def test_calls_share_a_connection_until_the_server_closes_it(
    kube: Kube, server: _Server, closes: bool, connections: int
) -> None:
    server.closes = closes
    for _ in range(3):
        kube.get("/things")
    assert server.connections == connections


def test_a_missing_response_is_an_os_error() -> None:
    with pytest.raises(OSError, match="refused"):
        Kube(HTTPConnectionPool("127.0.0.1", 1)).get("/things")
