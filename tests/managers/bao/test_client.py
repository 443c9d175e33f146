"""managers.bao.client: every response is a value, a Denied or a BaoError, without secrets."""

import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from managers.bao.client import Bao, BaoError, Denied
from managers.bao.models import LoginToken, Member
from managers.certs.x509 import make_authority
from managers.context.authority_pem import check_trusted
from runtime.client.write_guard import allow_writes
from runtime.clock import SystemClock
from tests.managers.bao.servers import ADDRESS, serving

MEMBERS = "sys/storage/raft/configuration"
LOGIN = "auth/jwt-operator/login"
Ask = Callable[[Bao], Awaitable[object]]


def health(bao: Bao) -> Awaitable[object]:
    return bao.health(ADDRESS)


def login(bao: Bao) -> Awaitable[LoginToken]:
    return bao.login(ADDRESS, "jwt-operator", "the-role", "the.projected.token")


def members(bao: Bao) -> Awaitable[tuple[Member, ...]]:
    return bao.members(ADDRESS, "the-bao-token")


def health_body(**fields: Any) -> dict[str, Any]:
    return {"initialized": True, "sealed": False, "standby": False, **fields}


# sentence: (code, body, fields of the result)
HEALTH: dict[str, tuple[int, Any, dict[str, Any]]] = {
    "the active one": (200, health_body(cluster_id="c"), {"sealed": False, "cluster_id": "c"}),
    "a standby": (429, health_body(standby=True), {"standby": True}),
    "an uninitialized server": (501, health_body(initialized=False), {"initialized": False}),
    "a sealed server": (503, health_body(sealed=True), {"sealed": True, "cluster_id": ""}),
    "a server of a newer version": (200, health_body(brand_new=1), {"initialized": True}),
}


@pytest.mark.parametrize(("code", "body", "fields"), HEALTH.values(), ids=HEALTH.keys())
async def test_health(tmp_path: Path, code: int, body: Any, fields: dict[str, Any]) -> None:
    async with serving(tmp_path, {"sys/health": (code, body)}) as server, server.client() as bao:
        health = await bao.health(ADDRESS)
        for name, value in fields.items():
            assert getattr(health, name) == value


async def test_a_login_sends_role_and_token_and_no_header(tmp_path: Path) -> None:
    answer = {"auth": {"client_token": "s.abc", "lease_duration": 3600}}
    async with serving(tmp_path, {LOGIN: (200, answer)}) as server, server.client() as bao:
        token = await login(bao)
    assert (token.client_token, token.lease_duration) == ("s.abc", 3600)
    assert "s.abc" not in repr(token)
    (request,) = server.requests
    assert (request.method, request.token) == ("POST", "")
    assert request.body == {"role": "the-role", "jwt": "the.projected.token"}


async def test_members_are_read_with_the_token(tmp_path: Path) -> None:
    servers = [
        {"node_id": "x-0", "leader": True, "voter": True, "address": "a:8201"},
        {"node_id": "x-1"},
    ]
    answer = {"data": {"config": {"servers": servers, "index": 7}}}
    async with serving(tmp_path, {MEMBERS: (200, answer)}) as server, server.client() as bao:
        peers = await members(bao)
    assert peers == (
        Member(node_id="x-0", leader=True, voter=True),
        Member(node_id="x-1", leader=False, voter=False),
    )
    assert server.requests[0].token == "the-bao-token"


@pytest.mark.parametrize("answer", [{}, {"data": None}, {"data": {"config": None}}])
async def test_a_list_without_members_is_empty(tmp_path: Path, answer: Any) -> None:
    async with serving(tmp_path, {MEMBERS: (200, answer)}) as server, server.client() as bao:
        assert await members(bao) == ()


# sentence: (call, path, code, body, error)
TROUBLES: dict[str, tuple[Ask, str, int, Any, type[Exception]]] = {
    "an expired token": (members, MEMBERS, 403, {"errors": ["permission denied"]}, Denied),
    "a missing role": (login, LOGIN, 400, {"errors": ["role not found"]}, Denied),
    "a missing mount": (login, LOGIN, 404, {"errors": []}, Denied),
    "a refusal without a body": (login, LOGIN, 403, b"", Denied),
    "a refusal with an invalid body": (login, LOGIN, 403, ["no"], Denied),
    "a server error": (members, MEMBERS, 500, {"errors": ["internal error"]}, BaoError),
    "a sealed server": (members, MEMBERS, 503, {"errors": ["sealed"]}, BaoError),
    "an unknown code": (health, "sys/health", 299, health_body(), BaoError),
    "a health without a body": (health, "sys/health", 200, b"", BaoError),
    "a health of garbage": (health, "sys/health", 200, b"<html>", BaoError),
    "a health that is a list": (health, "sys/health", 200, [], BaoError),
    "a health of other types": (health, "sys/health", 200, health_body(sealed="perhaps"), BaoError),
    "a login without a token": (login, LOGIN, 200, {"auth": {}}, BaoError),
    "a login without a body": (login, LOGIN, 200, {}, BaoError),
    "members without names": (
        members,
        MEMBERS,
        200,
        {"data": {"config": {"servers": [{}]}}},
        BaoError,
    ),
    "members of another type": (
        members,
        MEMBERS,
        200,
        {"data": {"config": {"servers": {"a": 1}}}},
        BaoError,
    ),
    "data of another type": (members, MEMBERS, 200, {"data": []}, BaoError),
    "a config of another type": (members, MEMBERS, 200, {"data": {"config": "no"}}, BaoError),
    "a redirect, even to itself": (members, MEMBERS, 307, f"/v1/{MEMBERS}", BaoError),
}


