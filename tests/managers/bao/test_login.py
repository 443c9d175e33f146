"""managers.bao.login: one login for many passes, and what happens when it no longer works."""

from pathlib import Path

import pytest

from managers.bao.client import Denied
from managers.bao.login import TOKEN_SECONDS, Logins, ServiceAccountLogin
from managers.bao.models import Login
from runtime.testing.clock import ManualClock
from tests import gen
from tests.gen.api import FakeApi
from tests.managers.membership.servers import Servers

AT = "10.0.0.1"
WISHING = gen.cluster().self_init(login=True)


class Strict(Servers):
    """Servers that may stop to trust the tokens of the API server."""

    def __init__(self) -> None:
        super().__init__()
        self.trusts = True

    async def login(self, address: str, mount: str, role: str, token: str) -> Login:
        if not self.trusts:
            self.logins += 1
            raise Denied("auth/jwt-operator/login answered 400: error verifying token", 400)
        return await super().login(address, mount, role, token)


@pytest.fixture
def projected(tmp_path: Path) -> Path:
    """The operator's own token, as the kubelet writes it."""
    file = tmp_path / "token"
    file.write_text("jwt\n")
    return file


async def test_b35_a_login_lasts_for_many_passes_of_every_reconciler(projected: Path) -> None:
    """The lease is the server's `lease_duration`, and the login is kept per cluster."""
    clock, servers = ManualClock(), Servers()
    logins = Logins(FakeApi(), clock, projected)

    async def a_pass() -> None:
        source = await logins.of_cluster(WISHING.read(), WISHING.owner())
        assert source is not None
        await source.token(servers, AT)

    for _ in range(5):
        await a_pass()
        await clock.advance(TOKEN_SECONDS / 6)
    assert servers.logins == 1
    await clock.advance(TOKEN_SECONDS)
    await a_pass()
    assert servers.logins == 2


async def test_a_login_that_is_refused_falls_back_to_a_token_that_still_lives(
    projected: Path,
) -> None:
    """So that OpenBao can be told of the new keys that the refusal comes from."""
    clock, servers = ManualClock(), Strict()
    login = ServiceAccountLogin(projected, clock)
    first = await login.token(servers, AT)
    servers.trusts = False
    await clock.advance(TOKEN_SECONDS + 1)
    assert await login.token(servers, AT) == first
    await clock.advance(3600)
    with pytest.raises(Denied):
        await login.token(servers, AT)


async def test_a_token_that_a_server_refused_is_never_used_again(projected: Path) -> None:
    clock, servers = ManualClock(), Strict()
    login = ServiceAccountLogin(projected, clock)
    await login.token(servers, AT)
    servers.trusts = False
    assert login.forget()
    with pytest.raises(Denied):
        await login.token(servers, AT)
