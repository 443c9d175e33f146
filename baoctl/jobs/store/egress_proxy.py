"""The egress proxy of a job: it checks every connection to a store.

Uses the standard library and store.egress_policy. Started by store.store. The obstore library
resolves names and follows redirects itself, so a check before the call is not sufficient: a name
may resolve to another address a moment later. All requests of the library use this proxy. The proxy
accepts only the hosts of the store. It resolves the name, refuses the connection if the policy
refuses any of the addresses, and connects to a checked address.

The proxy tunnels https (CONNECT) and does not read its bytes. It forwards http, with one request
per connection.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from baoctl.jobs.store.egress_policy import EgressPolicy

Resolve = Callable[[str, int], "list[tuple[Any, ...]]"]
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 120.0
"""A connection without data in either direction is closed after this time."""
_HEAD_MAX = 64 * 1024
_BUFFER = 256 * 1024
_END = b"\r\n\r\n"
_REQUEST = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]\r\n")
_HOP_BY_HOP = re.compile(rb"(?im)^(?:proxy-)?connection:[^\n]*\n")


@dataclass(frozen=True, slots=True)
class EgressEndpoint:
    """An endpoint of a store, or of an issuer of its credentials: lower-case host, and port."""

    host: str
    """A name, an address without brackets, or a suffix that begins with a dot."""
    port: int

    def matches(self, host: str, port: int) -> bool:
        """Return whether this endpoint includes a host and port."""
        if port != self.port:
            return False
        if self.host.startswith("."):
            return host.endswith(self.host)
        return normalize_host(host) == normalize_host(self.host)


@dataclass(frozen=True, slots=True)
class Rules:
    """The endpoints to which the proxy connects, and the policy for their addresses."""

    policy: EgressPolicy
    endpoints: tuple[EgressEndpoint, ...]
    identity: tuple[EgressEndpoint, ...] = ()
    """The services that issue the identity of the pod; they may have reserved addresses."""
    resolve: Resolve = field(
        default=lambda host, port: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )

    def addresses(self, host: str, port: int) -> list[tuple[Any, ...]]:
        """Resolve a host. Raises EgressRefused if the rules do not allow it, and OSError."""
        is_identity = any(endpoint.matches(host, port) for endpoint in self.identity)
        if not is_identity and not any(endpoint.matches(host, port) for endpoint in self.endpoints):
            raise EgressRefused(f"{host}:{port} is not the store")
        infos = self.resolve(host, port)
        for *_, sockaddr in infos:
            address = ipaddress.ip_address(str(sockaddr[0]).partition("%")[0])
            reason = "" if is_identity else self.policy.refusal(address, port)
            if reason:
                resolution = "" if str(address) == host else f" resolves to {address}, which"
                raise EgressRefused(f"{host}:{port}{resolution} is {reason}")
        return infos


def normalize_host(host: str) -> str:
    """Return a host in its canonical notation."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host


class EgressRefused(Exception):  # noqa: N818  named after what happened
    """The proxy refused a connection; the message names the target and the reason."""


class EgressProxy:
    """The proxy: listens on loopback while its context is open.

    The errors of obstore do not contain the cause. `refusal` describes the last refused connection,
    and `last_error` the last host that could not be reached; each is "" if there was none.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.refusal = ""
        self.last_error = ""

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="egress-proxy", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Closing the socket alone does not end a blocked accept.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            client.settimeout(SILENCE_SECONDS)
            try:
                head, rest = _head(client)
                host, port, request_head = _target(head)
                try:
                    server = self._connect(host, port)
                except EgressRefused as error:
                    self.refusal = str(error)
                    client.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
                    return
                except OSError as error:
                    self.last_error = f"{host}:{port}: {error.strerror or type(error).__name__}"
                    client.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")
                    return
                with server:
                    if request_head:
                        server.sendall(request_head + rest)
                    else:
                        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    _Relay(client, server).run()
            except (OSError, ValueError):
                # One side closed the connection, or the client did not send HTTP. The library
                # reports a closed connection.
                return

    def _connect(self, host: str, port: int) -> socket.socket:
        last: OSError = OSError(f"{host} has no address")
        for family, kind, protocol, _, sockaddr in self._rules.addresses(host, port):
            connection = socket.socket(family, kind, protocol)
            connection.settimeout(CONNECT_SECONDS)
            try:
                connection.connect(sockaddr)
            except OSError as error:
                connection.close()
                last = error
                continue
            connection.settimeout(SILENCE_SECONDS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        raise last


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    """Read the head of the first request; return it, and the bytes of the body after it."""
    read = bytearray()
    while _END not in read:
        chunk = client.recv(4096)
        if not chunk or len(read) > _HEAD_MAX:
            raise ValueError("no head of a request")
        read += chunk
    end = read.index(_END) + len(_END)
    return bytes(read[:end]), bytes(read[end:])


def _target(head: bytes) -> tuple[str, int, bytes]:
    """Return host, port, and the head to forward, empty for a tunnel. Raises ValueError."""
    request = _REQUEST.match(head)
    if request is None:
        raise ValueError("not a request to a proxy")
    method, target = request[1].decode("ascii"), request[2].decode("ascii")
    if method == "CONNECT":
        parts = urlsplit(f"//{target}")
        return _host(parts.hostname), parts.port or 443, b""
    parts = urlsplit(target)
    if parts.scheme != "http":
        raise ValueError("not a request to a proxy")
    path = target.removeprefix("http://").removeprefix(parts.netloc) or "/"
    # One request per connection: the response ends with it, so nothing has to be parsed.
    headers = _HOP_BY_HOP.sub(b"", head[request.end() :])
    line = f"{method} {path} HTTP/1.1\r\nconnection: close\r\n".encode("ascii")
    return _host(parts.hostname), parts.port or 80, line + headers


def _host(name: str | None) -> str:
    if not name:
        raise ValueError("a request without a host")
    return name.lower().rstrip(".")


class _Relay:
    """Copies data between two sockets until both are closed, or SILENCE_SECONDS pass."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client = client
        self._server = server
        self._moved = 0

    def run(self) -> None:
        sockets = (self._server, self._client)
        answers = threading.Thread(target=self._copy, args=sockets, daemon=True)
        answers.start()
        self._copy(self._client, self._server)
        answers.join()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        buffer = bytearray(_BUFFER)
        view = memoryview(buffer)
        try:
            while count := self._receive(source, buffer):
                target.sendall(view[:count])
                self._moved += count
        except OSError:
            # One direction failed or timed out: close the other one too.
            _end(source, socket.SHUT_RDWR)
            _end(target, socket.SHUT_RDWR)
            return
        _end(target, socket.SHUT_WR)

    def _receive(self, source: socket.socket, buffer: bytearray) -> int:
        while True:
            before = self._moved
            try:
                return source.recv_into(buffer)
            except TimeoutError:
                # Continue while the other direction transfers data: an upload has no response yet.
                if self._moved == before:
                    raise


def _end(connection: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(how)
