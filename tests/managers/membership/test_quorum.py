"""managers.membership.quorum: the followers as the leader reports them, and missing responses."""

import pytest

from contracts.records.observed import Quorum, RaftServer
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import NoToken, StoredToken
from managers.bao.models import AutopilotState, Member
from managers.membership.quorum import read_quorum
from managers.membership.quorum_refusal import LOGIN, MEMBERS, STATE, TOKEN
from tests import gen
from tests.managers.membership.servers import Servers

PODS = tuple(gen.pod(n).ready(leading=n == 1).facts() for n in range(3))
ROOT = StoredToken("root-token")
# A response of OpenBao 2.4.0 without unused fields.
OPINION = {
    "healthy": False,
    "failure_tolerance": 1,
    "leader": "x-1",
    "voters": ["x-1", "x-0"],
    "servers": {
        "x-1": {"healthy": True, "status": "leader", "node_status": "alive"},
        "x-0": {"healthy": False, "status": "voter", "node_status": "alive"},
        "x-2": {"healthy": True, "status": "non-voter", "node_status": "alive"},
    },
}


async def test_only_the_leader_is_queried() -> None:
    servers = Servers()
    servers.state = AutopilotState.model_validate(OPINION)
    assert await read_quorum(servers, PODS, ROOT) == Quorum(
        (
            RaftServer("x-0", voter=True, healthy=False),
            RaftServer("x-1", voter=True, healthy=True, leader=True),
            RaftServer("x-2", voter=False, healthy=True),
        ),
        failure_tolerance=1,
    )
    assert servers.requests == ["members 10.0.0.2 root-token", "state 10.0.0.2 root-token"]


async def test_membership_comes_from_raft_and_not_from_the_autopilot() -> None:
    """The autopilot of OpenBao 2.4.0 lists removed peers for up to two seconds."""
    servers = Servers()
    servers.raft = (
        Member(node_id="x-0", leader=True, voter=True),
        Member(node_id="x-3", voter=False),
    )
    quorum = await read_quorum(servers, PODS, ROOT)
    assert quorum.servers == (
        RaftServer("x-0", voter=True, healthy=True, leader=True),
        RaftServer("x-3", voter=False, healthy=False, follows=False),
    )


async def test_a_server_behind_the_log_of_the_leader_does_not_follow() -> None:
    """The autopilot reports it as healthy for the first ten seconds."""
    servers = Servers()
    servers.ends = {"leader": 97, "10.0.0.1": 64, "10.0.0.3": 97}
    quorum = await read_quorum(servers, PODS, ROOT)
    assert {server.node_id: server.follows for server in quorum.servers} == {
        "x-0": False,
        "x-1": True,
        "x-2": True,
    }


async def test_an_empty_response_is_no_quorum() -> None:
    servers = Servers()
    servers.state = AutopilotState()
    quorum = await read_quorum(servers, PODS, ROOT)
    assert quorum == Quorum((), 0)


async def test_no_server_is_queried_while_the_leader_is_unknown() -> None:
    servers = Servers()
    quorum = await read_quorum(servers, PODS[:1], ROOT)
    assert quorum.error
    assert servers.requests == []


# sentence: (the refused call, the code, the path)
REFUSALS = {
    "the members": ("members", 403, MEMBERS),
    "the members, as a bad request": ("members", 400, MEMBERS),
    "a missing path": ("members", 404, MEMBERS),
    "the autopilot": ("state", 403, STATE),
    "the autopilot, as a bad request": ("state", 400, STATE),
}


