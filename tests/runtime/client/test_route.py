"""A kubeconfig with `proxy-url` and `tls-server-name`: a real proxy, and a real TLS server."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from managers.certs.x509 import issue_server, make_authority
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client, WatchOptions
from runtime.client.credentials import from_kubeconfig
from runtime.clock import SystemClock
from runtime.errors import TransportError
from tests.gen.kubeconfigs import kubeconfig

NAME = "api.example.com"
ANSWER = b'{"gitVersion": "v1"}'


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate for NAME only, its key, and its authority."""

    certificate: Path
    key: Path
    authority: bytes


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    now = SystemClock().now()
    authority = make_authority("x", now)
    pair = issue_server(authority, (NAME,), (), now)
    folder = tmp_path_factory.mktemp("tls")
    files = Identity(folder / "crt", folder / "key", authority.certificate)
    files.certificate.write_bytes(pair.certificate)
    files.key.write_bytes(pair.key)
    return files


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    if "watch" in request.query:
        return web.Response(body=b'{"type": "BOOKMARK"}\n')
    return web.Response(body=ANSWER)


@asynccontextmanager
async def api_server(identity: Identity) -> AsyncIterator[int]:
    """An API server with TLS on loopback; its port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(identity.certificate, identity.key)
    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@dataclass
class ConnectProxy:
    """An HTTP proxy that supports only CONNECT, and records its targets."""

    status: bytes = b"200 OK"
    heads: list[bytes] = field(default_factory=list)
    _pipes: set[asyncio.Task[None]] = field(default_factory=set)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        writer.write(b"HTTP/1.1 " + self.status + b"\r\n\r\n")
        if not self.status.startswith(b"200"):
            writer.close()
            return
        host, _, port = head.split()[1].decode().rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_pipe(reader, far_writer), _pipe(far_reader, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


@asynccontextmanager
async def run_proxy(proxy: ConnectProxy) -> AsyncIterator[int]:
    """The proxy on loopback; its port."""
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@asynccontextmanager
async def client_of(folder: Path, identity: Identity, **cluster: Any) -> AsyncIterator[Client]:
    """A client with a kubeconfig."""
    authority = base64.b64encode(identity.authority).decode()
    path = kubeconfig(folder, **{"certificate-authority-data": authority, **cluster})
    clock = SystemClock()
    client = Client(await from_kubeconfig(str(path), None, clock), user_agent="t/1", clock=clock)
    try:
        yield client
    finally:
        await client.close()


async def test_a_server_with_another_name_needs_it_in_the_kubeconfig(
    tmp_path: Path, identity: Identity
) -> None:
    async with api_server(identity) as port:
        server = f"https://127.0.0.1:{port}"
        async with client_of(tmp_path, identity, server=server) as client:
            reason = "its certificate cannot be verified: IP address mismatch.*[^.]$"
            with pytest.raises(TransportError, match=reason):
                await client.get_raw("/version")
        fields = {"server": server, "tls-server-name": NAME}
        async with client_of(tmp_path, identity, **fields) as client:
            assert await client.get_raw("/version") == ANSWER
        wrong = {"server": server, "tls-server-name": "other.example.com"}
        async with client_of(tmp_path, identity, **wrong) as client:
            with pytest.raises(TransportError, match="Hostname mismatch"):
                await client.get_raw("/version")


async def test_requests_and_watches_go_through_the_proxy(
    tmp_path: Path, identity: Identity
) -> None:
    proxy = ConnectProxy()
    async with api_server(identity) as port, run_proxy(proxy) as proxy_port:
        fields = {
            "server": f"https://127.0.0.1:{port}",
            "tls-server-name": NAME,
            "proxy-url": f"http://user:hush@127.0.0.1:{proxy_port}",
        }
        async with client_of(tmp_path, identity, **fields) as client:
            assert await client.get_raw("/version") == ANSWER
            async with client.watch(CONFIG_MAP, "shop", WatchOptions("1", 5)) as lines:
                assert [line async for line in lines] == [b'{"type": "BOOKMARK"}\n']
    assert [head.split(b" ")[:2] for head in proxy.heads] == 2 * [
        [b"CONNECT", f"127.0.0.1:{port}".encode()]
    ]
    login = base64.b64encode(b"user:hush")
    assert all(b"Proxy-Authorization: Basic " + login in head for head in proxy.heads)
    assert not any(b"Bearer" in head for head in proxy.heads)


async def test_errors_of_a_proxy_do_not_contain_its_password(
    tmp_path: Path, identity: Identity
) -> None:
    async with run_proxy(ConnectProxy(b"407 Proxy Authentication Required")) as proxy_port:
        url = f"http://user:hush@127.0.0.1:{proxy_port}"
        fields = {"server": "https://192.0.2.1:6443", "proxy-url": url}
        async with client_of(tmp_path, identity, **fields) as client:
            with pytest.raises(
                TransportError, match="the proxy of the kubeconfig responded with 407"
            ):
                await client.get_raw("/version")
    async with client_of(tmp_path, identity, **fields) as client:
        with pytest.raises(TransportError, match="cannot connect to the proxy") as down:
            await client.get_raw("/version")
    assert "hush" not in str(down.value)
