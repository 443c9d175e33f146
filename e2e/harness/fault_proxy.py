"""A fault-injecting proxy in front of a real object store.

It serves TLS with a certificate of the CA of the store, in the process of the test, so a scenario
can change the fault during requests. Signatures stay valid, because the host name that the client
signed is forwarded.
"""

import http.client
import io
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from e2e.harness import certificates
from e2e.harness.certificates import SignedCertificate
from e2e.harness.stores import BUCKET, ServerHost, Store

PORT = 9900
_PIECE = 64 * 1024
_SECONDS = 120.0
# Hop-by-hop headers (RFC 9110, 7.6.1), which are not forwarded.
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "expect"})


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a client."""

    method: str
    path: str
    parameters: frozenset[str] = frozenset()
    """Names in the query."""
    length: int = 0
    """Bytes of its body."""


Matches = Callable[[Request], bool]


def everything(request: Request) -> bool:
    """Any request."""
    return True


def removes(request: Request) -> bool:
    """Requests that delete objects, one or many; aborting an upload is not one."""
    deletes_object = request.method == "DELETE" and "uploadId" not in request.parameters
    return deletes_object or (request.method == "POST" and "delete" in request.parameters)


@dataclass(frozen=True, slots=True)
class Answer:
    """The store responds with an error."""

    status: int
    code: str
    matches: Matches = everything


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection, and each later one, is closed in the middle of a body."""

    after: int
    """Bytes of all bodies that are forwarded, since the fault began."""
    way: Literal["up", "down"] = "up"


@dataclass(frozen=True, slots=True)
class Slow:
    """Bodies are throttled to this rate."""

    bytes_per_second: float
    way: Literal["up", "down"] = "up"


Fault = Answer | Cut | Slow

BROKEN = Answer(503, "ServiceUnavailable")
KEEPS_ALL = Answer(403, "AccessDenied", removes)
"""The credentials may not delete objects."""


class _CutError(Exception):
    """A fault ended the connection."""


@dataclass(slots=True)
class FaultProxy:
    """A store proxy; `fault` is None for no fault."""

    store: Store
    """The store; its targets are used through the proxy, its objects are read directly."""
    upstream: str
    """Host and port of the real store."""
    context: ssl.SSLContext | None
    """TLS context for the real store; None for plain http."""
    fault: Fault | None = None
    requests: list[Request] = field(default_factory=list)
    """All requests so far, in the order of their arrival."""
    _counted: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def inject(self, fault: Fault) -> Iterator[None]:
        """Inject a fault until the end of the context."""
        with self._lock:
            self.fault, self._counted = fault, 0
        try:
            yield
        finally:
            with self._lock:
                self.fault = None

    def target(self, bucket: str = BUCKET, prefix: str = "") -> dict[str, Any]:
        """Return spec.backup.target that goes through the proxy."""
        return self.store.target(bucket, prefix)

    def answer(self, request: Request) -> Answer | None:
        """Record a request, and return the error to respond with, if any."""
        with self._lock:
            self.requests.append(request)
            fault = self.fault
            if not isinstance(fault, Answer) or not fault.matches(request):
                return None
            return fault

    def pass_on(self, size: int, way: Literal["up", "down"]) -> int:
        """Wait as the fault requires, and return how many of the bytes to forward."""
        with self._lock:
            fault = self.fault
            if isinstance(fault, Cut) and fault.way == way:
                left = max(0, fault.after - self._counted)
                self._counted += size
                return min(left, size)
        if isinstance(fault, Slow) and fault.way == way:
            time.sleep(size / fault.bytes_per_second)
        return size


