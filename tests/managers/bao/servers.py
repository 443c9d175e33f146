"""A fake OpenBao with a few routes over real TLS, for responses that no healthy server gives.

The rig (e2e) tests the responses of OpenBao itself.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from managers.bao.client import Bao
from managers.certs.key_pair import KeyPair
from managers.certs.x509 import issue_server, make_authority
from runtime.client.write_guard import allow_writes
from runtime.clock import SystemClock

NAME = "openbao-cluster-x.local"
ADDRESS = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One received request."""

    method: str
    path: str
    token: str
    body: Any


@dataclass(slots=True)
class Server:
    """Responds by path; with 404 for an unknown path, as OpenBao does."""

    authority: KeyPair
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    requests: list[RecordedRequest] = field(default_factory=list)
    peers: set[object] = field(default_factory=set)
    """Where connections came from."""
    port: int = 0

    def client(self, *, authority: KeyPair | None = None, name: str = NAME) -> Bao:
        """A session of the operator with this server."""
        trusted = (authority or self.authority).certificate.decode()
        return Bao(trusted, name, self.port, guard=allow_writes)

    async def handle(self, request: web.Request) -> web.Response:
        """Record the request and respond."""
        body = await request.json() if request.can_read_body else None
        token = request.headers.get("X-Vault-Token", "")
        self.peers.add(request.transport and request.transport.get_extra_info("peername"))
        self.requests.append(RecordedRequest(request.method, request.path, token, body))
        code, answer = self.answers.get(request.path.removeprefix("/v1/"), (404, {"errors": []}))
        if code in (301, 307):
            return web.Response(status=code, headers={"Location": str(answer)})
        if isinstance(answer, bytes):
            return web.Response(status=code, body=answer)
        return web.json_response(answer, status=code)


def tls(folder: Path, authority: KeyPair, name: str = NAME) -> ssl.SSLContext:
    """TLS of a server with a certificate for `name`."""
    pair = issue_server(authority, (name,), (), SystemClock().now())
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


@asynccontextmanager
async def serving(
    folder: Path, answers: Mapping[str, tuple[int, Any]], *, name: str = NAME
) -> AsyncIterator[Server]:
    """Serve these answers with a certificate for `name`."""
    server = Server(make_authority("x", SystemClock().now()), dict(answers))
    context = tls(folder, server.authority, name)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, ADDRESS, 0, ssl_context=context)
        await site.start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()
