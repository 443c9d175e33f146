"""A Job can connect only to its store, whatever the request."""

import http.client
import ipaddress
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import obstore
import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

from baoctl.jobs.store.egress_policy import EgressPolicy
from baoctl.jobs.store.egress_proxy import EgressEndpoint, EgressProxy, Rules

LOOPBACK = EgressPolicy(permitted=(ipaddress.ip_network("127.0.0.0/8"),))


class Store(BaseHTTPRequestHandler):
    """Echoes requests; /away redirects to a cloud metadata service."""

    protocol_version = "HTTP/1.1"
    requests: list[tuple[str, str, bytes]]

    def do_GET(self) -> None:
        self._answer(b"")

    def do_PUT(self) -> None:
        self._answer(self.rfile.read(int(self.headers["content-length"])))

    def _answer(self, body: bytes) -> None:
        self.requests.append((self.command, self.path, body))
        away = self.path.endswith("/away")
        self.send_response(307 if away else 200)
        if away:
            self.send_header("location", "http://169.254.169.254/latest/meta-data/iam")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture
def store() -> Iterator[int]:
    Store.requests = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield int(server.server_address[1])
    server.shutdown()
    server.server_close()


@contextmanager
def running(
    *endpoints: EgressEndpoint, policy: EgressPolicy = LOOPBACK, **more: Any
) -> Iterator[EgressProxy]:
    with EgressProxy(Rules(policy, endpoints, **more)) as egress:
        yield egress


def ask(
    egress: EgressProxy, url: str, method: str = "GET", body: bytes | None = None
) -> tuple[int, bytes]:
    """Send a request for a URL to the proxy."""
    proxy = http.client.HTTPConnection(egress.url.removeprefix("http://"), timeout=10)
    with closing(proxy):
        proxy.request(method, url, body or None)
        answer = proxy.getresponse()
        return answer.status, answer.read()


def tunnel(egress: EgressProxy, host: str, port: int) -> bytes:
    """Open a tunnel, and return the first line of the answer."""
    name, _, at = egress.url.removeprefix("http://").rpartition(":")
    with socket.create_connection((name, int(at)), timeout=10) as proxy:
        proxy.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n".encode())
        return proxy.recv(4096).split(b"\r\n")[0]


def test_a_request_reaches_the_store_unchanged(store: int) -> None:
    body = b"x" * 1_000_000
    with running(EgressEndpoint("127.0.0.1", store)) as egress:
        assert ask(egress, f"http://127.0.0.1:{store}/b/k?list=1", "PUT", body) == (200, body)
        assert ask(egress, f"http://127.0.0.1:{store}") == (200, b"")
    assert Store.requests == [("PUT", "/b/k?list=1", body), ("GET", "/", b"")]


def test_a_tunnel_forwards_in_both_directions(store: int) -> None:
    with running(EgressEndpoint("127.0.0.1", store)) as egress:
        assert tunnel(egress, "127.0.0.1", store) == b"HTTP/1.1 200 Connection established"
    assert egress.refusal == ""


@pytest.mark.parametrize("host", ["127.0.0.2", "store.example.com", "127.0.0.1.example.com"])
def test_another_host_is_refused(store: int, host: str) -> None:
    with running(EgressEndpoint("127.0.0.1", store)) as egress:
        assert ask(egress, f"http://{host}:{store}/")[0] == 403
        assert tunnel(egress, host, store) == b"HTTP/1.1 403 Forbidden"
        assert "is not the store" in egress.refusal
    assert Store.requests == []


def test_another_port_is_refused(store: int) -> None:
    with running(EgressEndpoint("127.0.0.1", store)) as egress:
        assert ask(egress, f"http://127.0.0.1:{store + 1}/")[0] == 403


def test_every_address_of_a_name_is_checked(store: int) -> None:
    def resolve(host: str, port: int) -> list[tuple[Any, ...]]:
        places = ("192.0.2.1", "169.254.169.254")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, port)) for place in places]

    with running(
        EgressEndpoint("store.example.com", 80), policy=EgressPolicy(), resolve=resolve
    ) as egress:
        assert ask(egress, "http://store.example.com/")[0] == 403
        assert "resolves to 169.254.169.254, which is a link-local address" in egress.refusal


def test_a_name_is_resolved_for_each_connection(store: int) -> None:
    answers = iter(["127.0.0.1", "169.254.169.254"])

    def resolve(host: str, port: int) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    with running(EgressEndpoint("store.example.com", store), resolve=resolve) as egress:
        assert ask(egress, f"http://store.example.com:{store}/")[0] == 200
        assert ask(egress, f"http://store.example.com:{store}/")[0] == 403
    assert len(Store.requests) == 1


def test_the_identity_endpoint_is_reached_only_by_its_configured_name() -> None:
    requests: list[str] = []

    def resolve(host: str, port: int) -> list[tuple[Any, ...]]:
        requests.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("169.254.169.254", port))]

    identity = (EgressEndpoint("169.254.169.254", 80),)
    rules = Rules(EgressPolicy(), (EgressEndpoint("store.example.com", 80),), identity, resolve)
    assert rules.addresses("169.254.169.254", 80)
    with running(
        EgressEndpoint("store.example.com", 80),
        policy=EgressPolicy(),
        identity=identity,
        resolve=resolve,
    ):
        pass
    with EgressProxy(rules) as egress:
        assert ask(egress, "http://store.example.com/")[0] == 403
    assert requests == ["169.254.169.254", "store.example.com"]


def test_a_redirect_to_a_metadata_service_is_refused(store: int) -> None:
    with running(EgressEndpoint("127.0.0.1", store)) as egress:
        client = S3Store(
            "bucket", endpoint=f"http://127.0.0.1:{store}", skip_signature=True,
            client_options={"proxy_url": egress.url, "allow_http": True},
            retry_config={"max_retries": 0},
        )  # fmt: skip
        with pytest.raises(BaseError):
            obstore.get(client, "away")
        assert egress.refusal == "169.254.169.254:80 is not the store"
    assert [path for _, path, _ in Store.requests] == ["/bucket/away"]


def test_an_unreachable_host_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    with running(EgressEndpoint("127.0.0.1", port)) as egress:
        assert ask(egress, f"http://127.0.0.1:{port}/")[0] == 502
        assert egress.last_error == f"127.0.0.1:{port}: Connection refused"


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\r\n\r\n", b"hello\r\n\r\n", b"x" * 100_000])
def test_an_invalid_proxy_request_gets_no_response(store: int, line: bytes) -> None:
    with running(EgressEndpoint("127.0.0.1", store)) as egress:
        name, _, at = egress.url.removeprefix("http://").rpartition(":")
        # The proxy may close the connection before it has read the whole request.
        with suppress(OSError), socket.create_connection((name, int(at)), timeout=10) as proxy:
            proxy.sendall(line)
            proxy.shutdown(socket.SHUT_WR)
            assert proxy.recv(4096) == b""
