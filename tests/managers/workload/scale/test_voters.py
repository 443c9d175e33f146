"""One voter at a time, never two missed, nothing forgotten."""

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.records.effects import DeleteClaim, RemovePeer, ServerEndpoint
from contracts.records.observed import PvcFacts
from managers.workload.scale.leftover_pvcs import is_disposable
from managers.workload.scale.replicas import Size
from managers.workload.scale.voters import needs_quorum, scale
from runtime.outcome import Blocked, Done, Wait
from tests import gen
from tests.managers.workload.scale_cases import ALL, DELETES, KEEPS
from tests.managers.workload.scale_worlds import (
    ALONE_OF_THREE,
    ALONE_OF_TWO,
    FIVE,
    ONE,
    THREE,
    Servers,
    pod_names,
    pods,
    raft,
    servers,
    servers_after_stop,
)


def size_of(cluster: gen.Cluster, there: Servers) -> Size:
    return scale(gen.resolved(cluster, there.world), there.facts())


def summary_of(size: Size) -> str:
    """Number, reason, and effects, in short."""
    reason = "" if isinstance(size.outcome, Done) else size.outcome.reason
    acts = [f"{effect.name} {effect.target}" for effect in size.effects]
    return " ".join([str(size.replicas), *filter(None, [reason]), *(f"[{act}]" for act in acts)])


@pytest.mark.parametrize(("cluster", "there", "expected"), ALL.values(), ids=ALL)
def test_row(cluster: gen.Cluster, there: Servers, expected: str) -> None:
    assert summary_of(size_of(cluster, there)) == expected


def voters(count: int, of: gen.Cluster = ONE) -> gen.Cluster:
    """A cluster of which that many voters were last heard, whatever its spec asks for."""
    raft_status = {"voters": count, "nonVoters": 0, "leader": "x-0", "clusterID": "c"}
    return of.with_status(adminOps={"raft": raft_status})


def test_voters_without_pods_come_back_when_nobody_leads() -> None:
    """Somebody scaled the StatefulSet to one in the same moment: that one alone is no majority."""
    lost = ALONE_OF_THREE.pods(gen.pod(0).ready()).with_raft(error="nobody leads")
    assert (size_of(voters(3), lost).replicas, size_of(voters(2), lost).replicas) == (3, 2)


@pytest.mark.parametrize(
    "there",
    [
        ALONE_OF_THREE,
        servers_after_stop(1, raft_of=1, volumes=1).pods(gen.pod(0).ready()),
        ALONE_OF_THREE.with_removal_marks(1).pods(gen.pod(0).ready()),
        ALONE_OF_THREE.volumes(0, 1, owner_uid="z").pods(gen.pod(0).ready()),
    ],
    ids=["somebody leads", "no volume is left", "it was removed", "the volume is another's"],
)
def test_but_not_for_a_count_that_is_out_of_date(there: Servers) -> None:
    assert size_of(voters(3), there).replicas == 1


def test_a_removal_is_aimed_at_the_leader_and_a_volume_is_deleted_by_uid() -> None:
    leader = ServerEndpoint("10.0.0.1", "the authority", "the name")
    assert size_of(ONE, servers(3)).effects == (
        RemovePeer("x-2", "uid-x-2", leader, claim="data-x-2", claim_uid="uid-claim-2"),
    )
    assert size_of(THREE, ALONE_OF_TWO.with_removal_marks(1)).effects == (
        DeleteClaim("data-x-1", "uid-claim-1"),
    )


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (servers(3).silent(), ("spec.replicas", "to 3", "OperatorLoginReady")),
        (
            servers(3).with_attempt("remove-peer", "uid-x", timedelta(0), "it answered 403"),
            ("it answered 403", "remove-peer", "spec.replicas to 3"),
        ),
        (
            servers(3, leading=2).with_attempt(
                "step-down", "uid-x-2", timedelta(0), "it answered 403"
            ),
            ("it answered 403", "x-2 is the leader", "bao operator step-down"),
        ),
    ],
)
def test_a_refusal_says_how_to_go_on(there: Servers, words: tuple[str, ...]) -> None:
    outcome = gen.expect(Blocked, size_of(ONE, there).outcome)
    assert outcome.recheck_after
    for word in words:
        assert word in outcome.message


