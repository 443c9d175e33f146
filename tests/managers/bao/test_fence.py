"""No write reaches a server of OpenBao once the Lease may be lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from contracts.records.effects import ServerEndpoint
from managers.bao import exchange, login
from managers.bao.client import Bao, BaoError, JoinOrder
from managers.context.pause_guard import ClusterPausedError
from managers.workload.actions.raft_peers import remove_peer
from runtime.builtin_kinds import PVC
from runtime.errors import LeaseLost
from runtime.leader.leader import LeaderOptions
from runtime.testing.clock import ManualClock
from runtime.types import Object
from tests.gen.api import FakeApi, Outside
from tests.managers.bao.servers import ADDRESS, NAME, Server, serving
from tests.managers.workload.actions.bench import CLAIM, MEANT, REMOVE

Ask = Callable[[Bao], Awaitable[object]]


def raises(error: Exception) -> Callable[[], None]:
    """A guard that refuses everything."""

    def guard() -> None:
        raise error

    return guard


LEASE_SECONDS = 7.0


@dataclass(slots=True)
class Lease:
    """A guard with a clock, like that of the elector; renewed at its creation."""

    clock: ManualClock
    ends: float = 0.0

    def __post_init__(self) -> None:
        self.ends = self.clock.monotonic() + LEASE_SECONDS

    def __call__(self) -> None:
        if self.clock.monotonic() > self.ends:
            raise LeaseLost("the lease is not known to be ours")


WRITES: dict[str, Ask] = {
    "log in": lambda bao: bao.login(ADDRESS, "jwt", "role", "token"),
    "set the autopilot": lambda bao: bao.set_autopilot(ADDRESS, "t", {}),
    "set the keys of the login": lambda bao: bao.set_login_settings(ADDRESS, "t", {}),
    "rotate the root key": lambda bao: bao.rotate_root_key(ADDRESS, "t"),
    "initialize": lambda bao: bao.initialize(ADDRESS),
    "step down": lambda bao: bao.step_down(ADDRESS, "t"),
    "remove a member": lambda bao: bao.remove_peer(ADDRESS, "t", "x-2"),
    "join": lambda bao: bao.join(ADDRESS, JoinOrder("https://x-0:8200")),
    "promote": lambda bao: bao.promote(ADDRESS, "t", "x-2"),
    "demote": lambda bao: bao.demote(ADDRESS, "t", "x-2"),
    "restore": lambda bao: bao.restore(ADDRESS, "t", _pieces(), force=True),
}


async def _pieces() -> AsyncIterator[bytes]:
    yield b'"snapshot"'


def session(server: Server, guard: Callable[[], None]) -> Bao:
    """A session with that server and that guard."""
    return Bao(server.authority.certificate.decode(), NAME, server.port, guard=guard)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
async def test_without_the_lease_a_write_opens_no_connection(tmp_path: Path, write: Ask) -> None:
    async with serving(tmp_path, {}) as server:
        async with session(server, raises(LeaseLost("gone"))) as bao:
            with pytest.raises(LeaseLost):
                await write(bao)
        assert (server.requests, server.peers) == ([], set())


@pytest.mark.parametrize("error", [LeaseLost("gone"), ClusterPausedError()], ids=repr)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
async def test_without_the_lease_no_byte_of_a_write_is_sent(
    tmp_path: Path, write: Ask, error: Exception
) -> None:
    """The first check succeeds; the TLS handshake outlives the Lease."""
    answers = iter([None])

    def guard() -> None:
        if next(answers, error) is not None:
            raise error

    async with serving(tmp_path, {}) as server:
        async with session(server, guard) as bao:
            with pytest.raises(type(error)):
                await write(bao)
        assert server.requests == []


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
async def test_the_lease_is_checked_twice_per_write(tmp_path: Path, write: Ask) -> None:
    looks: list[bool] = []
    async with serving(tmp_path, {}) as server:
        async with session(server, lambda: looks.append(bool(server.requests))) as bao:
            with pytest.raises(Exception, match="answered 404"):
                await write(bao)
        assert looks == [False, False]
        assert len(server.requests) == 1


async def test_reads_do_not_check_the_lease(tmp_path: Path) -> None:
    answer = {"initialized": True, "sealed": False, "standby": False}
    async with (
        serving(tmp_path, {"sys/health": (200, answer)}) as server,
        session(server, raises(LeaseLost("gone"))) as bao,
    ):
        assert (await bao.health(ADDRESS)).initialized


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> list[Server]:
    """The operator connects to the port of the server in this list."""
    there: list[Server] = []

    def opened(authority: str, name: str, *, guard: Callable[[], None]) -> Bao:
        return Bao(authority, name, there[0].port, guard=guard)

    monkeypatch.setattr(login, "Bao", opened)
    return there


class FreezingApi(FakeApi):
    """Freezes the process after the response to a patch."""

    def __init__(self, clock: ManualClock, seconds: float) -> None:
        super().__init__()
        self.guard = Lease(clock)
        self.clock = clock
        self.seconds = seconds

    async def json_patch(self, *args: object, **options: object) -> Object:
        self.guard()
        answer = await super().json_patch(*args, **options)  # type: ignore[arg-type]
        await self.clock.advance(self.seconds)
        return answer


async def remove(there: list[Server], folder: Path, frozen: float, *, claim: bool) -> Server:
    """Run the effect that removes a peer, with a freeze after the volume is marked."""
    clock = ManualClock()
    outside = Outside(FreezingApi(clock, frozen).with_objects((PVC, CLAIM)))
    granted = {"auth": {"client_token": "t1", "lease_duration": 3600}}
    answers = {
        "auth/jwt-operator/login": (200, granted),
        "sys/storage/raft/remove-peer": (204, b""),
    }
    async with serving(folder, answers) as server:
        there.append(server)
        endpoint = ServerEndpoint(ADDRESS, server.authority.certificate.decode(), NAME)
        effect = replace(REMOVE, endpoint=endpoint)
        if not claim:
            effect = replace(effect, claim="")
            await clock.advance(frozen)
        if frozen > LEASE_SECONDS:
            with pytest.raises(LeaseLost):
                await remove_peer(outside.context, outside.logins, MEANT, effect)
        else:
            await remove_peer(outside.context, outside.logins, MEANT, effect)
        return server


@pytest.mark.parametrize("claim", [True, False], ids=["a marked volume", "no volume of ours"])
async def test_a_leader_that_was_frozen_after_the_annotation_removes_no_peer(
    tmp_path: Path, servers: list[Server], claim: bool
) -> None:
    server = await remove(servers, tmp_path, 60.0, claim=claim)
    assert (server.requests, server.peers) == ([], set())


async def test_a_leader_that_continues_immediately_removes_the_peer(
    tmp_path: Path, servers: list[Server]
) -> None:
    server = await remove(servers, tmp_path, 1.0, claim=True)
    (log_in, request) = server.requests
    assert log_in.path == "/v1/auth/jwt-operator/login"
    assert (request.path, request.body) == (
        "/v1/sys/storage/raft/remove-peer",
        {"server_id": "x-2"},
    )


async def test_a_write_is_not_repeated_when_its_connection_breaks() -> None:
    """aiohttp would repeat a PUT over a connection that was used before."""
    lines: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            lines.append(line.split()[0] if line.startswith((b"GET", b"PUT")) else b"")
            if line != b"\r\n":
                continue
            if lines.count(b"PUT"):
                break
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(serve, ADDRESS, 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Bao("", "", port, guard=lambda: None, plain=True) as bao:
        assert await bao.leader_address(ADDRESS) == ""
        with pytest.raises(BaoError):
            await bao.step_down(ADDRESS, "t")
    assert lines.count(b"PUT") == 1


def test_a_write_ends_before_another_process_can_lead() -> None:
    options = LeaderOptions()
    let_out_until = options.renew_deadline - options.write_timeout
    assert exchange.TIMEOUT.total is not None
    assert let_out_until + exchange.TIMEOUT.total < options.lease_duration
