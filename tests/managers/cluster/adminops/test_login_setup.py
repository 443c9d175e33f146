"""managers.cluster.adminops.login_setup: when the root token is used, and when not.

tests/integration/test_login_setup.py tests the same with a real server.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from contracts.api.cluster.status_login import OperatorLoginStatus
from contracts.records.observed import TokenIssuer
from managers.bao.client import BaoError, Denied
from managers.bao.models import LoginToken
from managers.cluster.adminops.login_setup import NO_SECRET, LoginSetup
from managers.cluster.observe.observer import ClusterObserver
from managers.context.secret_builder import secret_object
from managers.jwt_auth.decide import trusted_status
from runtime.builtin_kinds import SECRET
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error
from tests.managers.membership.servers import Servers

ISSUER = TokenIssuer("https://issuer.example.com", ("PEM",))
CLUSTER = gen.cluster().initialized()
SECRET_OBJECT = secret_object(CLUSTER.owner(), "x-root-token", {"token": b"root-abc"})
READ, PEEK = "get Secret x-root-token", "peek Secret x-root-token"
TOKEN = "create/token ServiceAccount the-operator"


class IssuerObserver(ClusterObserver):
    """An observer that only knows the issuer."""

    def __init__(self, issuer: TokenIssuer | None) -> None:
        self.installation = gen.INSTALLATION
        self._issuer = issuer

    async def token_issuer(self) -> TokenIssuer | None:
        return self._issuer


class FreshServers(Servers):
    """Servers that accept the login of the operator after its role was written."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []
        self.valid = lambda token: token in ("root-abc", "t1", "t2")

    async def login(self, address: str, mount: str, role: str, token: str) -> LoginToken:
        if f"auth/{mount}/role/{role}" not in self.writes:
            raise Denied("auth/jwt-operator/login answered 403: permission denied", 403)
        return await super().login(address, mount, role, token)

    async def enable_login(self, address: str, token: str) -> None:
        self._grant("enable", token)

    async def login_settings(self, address: str, token: str) -> Mapping[str, Any]:
        raise Denied("auth/jwt-operator/config answered 404", 404)

    async def set_login_settings(
        self, address: str, token: str, settings: Mapping[str, Any]
    ) -> None:
        self._grant("settings", token)

    async def write(self, address: str, token: str, path: str, payload: Mapping[str, Any]) -> None:
        self._grant(f"write {path}", token)
        self.writes.append(path)


class Bench:
    """One cluster, its servers, and the objects of the API server."""

    def __init__(self, cluster: gen.Cluster = CLUSTER, *, secret: bool = True) -> None:
        self.cluster, self.servers = cluster, FreshServers()
        self.issuer: TokenIssuer | None = ISSUER
        self.api = FakeApi().with_objects(*([(SECRET, SECRET_OBJECT)] if secret else []))
        self.outside = Outside(self.api)

    async def check(self, before: OperatorLoginStatus | None = None) -> OperatorLoginStatus:
        setup = LoginSetup(IssuerObserver(self.issuer), self.outside.logins)
        known_before = before.to_object() if before else {}
        cluster = self.cluster.with_status(adminOps={"operatorLogin": known_before})
        return await setup.check(self.servers, "10.0.0.1", cluster.read(), cluster.owner())


async def test_the_login_is_set_up_once_with_the_operators_role_last() -> None:
    bench = Bench()
    status = await bench.check()
    assert status.keys == trusted_status(ISSUER).keys
    assert status.root_token_secret
    assert bench.api.take_requests().count(READ) == 1
    assert bench.servers.writes[-1] == "auth/jwt-operator/role/openbao-operator"
    assert len(bench.servers.writes) == 8
    assert await bench.check(status) == status
    assert bench.api.take_requests() == []
    assert "root-abc" not in str(status)


async def test_a_role_in_the_spec_is_managed_by_the_user() -> None:
    store = {"endpoint": "https://s3.example.com", "bucket": "b"}
    backup = {"schedule": "0 3 * * *", "target": store}
    upgrade = {"jwtAuthRole": "openbao-operator-upgrade"}
    roles = {"upgrade": upgrade, "backup": {**backup, "jwtAuthRole": "mine"}}
    bench = Bench(CLUSTER.with_spec(**roles))
    await bench.check()
    written = {path.rpartition("/")[2] for path in bench.servers.writes}
    assert written == {"openbao-operator", "openbao-operator-backup", "openbao-operator-restore"}


async def test_the_set_up_restarts_if_the_leader_does_not_respond() -> None:
    bench = Bench()
    bench.servers.refused = "write sys/policies/acl/openbao-operator-restore"
    bench.servers.refused_by = BaoError("no answer")  # type: ignore[assignment]
    with pytest.raises(BaoError):
        await bench.check()
    bench.servers.refused = ""
    assert (await bench.check()).reason == ""


async def test_without_the_keys_of_the_api_server_the_root_token_is_not_used() -> None:
    bench = Bench()
    bench.issuer = None
    status = await bench.check()
    assert (status.reason, status.root_token_secret) == ("OperatorLoginMissing", "")
    assert READ not in bench.api.take_requests()
    bench.issuer = ISSUER
    assert (await bench.check(status)).reason == ""


async def test_without_a_service_account_token_the_root_token_is_not_used() -> None:
    bench = Bench()
    bench.api.refuse(TOKEN, api_error(403))
    status = await bench.check()
    assert status.reason == "OperatorLoginMissing"
    assert not {READ, PEEK} & {*bench.api.take_requests()}


async def test_a_refused_root_token_is_not_retried_and_keeps_its_reason() -> None:
    bench = Bench()
    bench.servers.valid = lambda token: False
    status = await bench.check()
    assert status.reason == "OperatorLoginRefused"
    assert "Secret x-root-token" in status.problem
    bench.api.calls.clear()
    assert await bench.check(status) == status
    assert bench.api.take_requests().count(READ) == 0


async def test_a_missing_secret_is_reported_and_a_new_one_is_used() -> None:
    bench = Bench(secret=False)
    status = await bench.check()
    assert status.reason == "RootTokenMissing"
    assert await bench.check(status) == status
    bench.api.with_objects((SECRET, SECRET_OBJECT))
    assert (await bench.check(status)).reason == ""


async def test_an_existing_login_is_recorded_with_the_present_secret() -> None:
    bench = Bench(secret=False)
    bench.servers.writes.append("auth/jwt-operator/role/openbao-operator")
    bench.issuer = None
    status = await bench.check()
    assert (status.reason, status.root_token_secret) == ("", NO_SECRET)


async def test_a_removed_login_is_not_set_up_again() -> None:
    bench = Bench()
    status = await bench.check()
    bench.servers.writes.clear()
    bench.outside.logins.of(bench.cluster.owner()).forget()
    bench.api.calls.clear()
    refused = await bench.check(status)
    assert (refused.reason, refused.keys) == ("OperatorLoginRefused", status.keys)
    assert refused.root_token_secret == status.root_token_secret
    assert READ not in bench.api.take_requests()
    assert bench.servers.writes == []