@pytest.mark.parametrize(
    ("members", "outcome"), [(("x-0", "x-1", "x-2"), Done), (("x-0", "x-1"), Blocked)]
)
def test_a_refused_removal_ends_when_the_spec_asks_for_the_server_again(
    members: tuple[str, ...], outcome: type[Done | Blocked]
) -> None:
    there = servers(3).with_removal_marks(2).with_raft(*raft(*members))
    there = there.with_attempt("remove-peer", "uid-x", timedelta(0), "it answered 403")
    size = size_of(THREE, there)
    assert (size.replicas, type(size.outcome)) == (3, outcome)


def test_a_stale_volume_is_named_with_the_way_out() -> None:
    outcome = gen.expect(Blocked, size_of(THREE, ALONE_OF_TWO).outcome)
    assert "kubectl delete pvc data-x-1" in outcome.message
    assert "spec.replicas to 1" in outcome.message


def test_what_waits_for_a_leaders_opinion_looks_again_soon() -> None:
    for there in (servers(3), servers(3).with_raft(*raft(*pod_names(3), ill=["x-1"]))):
        assert gen.expect(Wait, size_of(ONE, there).outcome).after == 1.0


@pytest.mark.parametrize("spec", [{"fencedPods": ["x-1"]}, {"maintenance": {"enabled": True}}])
def test_nobody_leaves_while_a_person_asked_for_rest(spec: dict[str, object]) -> None:
    size = size_of(THREE.with_spec(**spec), servers(5))
    assert size.replicas == 5
    assert not size.effects
    assert "spec.replicas is 3" in gen.expect(Wait, size.outcome).message


def test_the_operation_is_told_while_new_servers_join() -> None:
    joining = replace(servers(3).pods(*pods(1), gen.pod(1), gen.pod(2)), members=1)
    started = replace(servers(1), members=1)
    waiting = replace(servers(3), members=3)
    for there in (started, joining, waiting):
        operation = gen.present(size_of(voters(1, of=THREE), there).operation)
        assert (operation.kind, operation.done, operation.total) == ("Scaling", 1, 3)
    assert size_of(voters(3, of=THREE), waiting).operation is None
    assert size_of(THREE, replace(joining, members=None)).operation is None


def test_a_server_that_runs_and_is_no_member_is_not_on_its_way() -> None:
    assert size_of(voters(2, of=THREE), replace(servers(3), members=2)).operation is None
    assert gen.present(size_of(ONE, servers(3)).operation).kind == "Scaling"


def test_a_server_that_leaves_is_alone() -> None:
    """No pod is replaced in the same moment; while one waits for others, they may be repaired."""
    assert size_of(ONE, servers(3)).alone
    assert size_of(ONE, servers(3).with_removal_marks(2).with_raft(*raft("x-0", "x-1"))).alone
    ill = servers(3).pods(gen.pod(0).ready(leading=True), gen.pod(1), gen.pod(2).ready())
    assert not size_of(ONE, ill).alone


