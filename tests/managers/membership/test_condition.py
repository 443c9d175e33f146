"""managers.membership.condition: a server outside of raft is named, an even number advised against.

The counts are tested in tests/managers/cluster, with the reasons of the whole table.
"""

import pytest

from contracts.api.cluster_status import RaftStatus
from managers.bao.models import Member
from managers.membership.condition import even_replicas, membership_ready
from managers.membership.plan import Answers, Expected, judge
from tests import gen

IDS = {"x-0": "c1", "x-1": "c1", "x-2": "c1"}
TWO = tuple(Member(node_id=f"x-{n}", leader=n == 0, voter=True) for n in range(2))


def test_a_server_that_runs_outside_of_raft_is_named_with_the_way_back() -> None:
    status, _ = judge(Answers(IDS, TWO, ""), Expected("x", 3), None, gen.NOW)
    found = membership_ready(gen.cluster().read().spec, status.raft, status.last_error)
    assert (found.status, found.reason) == ("False", "ServerOutsideRaft")
    for word in ("x-2", "kubectl delete pvc data-x-2", "kubectl delete pod x-2"):
        assert word in found.message


def test_a_read_replica_outside_of_raft_is_named_too() -> None:
    ids = {"x-0": "c1", "x-1": "c1", "x-read-0": "c1", "x-read-1": "c1"}
    status, _ = judge(Answers(ids, TWO, ""), Expected("x", 2, 1), None, gen.NOW)
    assert status.last_error is not None
    assert "data-x-read-0" in status.last_error.message
    assert "x-read-1" not in status.last_error.message


def test_members_that_were_read_before_are_no_proof() -> None:
    raft = RaftStatus(voters=2, non_voters=0, leader="x-0", cluster_id="c1")
    found = membership_ready(gen.cluster().read().spec, raft, None)
    assert found.reason == "VotersMissing"


@pytest.mark.parametrize(("replicas", "losses"), [(2, 0), (4, 1), (6, 2)])
def test_an_even_number_survives_no_more_than_one_less(replicas: int, losses: int) -> None:
    told = even_replicas(replicas)
    assert f"the loss of {losses}" in told
    assert f"Set it to {replicas - 1} or {replicas + 1}" in told


@pytest.mark.parametrize("replicas", [1, 3, 5])
def test_an_odd_number_is_no_news(replicas: int) -> None:
    assert even_replicas(replicas) == ""
