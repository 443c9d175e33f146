"""Tokens and CAs that are replaced while a client runs, with TLS."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web
from yarl import URL

from managers.certs.x509 import issue_server, make_authority
from runtime.client.client import Client
from runtime.client.credentials import REREAD_SECONDS, ServiceAccountCredentials, in_cluster
from runtime.clock import SystemClock
from runtime.errors import TransportError, Unauthorized
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import ScriptedServer, reply, status
from runtime.testing.wait import eventually
from tests.runtime.serving import apply, get


@dataclass(frozen=True)
class Authority:
    """A CA, and the certificate files of a server at 127.0.0.1."""

    pem: bytes
    chain: Path


def authority(folder: Path, name: str) -> Authority:
    now = SystemClock().now()
    root = make_authority(name, now)
    leaf = issue_server(root, ("server",), ("127.0.0.1",), now)
    chain = folder / f"{name}.pem"
    chain.write_bytes(leaf.key + leaf.certificate)
    return Authority(root.certificate, chain)


def replace(path: Path, content: bytes | str) -> None:
    """As the kubelet does: a new file replaces the old one."""
    new = path.with_name("..new")
    new.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.replace(new, path)


class CountedCredentials(ServiceAccountCredentials):
    """Counts how often the token file is read."""

    reads = 0

    def _read_token(self) -> str:
        self.reads += 1
        return super()._read_token()


class World:
    """The directory of a pod, its API server, and a client in that pod."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.old, self.new = authority(folder, "old"), authority(folder, "new")
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(self.old.chain)
        self.server = ScriptedServer(otherwise=self.answer, tls=self.tls)
        self.clock = ManualClock()
        self.accepted = {"Bearer first"}
        self.hold: asyncio.Event | None = None
        for name, content in (("token", b"first\n"), ("namespace", b"shop"), ("ca.crt", b"")):
            (folder / name).write_bytes(content)
        (folder / "ca.crt").write_bytes(self.old.pem)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self.hold is not None:
            await self.hold.wait()
        if request.headers["Authorization"] not in self.accepted:
            return await status(401, "Unauthorized")(request)
        return await reply(200, {})(request)

    @property
    def tokens(self) -> list[str]:
        """The token of each request so far."""
        return [
            request.headers["Authorization"].removeprefix("Bearer ")
            for request in self.server.requests
        ]

    def serve_with_the_new_authority(self) -> None:
        self.tls.load_cert_chain(self.new.chain)


@asynccontextmanager
async def running(world: World) -> AsyncIterator[tuple[Client, CountedCredentials]]:
    async with world.server:
        environ = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(URL(world.server.url).port),
        }
        cluster = in_cluster(world.clock, root=world.folder, environ=environ)
        credentials = CountedCredentials(world.folder, cluster.server, world.clock)
        client = Client(credentials, user_agent="test/1", clock=world.clock)
        try:
            yield client, credentials
        finally:
            await client.close()


@pytest.fixture
async def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_t33_a_new_token_is_used_within_a_minute(world: World) -> None:
    world.accepted = {"Bearer first", "Bearer second"}
    async with running(world) as (client, credentials):
        await get(client)
        replace(world.folder / "token", "second")
        await world.clock.advance(REREAD_SECONDS - 1.0)
        await get(client)
        await world.clock.advance(1.0)
        await get(client)
        await get(client)
    assert world.tokens == ["first", "first", "second", "second"]
    assert credentials.reads == 2


async def test_t33_a_401_causes_one_reload(world: World) -> None:
    async with running(world) as (client, credentials):
        await get(client)
        world.accepted = {"Bearer second"}
        replace(world.folder / "token", "second")
        await apply(client)
        assert world.tokens == ["first", "first", "second"]
        world.accepted = set()
        await world.clock.advance(1.0)
        with pytest.raises(Unauthorized):
            await get(client)
    assert world.tokens[3:] == ["second", "second"], "a token that stays refused is told"
    assert credentials.reads == 3


async def test_t33_many_concurrent_401_cause_one_reload(world: World) -> None:
    async with running(world) as (client, credentials):
        await get(client)
        world.accepted = {"Bearer second"}
        replace(world.folder / "token", "second")
        world.hold = asyncio.Event()
        under_way = [asyncio.ensure_future(get(client)) for _ in range(20)]
        await eventually(lambda: len(world.tokens) == 21, goal="all requests are sent")
        await world.clock.advance(1.0)
        world.hold.set()
        await asyncio.gather(*under_way)
    assert sorted(world.tokens) == ["first"] * 21 + ["second"] * 20
    assert credentials.reads == 2


@pytest.mark.parametrize("torn", ["", None], ids=["empty", "missing"])
async def test_t33_no_request_fails_while_a_token_file_is_replaced(
    world: World, torn: str | None
) -> None:
    world.accepted = {"Bearer first", "Bearer second"}
    async with running(world) as (client, _):
        await get(client)
        if torn is None:
            (world.folder / "token").unlink()
        else:
            replace(world.folder / "token", torn)
        await world.clock.advance(REREAD_SECONDS)
        await get(client)
        replace(world.folder / "token", "second")
        await get(client)
    assert world.tokens == ["first", "first", "second"]


async def test_t33_a_new_ca_is_trusted_and_no_request_is_dropped(world: World) -> None:
    async with running(world) as (client, credentials):
        await get(client)
        before = credentials.ssl_context()
        world.hold = asyncio.Event()
        old_one = asyncio.ensure_future(get(client))
        await eventually(
            lambda: len(world.tokens) == 2, goal="the request is sent over the old connection"
        )
        world.serve_with_the_new_authority()
        replace(world.folder / "ca.crt", world.new.pem)
        new_one = asyncio.ensure_future(get(client))
        await eventually(
            lambda: len(world.tokens) == 3, goal="the request is sent over a new connection"
        )
        world.hold.set()
        await old_one
        await new_one
        assert credentials.ssl_context() is not before


async def test_t33_without_the_new_ca_its_server_is_rejected(world: World) -> None:
    world.serve_with_the_new_authority()
    async with running(world) as (client, _):
        with pytest.raises(TransportError, match="its certificate cannot be verified"):
            await get(client)
    assert world.tokens == []


async def test_t33_no_request_fails_while_a_ca_file_is_replaced(world: World) -> None:
    async with running(world) as (client, credentials):
        await get(client)
        before = credentials.ssl_context()
        for torn in (world.new.pem[:100], b""):
            replace(world.folder / "ca.crt", torn)
            await get(client)
        (world.folder / "ca.crt").unlink()
        await get(client)
        assert credentials.ssl_context() is before
        world.serve_with_the_new_authority()
        replace(world.folder / "ca.crt", world.new.pem)
        await get(client)
        assert credentials.ssl_context() is not before
    assert len(world.tokens) == 5
