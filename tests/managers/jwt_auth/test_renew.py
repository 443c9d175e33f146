"""managers.jwt_auth: the operator writes only new keys of the API server to OpenBao."""

from collections.abc import Mapping
from typing import Any

import pytest

from contracts.api.cluster.status_login import OperatorLoginStatus
from contracts.records.observed import TokenIssuer
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import NoToken, StoredToken
from managers.jwt_auth.actions import read_operator_login, renew
from managers.jwt_auth.decide import OUTDATED, due, trusted_status
from tests.managers.membership.servers import Servers

OLD = "-----BEGIN PUBLIC KEY-----\nb2xk\n-----END PUBLIC KEY-----\n"
NEW = "-----BEGIN PUBLIC KEY-----\nbmV3\n-----END PUBLIC KEY-----\n"
HERE = "https://issuer.example.com"
BOTH = TokenIssuer(HERE, (NEW, OLD))
ONE = TokenIssuer(HERE, (OLD,))


class LoginServer(Servers):
    """A server with the settings of its login."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = {"bound_issuer": HERE, "jwt_validation_pubkeys": [OLD], **settings}
        self.writes: list[Mapping[str, Any]] = []

    async def login_settings(self, address: str, token: str) -> Mapping[str, Any]:
        if self.error is not None:
            raise self.error
        return self.settings

    async def set_login_settings(
        self, address: str, token: str, settings: Mapping[str, Any]
    ) -> None:
        self.writes.append(settings)
        self.settings = dict(settings)


async def test_new_keys_are_written_and_the_digest_is_stored() -> None:
    server = LoginServer(default_role="r", jwt_supported_algs=["RS256"])
    status = await renew(server, "10.0.0.1", StoredToken("t"), BOTH, None)
    assert server.writes == [
        {
            "bound_issuer": HERE,
            "default_role": "r",
            "jwt_supported_algs": ["RS256"],
            "jwt_validation_pubkeys": sorted((OLD, NEW)),
        }
    ]
    assert status == trusted_status(BOTH)
    assert not due(BOTH, status)
    assert due(ONE, status), "a removed key of the API server is removed here too"


async def test_equal_keys_are_not_written() -> None:
    server = LoginServer(jwt_validation_pubkeys=[OLD.strip(), NEW.strip()])
    assert await renew(server, "10.0.0.1", StoredToken("t"), BOTH, None) == trusted_status(BOTH)
    assert server.writes == []


@pytest.mark.parametrize("source", ["jwks_url", "oidc_discovery_url"])
async def test_a_key_source_of_an_administrator_is_not_changed(source: str) -> None:
    server = LoginServer(**{source: "https://keys.example.com"})
    await renew(server, "10.0.0.1", StoredToken("t"), BOTH, None)
    assert server.writes == []


@pytest.mark.parametrize("keys", [None, [], 5, "a key", {"a": "key"}, True])
async def test_keys_that_are_no_list_are_not_changed(keys: Any) -> None:
    server = LoginServer(jwt_validation_pubkeys=keys)
    assert await renew(server, "10.0.0.1", StoredToken("t"), BOTH, None) == trusted_status(BOTH)
    assert server.writes == []


@pytest.mark.parametrize("keys", [[None], [5, OLD], [[OLD]], [{"a": "key"}]])
async def test_a_key_that_is_no_text_is_another_key(keys: Any) -> None:
    server = LoginServer(jwt_validation_pubkeys=keys)
    await renew(server, "10.0.0.1", StoredToken("t"), BOTH, None)
    assert server.writes[0]["jwt_validation_pubkeys"] == sorted((OLD, NEW))


async def test_the_issuer_of_the_spec_is_kept() -> None:
    server = LoginServer(bound_issuer="https://mine.example.com")
    await renew(server, "10.0.0.1", StoredToken("t"), BOTH, "https://mine.example.com")
    assert server.writes[0]["bound_issuer"] == "https://mine.example.com"


async def test_a_refusal_is_reported_and_not_retried_until_the_keys_change() -> None:
    server = LoginServer()
    server.error = Denied("auth/jwt-operator/config answered 403: permission denied", 403)
    status = await renew(server, "10.0.0.1", StoredToken("t"), BOTH, None)
    assert "docs/first-boot.md" in status.problem
    assert not due(BOTH, status)
    assert due(ONE, status)


async def test_a_missing_response_is_no_refusal() -> None:
    server = LoginServer()
    server.error = BaoError("no answer")
    with pytest.raises(BaoError):
        await renew(server, "10.0.0.1", StoredToken("t"), BOTH, None)


def test_nothing_is_written_without_keys_of_the_api_server() -> None:
    assert not due(None, None)
    assert not due(TokenIssuer(HERE, ()), None), "a login without keys would refuse every user"


class RefusedLogin:
    """A login that fails."""

    def __init__(self, why: Denied) -> None:
        self.why = why

    async def token(self, bao: Bao, address: str) -> str:
        raise self.why

    def forget(self) -> bool:
        return False


DENIED = RefusedLogin(
    Denied("auth/jwt-operator/login answered 400: invalid audience (aud) claim", 400)
)
TOKENLESS = RefusedLogin(NoToken("the API server gives the operator no token: 403"))
WORKS = StoredToken("t")
AT = "10.0.0.1"


async def test_a_refused_login_is_reported_with_the_message_of_openbao() -> None:
    status = await read_operator_login(LoginServer(), AT, DENIED, BOTH, None, trusted_status(BOTH))
    assert status is not None
    assert status.reason == "OperatorLoginRefused"
    assert "invalid audience" in status.problem
    assert not due(BOTH, status), "the keys are those that were compared"


async def test_a_login_that_is_refused_after_the_keys_changed_is_outdated() -> None:
    status = await read_operator_login(LoginServer(), AT, DENIED, BOTH, None, trusted_status(ONE))
    assert status is not None
    assert status.reason == OUTDATED
    # It stays outdated, also after the new keys are recorded.
    assert await read_operator_login(LoginServer(), AT, DENIED, BOTH, None, status) == status


async def test_a_missing_token_is_reported_as_such() -> None:
    for issuer in (None, BOTH):
        status = await read_operator_login(
            LoginServer(), AT, TOKENLESS, issuer, None, trusted_status(ONE)
        )
        assert status is not None
        assert status.reason == "OperatorLoginMissing"
        assert "serviceaccounts/token" in status.problem
        assert status.keys == trusted_status(ONE).keys


@pytest.mark.parametrize("login", [DENIED, TOKENLESS])
async def test_a_problem_is_cleared_when_the_login_works(login: RefusedLogin) -> None:
    server = LoginServer(jwt_validation_pubkeys=[OLD, NEW])
    status = await read_operator_login(server, AT, login, BOTH, None, trusted_status(BOTH))
    assert await read_operator_login(server, AT, WORKS, BOTH, None, status) == trusted_status(BOTH)
    assert await read_operator_login(server, AT, WORKS, None, None, status) == trusted_status(BOTH)


async def test_keys_of_an_administrator_clear_the_problem() -> None:
    status = await read_operator_login(LoginServer(), AT, DENIED, BOTH, None, trusted_status(ONE))
    server = LoginServer(jwt_validation_pubkeys=[OLD, NEW])
    assert await read_operator_login(server, AT, WORKS, BOTH, None, status) == trusted_status(BOTH)
    assert server.writes == []


async def test_a_working_login_with_compared_keys_costs_no_request() -> None:
    server = LoginServer()
    server.error = AssertionError("asked")
    for before in (trusted_status(BOTH), None, OperatorLoginStatus(keys="k")):
        issuer = BOTH if before == trusted_status(BOTH) else None
        assert await read_operator_login(server, AT, WORKS, issuer, None, before) == before
