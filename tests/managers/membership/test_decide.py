"""managers.membership.decide: the status that follows from the responses of the servers."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.api.cluster.status import AdminOpsStatus
from contracts.conditions.condition import MESSAGE_MAX
from managers.bao.models import Member
from managers.membership.decide import (
    CONVERGING_RECHECK,
    QUIET_RECHECK,
    Answers,
    ExpectedMembers,
    as_object,
    evaluate_members,
)
from runtime.outcome import Done, Outcome, Wait
from tests import gen
from tests.managers.membership.observed import ONE_CLUSTER, answers, members

TWO_CLUSTERS = {"x-0": "c1", "x-1": "c2", "x-2": "c1"}


def decide(
    answers: Answers, previous: AdminOpsStatus | None = None, replicas: int = 3
) -> tuple[AdminOpsStatus, Outcome]:
    return evaluate_members(answers, ExpectedMembers("x", replicas), previous, gen.NOW)


ALL = answers(members(3))
SILENCE = answers(None, error="nobody leads")
CONVERGING = Wait("VotersMissing", "2 of 3 servers are voters", CONVERGING_RECHECK)

# sentence: (answers, raft as an object, the reason of the error, the outcome)
ROWS: dict[str, tuple[Answers, dict[str, Any] | None, str, Outcome]] = {
    "all are voters": (
        ALL,
        {"voters": 3, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "",
        Done(QUIET_RECHECK),
    ),
    "one member without a vote": (
        answers(members(2, 1)),
        {"voters": 2, "nonVoters": 1, "leader": "x-0", "clusterID": "c1"},
        "",
        CONVERGING,
    ),
    "one server that does not run": (
        answers(members(2), {"x-0": "c1", "x-1": "c1"}),
        {"voters": 2, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "",
        Wait("VotersMissing", "2 of 3 servers are voters", QUIET_RECHECK),
    ),
    "one running server outside of raft": (
        answers(members(2)),
        {"voters": 2, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "ServerOutsideRaft",
        Done(QUIET_RECHECK),
    ),
    "one server that does not respond": (
        answers(members(2), {"x-0": "c1", "x-2": ""}),
        {"voters": 2, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "",
        CONVERGING,
    ),
    "a removed server that still runs": (
        answers(members(3), {**ONE_CLUSTER, "x-3": "c1"}),
        {"voters": 3, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "",
        Done(QUIET_RECHECK),
    ),
    "one surplus voter with a pod": (
        answers(members(4), {**ONE_CLUSTER, "x-3": "c1"}),
        {"voters": 4, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "",
        Wait("VotersMissing", "4 servers are voters, but spec.replicas is 3", QUIET_RECHECK),
    ),
    "one surplus voter without a pod": (
        answers(members(4)),
        {"voters": 4, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "",
        Wait("VotersMissing", "4 servers are voters, but spec.replicas is 3", CONVERGING_RECHECK),
    ),
    "an unknown voter": (
        answers((*members(3), Member(node_id="stranger", voter=True))),
        {"voters": 4, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "",
        Wait("VotersMissing", "4 servers are voters, but spec.replicas is 3", QUIET_RECHECK),
    ),
    "a list without a leader": (
        answers(members(3, leader=None)),
        {"voters": 3, "nonVoters": 0, "leader": "", "clusterID": "c1"},
        "",
        Done(QUIET_RECHECK),
    ),
    "an empty list": (
        answers(()),
        {"voters": 0, "nonVoters": 0, "leader": "", "clusterID": "c1"},
        "",
        Wait("VotersMissing", "0 of 3 servers are voters", CONVERGING_RECHECK),
    ),
    "no response": (SILENCE, None, "MembershipUnknown", Done(QUIET_RECHECK)),
    "two clusters": (
        answers(members(3), TWO_CLUSTERS),
        {"voters": 3, "nonVoters": 0, "leader": "x-0", "clusterID": ""},
        "SplitBrain",
        Done(QUIET_RECHECK),
    ),
    "a server without a cluster id": (
        answers(members(3), {"x-0": "c1", "x-1": ""}),
        {"voters": 3, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "",
        Done(QUIET_RECHECK),
    ),
    "an unusable response": (
        answers(members(2), unusable="sys/health of 10.0.0.1: the answer is longer than 5 bytes"),
        {"voters": 2, "nonVoters": 0, "leader": "x-0", "clusterID": "c1"},
        "AnswerUnusable",
        Done(QUIET_RECHECK),
    ),
    "two clusters have precedence over a missing response": (
        answers(None, TWO_CLUSTERS, "nobody leads"),
        None,
        "SplitBrain",
        Done(QUIET_RECHECK),
    ),
}


@pytest.mark.parametrize(("given_answers", "raft", "reason", "outcome"), ROWS.values(), ids=ROWS)
def test_row(
    given_answers: Answers, raft: dict[str, Any] | None, reason: str, outcome: Outcome
) -> None:
    status, membership_outcome = decide(given_answers)
    assert as_object(status).get("raft") == raft
    assert (status.last_error.reason if status.last_error else "") == reason
    assert membership_outcome == outcome


def test_a_split_names_every_server_and_its_cluster() -> None:
    status, _ = decide(answers(members(3), TWO_CLUSTERS))
    assert status.last_error is not None
    for word in ("x-0 is in c1", "x-1 is in c2", "x-2 is in c1"):
        assert word in status.last_error.message


def test_the_message_about_many_split_servers_is_truncated_and_stable() -> None:
    """A message has at most 1024 characters; a refused status would hide the split."""
    ids = {f"{'x' * 40}-{n}": f"{n:036}" for n in range(15)}
    first, _ = evaluate_members(answers(members(3), ids), ExpectedMembers("x", 15), None, gen.NOW)
    again, _ = evaluate_members(
        answers(members(3), ids), ExpectedMembers("x", 15), first, gen.LATER
    )
    assert first.last_error is not None
    assert first.last_error.reason == "SplitBrain"
    assert len(first.last_error.message) <= MESSAGE_MAX
    assert again == first


def test_the_members_are_kept_while_no_server_responds() -> None:
    before, _ = decide(ALL)
    after, outcome = decide(SILENCE, before)
    assert after.raft == before.raft
    assert after.last_error is not None
    assert outcome == Done(QUIET_RECHECK)


def test_an_error_has_its_start_and_is_cleared() -> None:
    first, _ = evaluate_members(SILENCE, ExpectedMembers("x", 3), None, gen.NOW)
    again, _ = evaluate_members(SILENCE, ExpectedMembers("x", 3), first, gen.LATER)
    other, _ = evaluate_members(
        answers(None, error="another"), ExpectedMembers("x", 3), first, gen.LATER
    )
    gone, _ = evaluate_members(ALL, ExpectedMembers("x", 3), first, gen.LATER)
    assert first.last_error is not None
    assert other.last_error is not None
    assert first.last_error.at == gen.NOW
    assert again == first
    assert other.last_error.at == gen.LATER
    assert gone.last_error is None


_MEMBERS = st.none() | st.lists(
    st.builds(
        Member, node_id=st.sampled_from(["x-0", "x-1"]), leader=st.booleans(), voter=st.booleans()
    ),
    max_size=5,
).map(tuple)
_IDS = st.dictionaries(st.sampled_from(["x-0", "x-1", "x-2"]), st.sampled_from(["", "a", "b"]))


@settings(deadline=None, max_examples=100)
@given(_IDS, _MEMBERS, st.sampled_from(["", "why"]), st.integers(1, 5))
def test_equal_answers_give_an_equal_status_at_any_time(
    ids: dict[str, str], found: tuple[Member, ...] | None, error: str, replicas: int
) -> None:
    """Otherwise a stable cluster would write its status in every reconcile."""
    given_answers = Answers(ids, found, error)
    first, outcome = evaluate_members(given_answers, ExpectedMembers("x", replicas), None, gen.NOW)
    second, same = evaluate_members(given_answers, ExpectedMembers("x", replicas), first, gen.LATER)
    assert as_object(second) == as_object(first)
    assert outcome == same
    assert AdminOpsStatus.model_validate(as_object(first)) == first
    reason = first.last_error.reason if first.last_error else ""
    assert (reason == "SplitBrain") is ({"a", "b"} <= set(ids.values()))


READERS = (Member(node_id="x-read-0", voter=False), Member(node_id="x-read-1", voter=False))


class TestReadReplicas:
    """Read replicas, as opposed to voters without a vote."""

    def decide(
        self, members: tuple[Member, ...], healthy: tuple[str, ...] = (), read_replicas: int = 2
    ) -> tuple[AdminOpsStatus, Outcome]:
        answers = Answers(ONE_CLUSTER, members, "", frozenset(healthy))
        return evaluate_members(answers, ExpectedMembers("x", 3, read_replicas), None, gen.NOW)

    def test_all_read_replicas_are_healthy(self) -> None:
        status, outcome = self.decide((*members(3), *READERS), ("x-0", "x-read-0", "x-read-1"))
        assert status.raft is not None
        assert (status.raft.non_voters, status.raft.read_replicas) == (2, 2)
        assert status.raft.healthy_read_replicas == 2
        assert outcome == Done(QUIET_RECHECK)

    def test_a_voter_without_a_vote_is_not_a_read_replica(self) -> None:
        status, outcome = self.decide(members(2, 1), read_replicas=0)
        assert gen.present(status.raft).read_replicas is None
        assert isinstance(outcome, Wait)

    def test_a_promoted_read_replica_is_a_voter(self) -> None:
        promoted = Member(node_id="x-read-1", voter=True)
        status, outcome = self.decide((*members(3), READERS[0], promoted))
        assert status.raft is not None
        assert (status.raft.voters, status.raft.read_replicas) == (4, 1)
        assert isinstance(outcome, Wait)

    def test_an_unhealthy_read_replica_is_checked_again(self) -> None:
        status, outcome = self.decide((*members(3), *READERS), ("x-read-0",))
        assert gen.present(status.raft).healthy_read_replicas == 1
        assert isinstance(outcome, Wait)

    def test_removed_read_replicas_are_counted_until_they_are_gone(self) -> None:
        status, outcome = self.decide((*members(3), READERS[0]), read_replicas=0)
        assert gen.present(status.raft).read_replicas == 1
        assert isinstance(outcome, Wait)


REVISION = "0123456789abcdef"
GREEN = tuple(f"x-{REVISION}-{n}" for n in range(3))


class TestTwoPools:
    """During a takeover, green servers are expected and checked at the normal interval."""

    def decide(
        self, blue: str, green: str, ids: tuple[str, ...] = (), revision: str = ""
    ) -> tuple[AdminOpsStatus, Outcome]:
        """`v` is a voter, `n` a member without a vote, `-` none."""
        names = [
            *((f"x-{n}", word) for n, word in enumerate(blue)),
            *zip(GREEN, green, strict=True),
        ]
        found = tuple(
            Member(node_id=name, leader=name == "x-0", voter=word == "v")
            for name, word in names
            if word != "-"
        )
        answers = Answers(dict.fromkeys((*ONE_CLUSTER, *GREEN, *ids), "c1"), found, "")
        return evaluate_members(
            answers, ExpectedMembers("x", 3, 0, revision, green_servers=3), None, gen.NOW
        )

    @pytest.mark.parametrize(
        ("blue", "green", "revision"),
        [
            ("vvv", "---", ""),
            ("vvv", "nnn", ""),
            ("vvv", "vvn", ""),
            ("vnn", "vvv", ""),
            ("nnn", "vvv", ""),
            ("n--", "vvv", REVISION),
        ],
    )
    def test_members_of_either_pool_are_expected(
        self, blue: str, green: str, revision: str
    ) -> None:
        status, outcome = self.decide(blue, green, revision=revision)
        assert (status.last_error, outcome) == (None, Done(QUIET_RECHECK))

    def test_the_members_of_both_pools_are_counted(self) -> None:
        raft = gen.present(self.decide("vvn", "vnn")[0].raft)
        assert (raft.voters, raft.non_voters, raft.read_replicas) == (3, 3, None)

    def test_a_missing_vote_is_waited_for(self) -> None:
        outcome = self.decide("vvn", "nnn")[1]
        assert outcome == CONVERGING

    def test_a_green_server_is_never_outside_of_raft(self) -> None:
        assert self.decide("vvv", "-n-")[0].last_error is None

    def test_a_serving_server_can_be_outside_of_raft(self) -> None:
        error = gen.present(self.decide("vv-", "vvv")[0].last_error)
        assert error.reason == "ServerOutsideRaft"
        assert error.message.startswith("x-2 run")
