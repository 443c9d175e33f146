"""managers.membership.condition: servers outside of raft, and even numbers of servers.

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


def test_a_server_outside_of_raft_is_named_with_the_next_step() -> None:
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


def test_an_earlier_member_list_is_no_evidence() -> None:
    raft = RaftStatus(voters=2, non_voters=0, leader="x-0", cluster_id="c1")
    update = membership_ready(gen.cluster().read().spec, raft, None)
    assert update.reason == "VotersMissing"


@pytest.mark.parametrize("known", [None, RaftStatus(voters=3, leader="x-0", cluster_id="c1")])
@pytest.mark.parametrize("second", [0, 3])
def test_an_unread_response_is_reported_with_its_limit(
    known: RaftStatus | None, second: int
) -> None:
    """Independent of the earlier status: such a response is no evidence."""
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
    "green has no members yet": (THREE, raft_of(3, 0), "True UpgradeInProgress"),
    "green joins without votes": (THREE, raft_of(3, 2), "True UpgradeInProgress"),
    "both pools vote": (THREE, raft_of(6, 0), "True UpgradeInProgress"),
    "blue has no votes": (THREE, raft_of(3, 3), "True UpgradeInProgress"),
    "blue is removed": (THREE, raft_of(3, 1), "True UpgradeInProgress"),
    "a voter is missing": (THREE, raft_of(2, 3), "False VotersMissing"),
    "one unexpected member": (THREE, raft_of(6, 1), "False MembersUnexpected"),
    "both pools and a read replica": (READ, raft_of(6, 1, 1), "True UpgradeInProgress"),
    "a read replica is missing": (READ, raft_of(3, 3, 0), "False ReadReplicasMissing"),
    "an unexpected read replica": (READ, raft_of(3, 2, 2), "False MembersUnexpected"),
}


@pytest.mark.parametrize(("spec", "raft", "message"), TWO_POOLS.values(), ids=TWO_POOLS)
def test_members_of_two_pools_are_expected_during_a_takeover(
    spec: dict[str, Any], raft: RaftStatus, message: str
) -> None:
    update = membership_ready(
        gen.cluster().with_spec(**spec).read().spec, raft, None, green_servers=3
    )
    assert f"{update.status} {update.reason}" == message


def test_during_a_takeover_the_members_are_counted() -> None:
    spec = gen.cluster().with_spec(**READ).read().spec
    assert membership_ready(spec, raft_of(4, 3, 1), None, green_servers=3).message == (
        "The green pool has 3 servers: 4 voters, of which 3 are needed, and 2 members that "
        "have no vote; 1 of 1 read replicas have joined without a vote"
    )


def test_a_server_outside_of_raft_is_reported_during_a_takeover() -> None:
    status, _ = evaluate_members(
        Answers(IDS, TWO, ""), ExpectedMembers("x", 3, green_servers=3), None, gen.NOW
    )
    spec = gen.cluster().read().spec
    update = membership_ready(spec, status.raft, status.last_error, green_servers=3)
    assert update.reason == "ServerOutsideRaft"
    assert membership_ready(spec, None, None, green_servers=3).status == "Unknown"


@pytest.mark.parametrize(("replicas", "losses"), [(2, 0), (4, 1), (6, 2)])
def test_an_even_number_of_servers_causes_a_warning(replicas: int, losses: int) -> None:
    warning = even_replicas(replicas)
    assert f"the loss of {losses}" in warning
    assert f"Set it to {replicas - 1} or {replicas + 1}" in warning


@pytest.mark.parametrize("replicas", [1, 3, 5])
def test_an_odd_number_of_servers_causes_no_warning(replicas: int) -> None:
    assert even_replicas(replicas) == ""
