"""e2e.harness.fault_proxy: each fault, with a small server behind the proxy."""

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from e2e.harness.fault_proxy import (
    KEEPS_ALL,
    Answer,
    Cut,
    FaultProxy,
    Request,
    Slow,
    fault_proxy,
    removes,
)
from e2e.harness.object_access import Endpoint, S3Objects
from e2e.harness.stores import ServerHost, Store
from tests.integration.bao_server import free_port

BODY = b"x" * 300_000


class Quiet(ThreadingHTTPServer):
    """Ignores errors of connections that a fault ended."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing."""


class Kept(BaseHTTPRequestHandler):
    """Stores objects in memory."""

    protocol_version = "HTTP/1.1"
    objects: ClassVar[dict[str, bytes]] = {}

    def do_PUT(self) -> None:
        """Store a complete object."""
        length = int(self.headers["Content-Length"])
        content = self.rfile.read(length)
        if len(content) == length:
            self.objects[self.path] = content
            self._answer(200, b"")

    def do_GET(self) -> None:
        """Return an object."""
        self._answer(200, self.objects[self.path])

    def do_DELETE(self) -> None:
        """Delete an object."""
        del self.objects[self.path]
        self._answer(204, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[FaultProxy]:
    Kept.objects.clear()
    server = Quiet(("127.0.0.1", 0), Kept)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    store = Store("s3", endpoint, S3Objects(Endpoint(endpoint), "a", "b"), {})
    try:
        with fault_proxy(ServerHost.loopback(), store, tmp_path, port=free_port()) as proxy:
            yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ask(proxy: FaultProxy, method: str, path: str, body: bytes = b"") -> int:
    """The status of the response; 0 if the connection ended before it was complete."""
    host = proxy.store.endpoint.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10.0)
    try:
        connection.request(method, path, body=body)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        return 0
    else:
        return answer.status
    finally:
        connection.close()


def test_without_a_fault_all_requests_are_forwarded(proxy: FaultProxy) -> None:
    assert ask(proxy, "PUT", "/b/k?partNumber=1", BODY) == 200
    assert ask(proxy, "GET", "/b/k?partNumber=1") == 200
    assert Kept.objects == {"/b/k?partNumber=1": BODY}
    request = Request("PUT", "/b/k", frozenset({"partNumber"}), len(BODY))
    assert proxy.requests[0] == request


def test_a_cut_ends_the_connection_and_all_later_ones(proxy: FaultProxy) -> None:
    with proxy.inject(Cut(after=len(BODY) + 10)):
        assert [ask(proxy, "PUT", f"/b/{n}", BODY) for n in range(3)] == [200, 0, 0]
    assert set(Kept.objects) == {"/b/0"}
    assert ask(proxy, "PUT", "/b/3", BODY) == 200


def test_a_response_can_be_cut(proxy: FaultProxy) -> None:
    ask(proxy, "PUT", "/b/k", BODY)
    with proxy.inject(Cut(after=1000, way="down")):
        assert ask(proxy, "GET", "/b/k") == 0


def test_an_error_replaces_the_response(proxy: FaultProxy) -> None:
    with proxy.inject(Answer(503, "SlowDown")):
        assert ask(proxy, "PUT", "/b/k", BODY) == 503
    assert Kept.objects == {}


def test_a_store_that_refuses_deletions_accepts_uploads(proxy: FaultProxy) -> None:
    with proxy.inject(KEEPS_ALL):
        assert ask(proxy, "PUT", "/b/l", BODY) == 200
        assert ask(proxy, "DELETE", "/b/l") == 403


def test_a_slow_store_delays_an_upload(proxy: FaultProxy) -> None:
    with proxy.inject(Slow(bytes_per_second=2 * len(BODY))):
        sender = threading.Thread(target=ask, args=(proxy, "PUT", "/b/k", BODY), daemon=True)
        sender.start()
        sender.join(0.2)
        assert sender.is_alive()
        sender.join(10.0)
    assert Kept.objects == {"/b/k": BODY}


@pytest.mark.parametrize(
    ("request_", "removing"),
    [
        (Request("DELETE", "/b/k"), True),
        (Request("POST", "/b", frozenset({"delete"})), True),
        (Request("DELETE", "/b/k", frozenset({"uploadId"})), False),
        (Request("POST", "/b/k", frozenset({"uploads"})), False),
        (Request("GET", "/b/k"), False),
    ],
)
def test_the_abort_of_an_upload_is_not_a_removal(request_: Request, removing: bool) -> None:
    assert removes(request_) is removing
