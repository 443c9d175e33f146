"""managers.membership.observe: the queried servers, the token, and missing responses."""

import pytest

from contracts.api.cluster import job_roles
from contracts.api.rules.self_init import JWT_MOUNT
from contracts.records.observed import PodFacts
from managers.bao.client import OPERATOR_MOUNT, BaoError, Denied
from managers.bao.login import (
    OPERATOR_ROLE,
    TOKEN_SECONDS,
    ServiceAccountLogin,
    StoredToken,
    TokenSource,
)
from managers.context.service_account_token import RENEW_AFTER, AccountTokens
from managers.membership.observe import ask
from runtime.testing.clock import ManualClock
from tests import gen
from tests.gen.api import FakeApi, api_error
from tests.managers.membership.servers import ALL, Servers

LEADER = gen.pod(0).ready(leading=True)
STANDBY = gen.pod(1).ready()
ROOT = StoredToken("root-token")


def facts(*pods: gen.Pod) -> tuple[PodFacts, ...]:
    return tuple(pod.facts() for pod in pods)


async def test_every_ready_server_is_queried_and_the_leader_lists_the_members() -> None:
    servers = Servers()
    answers = await ask(servers, facts(LEADER, STANDBY), ROOT)
    assert answers.cluster_ids == {"x-0": "c1", "x-1": "c1"}
    assert (answers.members, answers.error) == (ALL, "")
    assert sorted(servers.requests) == [
        "health 10.0.0.1",
        "health 10.0.0.2",
        "members 10.0.0.1 root-token",
    ]


async def test_a_server_without_a_response_is_in_no_cluster() -> None:
    servers = Servers()
    servers.silent = {"10.0.0.2"}
    answers = await ask(servers, facts(LEADER, STANDBY), ROOT)
    assert answers.cluster_ids == {"x-0": "c1", "x-1": ""}
    assert answers.members == ALL


# sentence: (pods, token source, requests, a word of the error)
NOBODY: dict[str, tuple[tuple[gen.Pod, ...], TokenSource | None, list[str], str]] = {
    "no pods": ((), ROOT, [], "leader"),
    "no leader": ((STANDBY,), ROOT, ["health 10.0.0.2"], "leader"),
    "the leader is not ready": ((LEADER.unready(), STANDBY), ROOT, ["health 10.0.0.2"], "leader"),
    "the leader terminates": (
        (LEADER.terminating(), STANDBY),
        ROOT,
        ["health 10.0.0.2"],
        "leader",
    ),
    "no login": ((LEADER,), None, ["health 10.0.0.1"], "spec.selfInit.oidc"),
}


@pytest.mark.parametrize(("pods", "login", "requests", "word"), NOBODY.values(), ids=NOBODY.keys())
async def test_without_a_leader_or_a_login_no_members_are_read(
    pods: tuple[gen.Pod, ...], login: TokenSource | None, requests: list[str], word: str
) -> None:
    servers = Servers()
    answers = await ask(servers, facts(*pods), login)
    assert answers.members is None
    assert word in answers.error
    assert servers.requests == requests


@pytest.mark.parametrize("error", [BaoError("it broke"), Denied("it refused")])
async def test_a_failing_leader_is_named(error: Exception) -> None:
    servers = Servers()
    servers.error = error
    answers = await ask(servers, facts(LEADER), ROOT)
    assert answers.members is None
    assert "x-0" in answers.error
    assert str(error) in answers.error
    assert "root-token" not in answers.error


def own_login(clock: ManualClock, api: FakeApi | None = None) -> ServiceAccountLogin:
    """The operator's own login; the tokens of the API server are jwt-1, jwt-2 and so on."""
    tokens = AccountTokens(api or FakeApi(), clock, gen.INSTALLATION.account, "prefix/ns/x")
    return ServiceAccountLogin(tokens, clock)


class TestServiceAccountLogin:
    async def test_one_login_is_used_for_many_reads(self) -> None:
        servers, clock = Servers(), ManualClock()
        login = own_login(clock)
        for _ in range(3):
            assert (await ask(servers, facts(LEADER), login)).members == ALL
        assert servers.logins == 1
        assert "login 10.0.0.1 jwt-operator openbao-operator jwt-1" in servers.requests

    @pytest.mark.parametrize(
        ("lease", "lasts"),
        [(3600, TOKEN_SECONDS), (60, 30.0)],
        ids=["a long lease is cut", "half of a short lease"],
    )
    async def test_a_token_is_renewed_before_it_expires(self, lease: int, lasts: float) -> None:
        servers, clock = Servers(), ManualClock()
        servers.lease = lease
        login = own_login(clock)
        await ask(servers, facts(LEADER), login)
        await clock.advance(lasts - 1)
        await ask(servers, facts(LEADER), login)
        assert servers.logins == 1
        await clock.advance(1)
        await ask(servers, facts(LEADER), login)
        assert servers.logins == 2

    async def test_a_login_uses_a_service_account_token_that_is_still_valid(self) -> None:
        servers, clock = Servers(), ManualClock()
        login = own_login(clock)
        await ask(servers, facts(LEADER), login)
        login.forget()
        await ask(servers, facts(LEADER), login)
        assert servers.requests[-2].endswith("jwt-1")
        await clock.advance(RENEW_AFTER)
        login.forget()
        await ask(servers, facts(LEADER), login)
        assert servers.requests[-2].endswith("jwt-2")

    async def test_a_revoked_token_is_replaced_once(self) -> None:
        servers = Servers()
        login = own_login(ManualClock())
        await ask(servers, facts(LEADER), login)
        servers.valid = lambda token: token != "t1"
        assert (await ask(servers, facts(LEADER), login)).members == ALL
        assert servers.logins == 2

    async def test_a_role_without_permissions_is_retried_once(self) -> None:
        servers = Servers()
        servers.valid = lambda token: False
        answers = await ask(servers, facts(LEADER), own_login(ManualClock()))
        assert "permission denied" in answers.error
        assert servers.logins == 2

    async def test_a_refused_token_request_is_reported(self) -> None:
        servers, api = Servers(), FakeApi()
        api.refuse("create/token ServiceAccount the-operator", api_error(403))
        answers = await ask(servers, facts(LEADER), own_login(ManualClock(), api))
        assert "prefix/ns/x" in answers.error
        assert "403 Forbidden" in answers.error
        assert servers.logins == 0


async def test_a_stored_token_is_used_once() -> None:
    servers = Servers()
    servers.valid = lambda token: False
    assert (await ask(servers, facts(LEADER), ROOT)).members is None
    assert len([line for line in servers.requests if line.startswith("members")]) == 1


def test_the_login_is_that_of_the_first_boot() -> None:
    assert OPERATOR_MOUNT == JWT_MOUNT
    assert OPERATOR_ROLE == job_roles.OPERATOR_ROLE
