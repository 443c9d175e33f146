"""Requests to a server: the output of kubectl, and verified TLS."""

import http.server
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.demo.access import parse_port
from e2e.demo.https_call import Call, perform
from managers.certs.x509 import issue_server, make_authority
from runtime.clock import SystemClock

NAME = "server.local"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Forwarding from 127.0.0.1:40123 -> 8200\n", 40123),
        ("Forwarding from [::1]:40123 -> 8200\n", 40123),
        ("error: unable to forward port because pod is not running", None),
        ("", None),
    ],
)
def test_the_port_is_parsed_from_the_output_of_kubectl(line: str, expected: int | None) -> None:
    assert parse_port(line) == expected


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer 429 with a body, as a standby does."""
        content = b"[]" if self.path == "/list" else b'{"standby": true}'
        self.send_response(429)
        self.end_headers()
        self.wfile.write(content if self.path != "/text" else b"no json")

    def do_POST(self) -> None:
        """Echo the body of the request."""
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"token": "%s", "sent": %s}' % (self.headers["X-T"].encode(), content))

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for NAME, its CA and its key, in one file."""
    now = SystemClock().now()
    authority = make_authority("x", now)
    pair = issue_server(authority, (NAME,), (), now)
    path = tmp_path_factory.mktemp("tls") / "all.pem"
    path.write_bytes(pair.certificate + authority.certificate + pair.key)
    return path


@pytest.fixture(scope="module")
def port(certificate: Path) -> Iterator[int]:
    """An HTTPS server on the loopback address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def call(port: int, certificate: Path, **changes: object) -> Call:
    """A call that succeeds, with changes."""
    text = certificate.read_text()
    authority = text[: text.index("-----BEGIN PRIVATE")]
    given = {"server_name": NAME, "authority": authority, "method": "GET", "path": "/"}
    return Call(host="127.0.0.1", port=port, **{**given, **changes})  # type: ignore[arg-type]


def test_any_status_is_returned_with_its_body(port: int, certificate: Path) -> None:
    answer = perform(call(port, certificate))
    assert (answer.status, answer.body, answer.error) == (429, {"standby": True}, "")


def test_headers_and_body_are_sent(port: int, certificate: Path) -> None:
    request = call(port, certificate, method="POST", headers={"X-T": "s"}, body={"a": 1})
    assert perform(request).body == {"token": "s", "sent": {"a": 1}}


def test_a_certificate_for_another_name_is_rejected(port: int, certificate: Path) -> None:
    answer = perform(call(port, certificate, server_name="other.local"))
    assert answer.status == 0
    assert "CERTIFICATE_VERIFY_FAILED" in answer.error


def test_a_refused_connection_is_returned(certificate: Path) -> None:
    answer = perform(call(1, certificate))
    assert answer.status == 0
    assert "ConnectionRefusedError" in answer.error


@pytest.mark.parametrize("path", ["/text", "/list"])
def test_a_body_that_is_not_an_object_is_omitted(port: int, certificate: Path, path: str) -> None:
    answer = perform(call(port, certificate, path=path))
    assert (answer.status, answer.body) == (429, {})
