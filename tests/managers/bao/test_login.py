"""managers.bao.login: one login for many reconciles, and its replacement when it fails."""

import asyncio
from dataclasses import replace

import pytest

from managers.bao.client import BaoError, Denied
from managers.bao.login import (
    TOKEN_CHARACTERS_MAX,
    TOKEN_SECONDS,
    Logins,
    NoToken,
    ServiceAccountLogin,
    request_with_token,
)
from managers.bao.models import LoginToken
from managers.context.secret_builder import secret_object
from managers.context.service_account_token import RENEW_AFTER, REPLACE_AFTER
from runtime.builtin_kinds import SECRET
from runtime.clock import yield_to_loop
from runtime.errors import LeaseLost, TransportError
from runtime.testing.clock import ManualClock
from tests import gen
from tests.gen.api import FakeApi, api_error
from tests.managers.membership.servers import Servers

AT = "10.0.0.1"
WISHING = gen.cluster().self_init(login=True)
AUDIENCE = f"openbao-internal/{gen.NAMESPACE}"
REQUEST = "create/token ServiceAccount the-operator"


class StrictServers(Servers):
    """Servers that may stop trusting the tokens of the API server."""

    def __init__(self) -> None:
        super().__init__()
        self.trusts = True

    async def login(self, address: str, mount: str, role: str, token: str) -> LoginToken:
        # Other tasks run, as during a real request.
        await yield_to_loop()
        if not self.trusts:
            self.logins += 1
            raise Denied("auth/jwt-operator/login answered 400: error verifying token", 400)
        return await super().login(address, mount, role, token)


class Bench:
    """One cluster with a login of the operator, and the API server that gives it tokens."""

    def __init__(self, cluster: gen.Cluster = WISHING) -> None:
        self.api, self.clock, self.servers = FakeApi(), ManualClock(), StrictServers()
        self.logins = Logins(self.api, self.clock, gen.INSTALLATION)
        self.cluster = cluster

    def login(self) -> ServiceAccountLogin:
        return gen.present(self.logins.for_cluster(self.cluster.read(), self.cluster.owner()))

    async def token(self) -> str:
        return await self.login().token(self.servers, AT)


async def test_b35_a_login_is_reused_by_all_reconcilers() -> None:
    """The lease is the server's `lease_duration`, and the login is kept per cluster."""
    bench = Bench()
    for _ in range(5):
        await bench.token()
        await bench.clock.advance(TOKEN_SECONDS / 6)
    assert bench.servers.logins == 1
    await bench.clock.advance(TOKEN_SECONDS)
    await bench.token()
    assert bench.servers.logins == 2


async def test_a_cluster_requests_at_most_one_token_per_eight_minutes() -> None:
    bench = Bench()
    hour = 3600.0
    for _ in range(60):
        await bench.token()
        await bench.clock.advance(hour / 60)
    requests = bench.api.take_requests()
    assert set(requests) == {REQUEST}
    assert len(requests) <= hour / RENEW_AFTER


async def test_concurrent_callers_share_one_login() -> None:
    bench = Bench()
    assert {*await asyncio.gather(bench.token(), bench.token())} == {"t1"}
    assert bench.api.take_requests() == [REQUEST]


async def test_every_cluster_has_its_own_audience() -> None:
    bench, other = Bench(), Bench(gen.cluster("y").self_init(login=True))
    await bench.token()
    await other.token()
    spec = bench.api.body_of(REQUEST)["spec"]
    assert spec == {"audiences": [f"{AUDIENCE}/x"], "expirationSeconds": 600}
    assert other.api.body_of(REQUEST)["spec"]["audiences"] == [f"{AUDIENCE}/y"]


class FormerServers(Servers):
    """Servers with roles of another operator: they accept only the second requested token."""

    async def login(self, address: str, mount: str, role: str, token: str) -> LoginToken:
        if token != "jwt-2":
            raise Denied("auth/jwt-operator/login answered 400: invalid audience (aud) claim", 400)
        return await super().login(address, mount, role, token)


@pytest.mark.parametrize("shared", [True, False])
async def test_the_shared_audience_is_a_fallback_if_an_administrator_allows_it(
    shared: bool,
) -> None:
    bench, servers = Bench(), FormerServers()
    bench.logins.installation = replace(gen.INSTALLATION, shared_audience=shared)
    login = bench.login()
    if not shared:
        with pytest.raises(Denied, match="audience"):
            await login.token(servers, AT)
        assert bench.api.take_requests() == [REQUEST]
        return
    assert await login.token(servers, AT)
    assert login.is_shared
    audiences = [call.body["spec"]["audiences"] for call in bench.api.calls if call.body]
    assert audiences == [[f"{AUDIENCE}/x"], ["openbao-internal"]]


async def test_a_refused_login_falls_back_to_a_valid_token() -> None:
    """The operator can then write the new keys, whose absence caused the refusal."""
    bench = Bench()
    first = await bench.token()
    bench.servers.trusts = False
    await bench.clock.advance(TOKEN_SECONDS + 1)
    assert await bench.token() == first
    await bench.clock.advance(3600)
    with pytest.raises(Denied):
        await bench.token()