# sentence: (spec, world, is the leader asked)
ASKED: dict[str, tuple[gen.Cluster, Servers, bool]] = {
    "a quiet cluster asks nobody": (THREE, replace(servers(3), members=3), False),
    "fewer are wanted": (ONE, servers(3), True),
    "more are wanted, and volumes are there": (FIVE, servers(3), True),
    "more are wanted, and there is no volume": (FIVE, servers(3).volumes(), False),
    "more members than servers": (THREE, replace(servers(3), members=4), True),
    "fewer members than servers": (THREE, replace(servers(3), members=2), False),
    "volumes that are kept": (KEEPS, ALONE_OF_THREE.with_removal_marks(1, 2), False),
    "volumes that are to go": (DELETES, ALONE_OF_THREE.with_removal_marks(1, 2), True),
    "volumes that go": (DELETES, ALONE_OF_THREE.with_removal_marks(1, 2, terminating=True), False),
    "a removal that was begun": (THREE, servers(3).with_removal_marks(2), True),
    "a cluster that sleeps": (ONE.with_spec(hibernate=True), servers(3), False),
    "no StatefulSet": (ONE, servers(3).set_to(None), False),
}


@pytest.mark.parametrize(("cluster", "there", "is_requested"), ASKED.values(), ids=ASKED)
def test_the_leader_is_asked_when_something_hangs_on_it(
    cluster: gen.Cluster, there: Servers, is_requested: bool
) -> None:
    assert needs_quorum(cluster.read().spec, there.facts()) is is_requested


def test_every_step_of_the_way_down_is_seen_from_the_outside_alone() -> None:
    """A new process after each write goes on where the last one ended."""
    there, done = servers(3), []
    claims: tuple[PvcFacts, ...] = there.world.claims
    for _ in range(20):
        size = size_of(DELETES, there)
        done.append(summary_of(size))
        assert isinstance(size.outcome, Wait | Done)
        count, quorum = len(there.world.pods), there.quorum
        assert quorum is not None
        for effect in size.effects:
            ordinal = int(effect.target[-1])
            if effect.name == "remove-peer":
                there = there.with_raft(*(s for s in quorum.servers if s.node_id != effect.target))
                there = there.with_removal_marks(ordinal)
            else:
                left = (claim for claim in there.world.claims if claim.name != effect.target)
                there = replace(there, world=replace(there.world, claims=tuple(left)))
        if size.replicas < count:
            there = there.set_to(gen.stateful_set().with_replicas(size.replicas))
            there = there.pods(*pods(size.replicas))
        if not size.effects and size.replicas == count:
            break
    assert done == [
        "3 Scaling [remove-peer x-2]",
        "2 Scaling",
        "2 Scaling [remove-peer x-1]",
        "1 Scaling",
        "1 [delete-claim data-x-1] [delete-claim data-x-2]",
        "1",
    ]
    assert len(claims) == 3


# --- bugs of other operators (docs/known-bugs-not-ours.md) ---


def test_b02_a_leader_is_never_removed() -> None:
    assert summary_of(size_of(ONE, servers(3, leading=2))) == "3 Scaling [step-down x-2]"


def test_b03_five_servers_never_become_fewer_than_four_in_one_write() -> None:
    """Whatever raft says, and however far somebody else has come."""
    for left in range(1, 6):
        assert size_of(ONE, servers(5).with_raft(*raft(*pod_names(left)))).replicas >= 4


def test_b03_the_next_one_waits_until_the_last_is_gone() -> None:
    size = size_of(ONE, servers(4).pods(*pods(5)))
    assert (size.replicas, size.effects) == (4, ())


@pytest.mark.parametrize("mark", [True, False], ids=["removed by us", "removed by somebody"])
def test_b04_a_server_that_is_no_member_never_starts_with_its_old_data(mark: bool) -> None:
    left = servers(3).volumes(*range(5)).with_removal_marks(*((3, 4) if mark else ()))
    size = size_of(FIVE, left)
    assert size.replicas == 3
    assert [effect.target for effect in size.effects] == (["data-x-3"] if mark else [])


def test_b04_the_volume_of_a_member_is_never_spent() -> None:
    there = servers_after_stop(1, raft_of=2, volumes=2).with_removal_marks(1)
    claim = there.world.claims[1]
    meant = gen.resolved(ONE, there.world)
    assert not is_disposable(meant, there.facts(), claim, "x-1")
    assert is_disposable(meant, servers(1).facts(), claim, "x-1")