@pytest.mark.parametrize(
    ("ask", "path", "code", "body", "error"), TROUBLES.values(), ids=TROUBLES.keys()
)
async def test_a_failed_request_is_an_error_without_secrets(
    tmp_path: Path, ask: Ask, path: str, code: int, body: Any, error: type[Exception]
) -> None:
    async with serving(tmp_path, {path: (code, body)}) as server, server.client() as bao:
        with pytest.raises(error) as raised:
            await ask(bao)
        assert len(server.requests) == 1
    for secret in ("the-bao-token", "the.projected.token"):
        assert secret not in f"{raised.value!r} {raised.value.__cause__!r}"


async def test_the_message_of_a_refusal_is_reported_and_truncated(tmp_path: Path) -> None:
    answer = {"errors": ["permission denied " + "x" * 500]}
    async with serving(tmp_path, {MEMBERS: (403, answer)}) as server, server.client() as bao:
        with pytest.raises(Denied, match=f"{MEMBERS} answered 403: permission denied") as raised:
            await members(bao)
    assert len(str(raised.value)) < 300


async def test_sessions_with_the_same_ca_share_a_tls_context(tmp_path: Path) -> None:
    """The context of one CA never serves a session with another one."""
    authorities = [make_authority(name, SystemClock().now()) for name in ("x", "y")]
    pems = [authority.certificate.decode() for authority in authorities]
    contexts = []
    for pem in (pems[0], pems[0], pems[1], ""):
        async with Bao(pem, "name", guard=allow_writes) as bao:
            contexts.append(bao._exchange._tls)
    assert contexts[0] is contexts[1]
    assert len({id(context) for context in contexts}) == 3
    trusted = [context.get_ca_certs() for context in contexts[1:3]]
    assert trusted[0] != trusted[1]


async def test_the_ca_of_a_secret_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the check of the Secret, and for all sessions with the servers."""
    loads: list[str | None] = []
    load = ssl.SSLContext.load_verify_locations

    def count(
        context: ssl.SSLContext, file: None = None, path: None = None, cadata: str | None = None
    ) -> None:
        loads.append(cadata)
        load(context, file, path, cadata)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", count)
    pem = make_authority("x", SystemClock().now()).certificate.decode()
    check_trusted(pem)
    for _ in range(2):
        async with Bao(pem, "name", guard=allow_writes):
            pass
    assert loads == [pem]


async def test_a_proxy_in_the_environment_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy would see tokens, and the servers are in the cluster."""
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with (
        serving(tmp_path, {"sys/health": (200, health_body())}) as server,
        server.client() as bao,
    ):
        assert (await bao.health(ADDRESS)).initialized


class TestIdentity:
    """The client accepts only servers with the CA and the name of the cluster."""

    ANSWERS = ("sys/health", (200, health_body()))

    async def test_a_server_with_another_ca_is_refused(self, tmp_path: Path) -> None:
        other = make_authority("x", SystemClock().now())
        async with serving(tmp_path, dict([self.ANSWERS])) as server:
            async with server.client(authority=other) as bao:
                with pytest.raises(BaoError, match="Certificate"):
                    await members(bao)
            assert server.requests == []

    async def test_a_server_of_another_cluster_with_the_same_ca_is_refused(
        self, tmp_path: Path
    ) -> None:
        async with serving(
            tmp_path, dict([self.ANSWERS]), name="openbao-cluster-y.local"
        ) as server:
            async with server.client() as bao:
                with pytest.raises(BaoError, match="Certificate"):
                    await health(bao)
            assert server.requests == []

    async def test_an_unreachable_server_is_a_bao_error(self, tmp_path: Path) -> None:
        async with serving(tmp_path, {}) as server:
            client = server.client()
        async with client as bao:
            with pytest.raises(BaoError, match=ADDRESS):
                await health(bao)

    async def test_an_invalid_ca_is_an_error(self) -> None:
        with pytest.raises(ssl.SSLError):
            Bao("garbage", "x", guard=allow_writes)


async def test_an_invalid_address_is_a_bug() -> None:
    authority = make_authority("x", SystemClock().now()).certificate.decode()
    async with Bao(authority, "x", guard=allow_writes) as bao:
        with pytest.raises(ValueError, match="evil"):
            await bao.health("evil.example.com")
