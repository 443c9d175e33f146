"""baoctl.commands.bench.connections: the remaining TTL of the token of a killed run."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from baoctl.commands.api_client import Session
from baoctl.commands.bench import connections
from baoctl.commands.bench.connections import LOOKUP, RENEWAL, SPARE_SECONDS, TOKEN, limit_ttl
from baoctl.commands.bench.options import READS, BenchOptions
from baoctl.commands.login.connection import ActiveServer
from baoctl.commands.login.reads import LoginOptions
from baoctl.options import Access
from managers.bao.models import LoginToken
from managers.context.sensitive import SensitiveString
from runtime.client.client import Client
from runtime.testing.clock import ManualClock
from tests.managers.bao.servers import ADDRESS, NAME, serving

DENIED = (403, {"errors": ["permission denied"]})
RENEWED = (200, {"auth": {"lease_duration": 930}})
MONTH = 2_764_800

# sentence: (TTL of the token in seconds, response, whether a shorter TTL is requested)
LIVES: dict[str, tuple[int, tuple[int, object], bool]] = {
    "a role without token_ttl": (MONTH, RENEWED, True),
    "a role with a short token_ttl": (600, RENEWED, False),
    "a policy that forbids the renewal": (MONTH, DENIED, True),
    "a server that fails": (MONTH, (502, {}), True),
}


@pytest.mark.parametrize(("life", "answer", "is_requested"), LIVES.values(), ids=LIVES.keys())
async def test_the_ttl_of_a_token_is_reduced_to_the_duration_of_the_run(
    tmp_path: Path, life: int, answer: tuple[int, object], is_requested: bool
) -> None:
    token = LoginToken(client_token="t", lease_duration=life)
    async with serving(tmp_path, {RENEWAL: answer}) as server, server.client() as bao:
        await limit_ttl(bao, ADDRESS, token, 930.0)
    bodies = [(request.path, request.body) for request in server.requests]
    assert bodies == ([(f"/v1/{RENEWAL}", {"increment": "930s"})] if is_requested else [])


async def test_the_ttl_of_a_token_covers_load_and_cleanup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    health = {"initialized": True, "sealed": False, "standby": False}
    answers = {
        "sys/health": (200, health),
        "auth/jwt-operator/login": (200, {"auth": {"client_token": "t", "lease_duration": MONTH}}),
        LOOKUP: DENIED,
        RENEWAL: RENEWED,
    }
    login = LoginOptions("first", (), "app", None, "jwt-operator", None, None)
    monkeypatch.delenv(TOKEN, raising=False)
    async with serving(tmp_path, answers) as server:

        async def active_server(*_: object) -> ActiveServer:
            return ActiveServer("first-0", NAME, server.authority.certificate.decode())

        async def account_token(*_: object) -> SensitiveString:
            return SensitiveString("jwt")

        monkeypatch.setattr(connections, "active_server", active_server)
        monkeypatch.setattr(connections, "account_token", account_token)
        address = (ADDRESS, server.port)
        options = BenchOptions(login, (READS,), 30.0, 1, 64, None, address, force=False)
        api = Session(cast(Client, None), ManualClock(), "default")
        async with connections.connect_workers(api, options, Access(), {}) as connected:
            assert [worker.token for worker in connected.workers] == ["t"]
    renewals = [request.body for request in server.requests if request.path.endswith(RENEWAL)]
    assert renewals == [{"increment": f"{30.0 + SPARE_SECONDS:.0f}s"}]