@contextmanager
def fault_proxy(
    server_host: ServerHost, store: Store, folder: Path, *, port: int = PORT
) -> Iterator[FaultProxy]:
    """Serve in front of a store until the end of the context."""
    host = f"{server_host.here}:{port}"
    scheme, upstream = urlsplit(store.endpoint).scheme, urlsplit(store.endpoint).netloc
    face = replace(store, endpoint=f"{scheme}://{host}")
    context = None
    if store.authority is not None:
        context = ssl.create_default_context(cadata=store.authority.pem.decode())
    proxy = FaultProxy(face, upstream, context)
    server = _Server((server_host.here, port), _handler(proxy))
    if store.authority is not None:
        tls = _server_context(store.authority, server_host.here, folder)
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Do not wait for connections that clients keep open.
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do not log: connections that end early are expected."""


def _server_context(authority: SignedCertificate, address: str, folder: Path) -> ssl.SSLContext:
    served = certificates.leaf(authority, ("store",), addresses=(address,))
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "proxy.crt", folder / "proxy.key"
    for file, content in zip(files, (served.pem, served.key_pem), strict=True):
        file.write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = _SECONDS

        def relay(self) -> None:
            try:
                _relay(proxy, self)
            except (_CutError, OSError, http.client.HTTPException):
                self.close_connection = True

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = relay  # noqa: N815  names of http.server

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    return Handler


def _relay(proxy: FaultProxy, client: BaseHTTPRequestHandler) -> None:
    length = int(client.headers.get("Content-Length") or 0)
    parts = urlsplit(client.path)
    names = frozenset(name for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    request = Request(client.command, parts.path, names, length)
    refusal = proxy.answer(request)
    if refusal is not None:
        _refuse(client, refusal, length)
        return
    upstream = _connect(proxy)
    try:
        upstream.putrequest(client.command, client.path, True, True)
        for name, text in client.headers.items():
            if name.lower() not in _HOP_BY_HOP:
                upstream.putheader(name, text)
        upstream.endheaders()
        _copy(proxy, length, "up", client.rfile.read, upstream.send)
        _pass_back(proxy, client, upstream.getresponse())
    finally:
        upstream.close()


def _pass_back(
    proxy: FaultProxy, client: BaseHTTPRequestHandler, answer: http.client.HTTPResponse
) -> None:
    client.send_response_only(answer.status, answer.reason)
    for name, text in answer.headers.items():
        if name.lower() not in _HOP_BY_HOP:
            client.send_header(name, text)
    read: Callable[[int], bytes] = answer.read
    size = answer.headers.get("Content-Length")
    if size is None and client.command != "HEAD" and answer.status != 204:
        # Chunked bodies (lists) are short.
        whole = answer.read()
        read, size = io.BytesIO(whole).read, str(len(whole))
        client.send_header("Content-Length", size)
    client.end_headers()
    length = 0 if client.command == "HEAD" else int(size or 0)
    _copy(proxy, length, "down", read, client.wfile.write)


def _connect(proxy: FaultProxy) -> http.client.HTTPConnection:
    if proxy.context is None:
        return http.client.HTTPConnection(proxy.upstream, timeout=_SECONDS)
    return http.client.HTTPSConnection(proxy.upstream, timeout=_SECONDS, context=proxy.context)


def _copy(
    proxy: FaultProxy,
    length: int,
    way: Literal["up", "down"],
    read: Callable[[int], bytes],
    write: Callable[[bytes], Any],
) -> None:
    while length > 0:
        piece = read(min(_PIECE, length))
        if not piece:
            raise _CutError
        length -= len(piece)
        allowed = proxy.pass_on(len(piece), way)
        write(piece[:allowed])
        if allowed < len(piece):
            raise _CutError


def _refuse(client: BaseHTTPRequestHandler, refusal: Answer, length: int) -> None:
    # Read to the end; otherwise the client gets a connection error instead of the response.
    while length > 0 and (piece := client.rfile.read(min(_PIECE, length))):
        length -= len(piece)
    words = f"<Error><Code>{refusal.code}</Code><Message>simulated by a test</Message></Error>"
    body = b"" if client.command == "HEAD" else words.encode()
    client.send_response_only(refusal.status)
    client.send_header("Content-Type", "application/xml")
    client.send_header("Content-Length", str(len(body)))
    client.end_headers()
    client.wfile.write(body)
