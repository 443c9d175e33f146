"""managers.membership.observe: whom the operator asks, with which token, and what silence means."""

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


async def test_every_ready_server_is_asked_for_its_cluster_and_the_leader_for_the_members() -> None:
    servers = Servers()
    answers = await ask(servers, facts(LEADER, STANDBY), ROOT)
    assert answers.cluster_ids == {"x-0": "c1", "x-1": "c1"}
    assert (answers.members, answers.error) == (ALL, "")
    assert sorted(servers.requests) == [
        "health 10.0.0.1",
        "health 10.0.0.2",
        "members 10.0.0.1 root-token",
    ]


async def test_a_server_that_is_silent_is_in_no_cluster() -> None:
    servers = Servers()
    servers.silent = {"10.0.0.2"}
    answers = await ask(servers, facts(LEADER, STANDBY), ROOT)
    assert answers.cluster_ids == {"x-0": "c1", "x-1": ""}
    assert answers.members == ALL


# sentence: (pods, token source, what is asked, a word of the error)
NOBODY: dict[str, tuple[tuple[gen.Pod, ...], TokenSource | None, list[str], str]] = {
    "nobody is there": ((), ROOT, [], "leader"),
    "nobody leads": ((STANDBY,), ROOT, ["health 10.0.0.2"], "leader"),
    "the leader is not ready": ((LEADER.unready(), STANDBY), ROOT, ["health 10.0.0.2"], "leader"),
    "the leader is going away": (
        (LEADER.terminating(), STANDBY),
        ROOT,
        ["health 10.0.0.2"],
        "leader",
    ),
    "there is no login": ((LEADER,), None, ["health 10.0.0.1"], "spec.selfInit.oidc"),
}


@pytest.mark.parametrize(("pods", "login", "requests", "word"), NOBODY.values(), ids=NOBODY.keys())
async def test_nobody_to_ask(
    pods: tuple[gen.Pod, ...], login: TokenSource | None, requests: list[str], word: str
) -> None:
    servers = Servers()
    answers = await ask(servers, facts(*pods), login)
    assert answers.members is None
    assert word in answers.error
    assert servers.requests == requests


@pytest.mark.parametrize("error", [BaoError("it broke"), Denied("it refused")])
async def test_a_leader_in_trouble_is_named(error: Exception) -> None:
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
    async def test_one_login_serves_many_looks(self) -> None:
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
    async def test_a_token_is_used_well_within_its_life(self, lease: int, lasts: float) -> None:
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

    async def test_a_login_gets_a_token_of_the_api_server_with_enough_life(self) -> None:
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

    async def test_a_token_that_ended_early_is_replaced_once(self) -> None:
        servers = Servers()
        login = own_login(ManualClock())
        await ask(servers, facts(LEADER), login)
        servers.valid = lambda token: token != "t1"
        assert (await ask(servers, facts(LEADER), login)).members == ALL
        assert servers.logins == 2

    async def test_a_role_without_rights_is_not_asked_for_ever(self) -> None:
        servers = Servers()
        servers.valid = lambda token: False
        answers = await ask(servers, facts(LEADER), own_login(ManualClock()))
        assert "permission denied" in answers.error
        assert servers.logins == 2

    async def test_a_token_that_the_api_server_refuses_is_told(self) -> None:
        servers, api = Servers(), FakeApi()
        api.refuse("create/token ServiceAccount the-operator", api_error(403))
        answers = await ask(servers, facts(LEADER), own_login(ManualClock(), api))
        assert "prefix/ns/x" in answers.error
        assert "403 Forbidden" in answers.error
        assert servers.logins == 0


async def test_a_stored_token_is_not_tried_twice() -> None:
    servers = Servers()
    servers.valid = lambda token: False
    assert (await ask(servers, facts(LEADER), ROOT)).members is None
    assert len([line for line in servers.requests if line.startswith("members")]) == 1


def test_the_login_is_the_one_that_the_first_boot_sets_up() -> None:
    assert OPERATOR_MOUNT == JWT_MOUNT
    assert OPERATOR_ROLE == job_roles.OPERATOR_ROLE