@pytest.mark.parametrize(("what", "code", "path"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_refused_request_is_an_error_with_its_path(what: str, code: int, path: str) -> None:
    servers = Servers()
    servers.refused, servers.refused_by = what, Denied(f"{path} answered {code}: no", code)
    answer = await read_quorum(servers, PODS, ROOT)
    assert answer == Quorum(error=f"{path} answered {code}: no", refused_path=path)


class NoLogin:
    """A login that is refused, by OpenBao or by the API server."""

    def __init__(self, error: Denied) -> None:
        self.error = error

    async def token(self, bao: Bao, address: str) -> str:
        raise self.error

    def forget(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("error", "path"),
    [(Denied("auth/jwt-operator/login answered 400: no", 400), LOGIN), (NoToken("no"), TOKEN)],
)
async def test_a_refused_login_is_an_error_with_its_path(error: Denied, path: str) -> None:
    servers = Servers()
    answer = await read_quorum(servers, PODS, NoLogin(error))
    assert answer == Quorum(error=str(error), refused_path=path)
    assert servers.requests == []


# sentence: (version of the leader, of x-2, whether x-2 reports its health)
PAIRS = {
    "2.6 below 2.4": ("2.4.0", "2.6.2", False),
    "2.7 below 2.4": ("2.4.0", "2.7.2", True),
    "2.4 below 2.7": ("2.7.2", "2.4.0", False),
    "2.6 below 2.7": ("2.7.2", "2.6.2", True),
}


@pytest.mark.parametrize(("leader", "follower", "is_reachable"), PAIRS.values(), ids=PAIRS)
async def test_a_follower_without_health_reports_is_judged_by_its_applied_index(
    leader: str, follower: str, is_reachable: bool
) -> None:
    versions = (leader, leader, follower)
    pods = tuple(
        gen.pod(n).ready(leading=n == 1, version=v).facts() for n, v in enumerate(versions)
    )
    servers = Servers()
    servers.raft = tuple(Member(node_id=f"x-{n}", leader=n == 1, voter=True) for n in range(3))
    well = {f"x-{n}": {"healthy": n < 2} for n in range(3)}
    servers.state = AutopilotState.model_validate({"servers": well, "failure_tolerance": 0})
    servers.ends = {"leader": 97, "10.0.0.1": 97, "10.0.0.3": 97}
    answer = await read_quorum(servers, pods, ROOT)
    third = RaftServer("x-2", voter=True, healthy=not is_reachable, judged_by_log=not is_reachable)
    assert (answer.servers[2], answer.failure_tolerance) == (third, 0 if is_reachable else 1)
    servers.ends["10.0.0.3"] = 96
    answer = await read_quorum(servers, pods, ROOT)
    assert (answer.servers[2].healthy, answer.failure_tolerance) == (False, 0)


async def test_without_the_autopilot_health_follows_from_the_applied_index() -> None:
    """With a disabled autopilot, the applied index shows that a server follows."""
    servers = Servers()
    servers.raft = tuple(Member(node_id=f"x-{n}", leader=n == 1, voter=True) for n in range(3))
    servers.refused, servers.refused_by = "state", Denied(f"{STATE} answered 404: no", 404)
    servers.ends = {"leader": 97, "10.0.0.1": 64, "10.0.0.3": 97}
    assert await read_quorum(servers, PODS, ROOT) == Quorum(
        (
            RaftServer("x-0", voter=True, healthy=False, follows=False),
            RaftServer("x-1", voter=True, healthy=True, leader=True),
            RaftServer("x-2", voter=True, healthy=True),
        ),
        failure_tolerance=0,
    )
    servers.ends["10.0.0.1"] = 97
    answer = await read_quorum(servers, PODS, ROOT)
    assert answer.failure_tolerance == 1


async def test_an_unresponsive_leader_holds_the_rollout() -> None:
    servers = Servers()
    servers.error = BaoError("no answer")
    quorum = await read_quorum(servers, PODS, ROOT)
    assert quorum.error == "no answer"


@pytest.mark.parametrize("broken", [{"servers": {"x-0": {}}}, {"voters": None}, {}])
def test_missing_health_counts_as_unhealthy(broken: dict[str, object]) -> None:
    state = AutopilotState.model_validate(broken)
    assert not any(server.healthy for server in (state.servers or {}).values())
