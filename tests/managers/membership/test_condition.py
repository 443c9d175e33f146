"""managers.membership.condition: a server outside of raft is named, an even number advised against.

The counts are tested in tests/managers/cluster, with the reasons of the whole table.
"""

from typing import Any

import pytest

from contracts.api.cluster.status import RaftStatus
from managers.bao.models import Member
from managers.membership.condition import even_replicas, membership_ready
from managers.membership.decide import Answers, ExpectedMembers, evaluate_members
from tests import gen

IDS = {"x-0": "c1", "x-1": "c1", "x-2": "c1"}
TWO = tuple(Member(node_id=f"x-{n}", leader=n == 0, voter=True) for n in range(2))


def test_a_server_that_runs_outside_of_raft_is_named_with_the_way_back() -> None:
    status, _ = evaluate_members(Answers(IDS, TWO, ""), ExpectedMembers("x", 3), None, gen.NOW)
    update = membership_ready(gen.cluster().read().spec, status.raft, status.last_error)
    assert (update.status, update.reason) == ("False", "ServerOutsideRaft")
    for word in ("x-2", "kubectl delete pvc data-x-2", "kubectl delete pod x-2"):
        assert word in update.message


def test_a_read_replica_outside_of_raft_is_named_too() -> None:
    ids = {"x-0": "c1", "x-1": "c1", "x-read-0": "c1", "x-read-1": "c1"}
    status, _ = evaluate_members(Answers(ids, TWO, ""), ExpectedMembers("x", 2, 1), None, gen.NOW)
    assert status.last_error is not None
    assert "data-x-read-0" in status.last_error.message
    assert "x-read-1" not in status.last_error.message


def test_members_that_were_read_before_are_no_proof() -> None:
    raft = RaftStatus(voters=2, non_voters=0, leader="x-0", cluster_id="c1")
    update = membership_ready(gen.cluster().read().spec, raft, None)
    assert update.reason == "VotersMissing"


@pytest.mark.parametrize("known", [None, RaftStatus(voters=3, leader="x-0", cluster_id="c1")])
@pytest.mark.parametrize("second", [0, 3])
def test_an_answer_that_was_not_read_is_told_of_with_its_bound(
    known: RaftStatus | None, second: int
) -> None:
    """Whatever was known before: a server that answers like this is no witness."""
    problem = "sys/health of 10.0.0.1: the answer is longer than 262144 bytes"
    answers = Answers(IDS, TWO, "", unusable=problem)
    status, _ = evaluate_members(answers, ExpectedMembers("x", 3), None, gen.NOW)
    spec = gen.cluster().read().spec
    update = membership_ready(spec, known, status.last_error, green_servers=second)
    assert (update.status, update.reason) == ("Unknown", "AnswerUnusable")
    assert update.message.startswith(problem)
    assert "spec.image" in update.message


def raft_of(voters: int, others: int, readers: int | None = None) -> RaftStatus:
    return RaftStatus(
        voters=voters, non_voters=others, read_replicas=readers, leader="x-0", cluster_id="c1"
    )


THREE: dict[str, Any] = {}
READ: dict[str, Any] = {"readReplicas": {"replicas": 1}}
# sentence: (spec, members, "status reason")
TWO_POOLS: dict[str, tuple[dict[str, Any], RaftStatus, str]] = {
    "green is not there yet": (THREE, raft_of(3, 0), "True UpgradeInProgress"),
    "green comes without a vote": (THREE, raft_of(3, 2), "True UpgradeInProgress"),
    "both vote": (THREE, raft_of(6, 0), "True UpgradeInProgress"),
    "blue has no vote any more": (THREE, raft_of(3, 3), "True UpgradeInProgress"),
    "blue goes": (THREE, raft_of(3, 1), "True UpgradeInProgress"),
    "a voter is missing": (THREE, raft_of(2, 3), "False VotersMissing"),
    "one more than both": (THREE, raft_of(6, 1), "False MembersUnexpected"),
    "a read replica beside both": (READ, raft_of(6, 1, 1), "True UpgradeInProgress"),
    "a read replica is missing": (READ, raft_of(3, 3, 0), "False ReadReplicasMissing"),
    "a read replica too many": (READ, raft_of(3, 2, 2), "False MembersUnexpected"),
}


@pytest.mark.parametrize(("spec", "raft", "message"), TWO_POOLS.values(), ids=TWO_POOLS)
def test_members_of_two_pools_are_expected_while_one_takes_over(
    spec: dict[str, Any], raft: RaftStatus, message: str
) -> None:
    update = membership_ready(
        gen.cluster().with_spec(**spec).read().spec, raft, None, green_servers=3
    )
    assert f"{update.status} {update.reason}" == message


def test_while_a_set_takes_over_the_numbers_are_told() -> None:
    spec = gen.cluster().with_spec(**READ).read().spec
    assert membership_ready(spec, raft_of(4, 3, 1), None, green_servers=3).message == (
        "The green pool has 3 servers: 4 voters, of which 3 are needed, and 2 members that "
        "have no vote; 1 of 1 read replicas have joined without a vote"
    )


def test_a_server_outside_of_raft_is_told_of_whatever_goes_on() -> None:
    status, _ = evaluate_members(
        Answers(IDS, TWO, ""), ExpectedMembers("x", 3, green_servers=3), None, gen.NOW
    )
    spec = gen.cluster().read().spec
    update = membership_ready(spec, status.raft, status.last_error, green_servers=3)
    assert update.reason == "ServerOutsideRaft"
    assert membership_ready(spec, None, None, green_servers=3).status == "Unknown"


@pytest.mark.parametrize(("replicas", "losses"), [(2, 0), (4, 1), (6, 2)])
def test_an_even_number_survives_no_more_than_one_less(replicas: int, losses: int) -> None:
    warning = even_replicas(replicas)
    assert f"the loss of {losses}" in warning
    assert f"Set it to {replicas - 1} or {replicas + 1}" in warning


@pytest.mark.parametrize("replicas", [1, 3, 5])
def test_an_odd_number_is_no_news(replicas: int) -> None:
    assert even_replicas(replicas) == ""