async def test_a_refused_token_is_never_used_again() -> None:
    bench = Bench()
    await bench.token()
    bench.servers.trusts = False
    assert bench.login().forget()
    with pytest.raises(Denied):
        await bench.token()


async def test_only_an_older_refused_token_is_replaced() -> None:
    """The API server may use another key by now; a request per attempt would not help."""
    bench = Bench()
    bench.servers.trusts = False
    for _ in range(3):
        with pytest.raises(Denied):
            await bench.token()
    assert bench.api.take_requests() == [REQUEST]
    await bench.clock.advance(REPLACE_AFTER)
    with pytest.raises(Denied):
        await bench.token()
    bench.servers.trusts = True
    await bench.token()
    assert bench.servers.requests[-1].endswith("jwt-2")


async def test_a_missing_permission_is_a_refusal_that_names_the_audience() -> None:
    bench = Bench()
    bench.api.refuse(REQUEST, api_error(403))
    with pytest.raises(NoToken, match=f"operators/the-operator.*{AUDIENCE}/x"):
        await bench.token()


async def test_an_unavailable_api_server_does_not_end_a_valid_login() -> None:
    bench = Bench()
    first = await bench.token()
    await bench.clock.advance(TOKEN_SECONDS + 1)
    bench.api.refuse(REQUEST, TransportError("away"))
    assert await bench.token() == first
    bench.api.refuse(REQUEST, api_error(503))
    bench.login().forget()
    with pytest.raises(BaoError):
        await bench.token()


async def test_a_former_leader_requests_no_token() -> None:
    bench = Bench()
    bench.api.refuse(REQUEST, LeaseLost("not the leader"))
    with pytest.raises(LeaseLost):
        await bench.token()


async def test_no_representation_shows_a_token() -> None:
    bench = Bench()
    token = await bench.token()
    shown = f"{bench.login()!r} {bench.logins!r}"
    assert token not in shown
    assert "jwt-1" not in shown


# sentence: invalid root tokens
NO_TOKEN: dict[str, bytes] = {
    "bytes": b"\xff\xfe",
    "a line end": b"hvs.abc\n",
    "letters of another language": "é".encode(),
    "nothing": b"",
    "a text that is too long": b"a" * (TOKEN_CHARACTERS_MAX + 1),
}


@pytest.mark.parametrize("content", NO_TOKEN.values(), ids=NO_TOKEN.keys())
async def test_a_secret_without_a_root_token_is_a_refusal_that_names_the_secret(
    content: bytes,
) -> None:
    """A refusal is reported; any other error would end each reconcile."""
    bench = Bench(gen.cluster())
    secret = secret_object(bench.cluster.owner(), "x-root-token", {"token": content})
    bench.api.with_objects((SECRET, secret))
    root_token = gen.present(await bench.logins.root_token(bench.cluster.owner()))
    version, source = root_token
    assert version == await bench.logins.root_token_version(bench.cluster.owner())
    with pytest.raises(Denied, match=r"Secret ns/x-root-token, key token: .*put the token"):
        await source.token(bench.servers, AT)
    assert not source.forget()
    with pytest.raises(Denied):
        await request_with_token(bench.servers, AT, source, bench.servers.members)


async def test_a_missing_secret_has_no_version() -> None:
    bench = Bench(gen.cluster())
    assert await bench.logins.root_token_version(bench.cluster.owner()) == ""
    assert await bench.logins.root_token(bench.cluster.owner()) is None


async def test_the_version_of_the_root_token_is_read_without_the_token() -> None:
    bench = Bench(gen.cluster())
    secret = secret_object(bench.cluster.owner(), "x-root-token", {"token": b"root-abc"})
    bench.api.with_objects((SECRET, secret))
    assert await bench.logins.root_token_version(bench.cluster.owner())
    assert bench.api.take_requests() == ["peek Secret x-root-token"]


FAILED = {"reason": "RootTokenMissing", "problem": "p"}
# sentence: (cluster, whether the operator has a login)
HAS_LOGIN: dict[str, tuple[gen.Cluster, bool]] = {
    "created by the first boot": (WISHING, True),
    "a first boot without a login": (gen.cluster().self_init(), False),
    "not set up yet": (gen.cluster(), True),
    "set up": (gen.cluster().with_status(adminOps={"operatorLogin": {"keys": "k"}}), True),
    "never set up": (gen.cluster().with_status(adminOps={"operatorLogin": FAILED}), False),
    "removed": (
        gen.cluster().with_status(adminOps={"operatorLogin": {**FAILED, "keys": "k"}}),
        True,
    ),
}


@pytest.mark.parametrize(("cluster", "has"), HAS_LOGIN.values(), ids=HAS_LOGIN.keys())
def test_which_clusters_have_a_login(cluster: gen.Cluster, has: bool) -> None:
    bench = Bench(cluster)
    source = bench.logins.for_cluster(cluster.read(), cluster.owner())
    assert (source is not None) is has
    assert bench.api.take_requests() == []
