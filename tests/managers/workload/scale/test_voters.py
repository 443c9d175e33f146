"""managers.workload.scale.voters: one voter is added or removed at a time."""

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
    """Replicas, reason and effects as text."""
    reason = "" if isinstance(size.outcome, Done) else size.outcome.reason
    acts = [f"{effect.name} {effect.target}" for effect in size.effects]
    return " ".join([str(size.replicas), *filter(None, [reason]), *(f"[{act}]" for act in acts)])


@pytest.mark.parametrize(("cluster", "there", "expected"), ALL.values(), ids=ALL)
def test_row(cluster: gen.Cluster, there: Servers, expected: str) -> None:
    assert summary_of(size_of(cluster, there)) == expected


def voters(count: int, of: gen.Cluster = ONE) -> gen.Cluster:
    """A cluster whose status has that number of voters."""
    raft_status = {"voters": count, "nonVoters": 0, "leader": "x-0", "clusterID": "c"}
    return of.with_status(adminOps={"raft": raft_status})


def test_voters_without_pods_are_restored_if_no_server_leads() -> None:
    """A user scaled the StatefulSet to one at the same time: one server is no majority."""
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
    ids=["a server leads", "no volume is left", "it was removed", "the volume is another's"],
)
def test_an_outdated_voter_count_restores_no_voters(there: Servers) -> None:
    assert size_of(voters(3), there).replicas == 1


def test_a_removal_names_the_leader_and_a_volume_is_deleted_by_uid() -> None:
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
def test_a_refusal_has_the_next_step(there: Servers, words: tuple[str, ...]) -> None:
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


def test_a_stale_volume_is_named_with_the_next_step() -> None:
    outcome = gen.expect(Blocked, size_of(THREE, ALONE_OF_TWO).outcome)
    assert "kubectl delete pvc data-x-1" in outcome.message
    assert "spec.replicas to 1" in outcome.message


def test_a_missing_quorum_is_checked_again_soon() -> None:
    for there in (servers(3), servers(3).with_raft(*raft(*pod_names(3), ill=["x-1"]))):
        assert gen.expect(Wait, size_of(ONE, there).outcome).after == 1.0


@pytest.mark.parametrize("spec", [{"fencedPods": ["x-1"]}, {"maintenance": {"enabled": True}}])
def test_no_server_is_removed_during_fencing_or_maintenance(spec: dict[str, object]) -> None:
    size = size_of(THREE.with_spec(**spec), servers(5))
    assert size.replicas == 5
    assert not size.effects
    assert "spec.replicas is 3" in gen.expect(Wait, size.outcome).message


def test_the_operation_is_reported_while_servers_join() -> None:
    joining = replace(servers(3).pods(*pods(1), gen.pod(1), gen.pod(2)), members=1)
    started = replace(servers(1), members=1)
    waiting = replace(servers(3), members=3)
    for there in (started, joining, waiting):
        operation = gen.present(size_of(voters(1, of=THREE), there).operation)
        assert (operation.kind, operation.done, operation.total) == ("Scaling", 1, 3)
    assert size_of(voters(3, of=THREE), waiting).operation is None
    assert size_of(THREE, replace(joining, members=None)).operation is None


def test_a_running_server_outside_of_raft_is_not_joining() -> None:
    assert size_of(voters(2, of=THREE), replace(servers(3), members=2)).operation is None
    assert gen.present(size_of(ONE, servers(3)).operation).kind == "Scaling"


def test_a_removal_blocks_replacements() -> None:
    """No pod is replaced at the same time; but unready pods may be repaired before it."""
    assert size_of(ONE, servers(3)).alone
    assert size_of(ONE, servers(3).with_removal_marks(2).with_raft(*raft("x-0", "x-1"))).alone
    ill = servers(3).pods(gen.pod(0).ready(leading=True), gen.pod(1), gen.pod(2).ready())
    assert not size_of(ONE, ill).alone


# sentence: (spec, world, whether the quorum is read)
ASKED: dict[str, tuple[gen.Cluster, Servers, bool]] = {
    "a stable cluster": (THREE, replace(servers(3), members=3), False),
    "fewer replicas requested": (ONE, servers(3), True),
    "more replicas requested with old volumes": (FIVE, servers(3), True),
    "more replicas requested without old volumes": (FIVE, servers(3).volumes(), False),
    "more members than servers": (THREE, replace(servers(3), members=4), True),
    "fewer members than servers": (THREE, replace(servers(3), members=2), False),
    "volumes that are kept": (KEEPS, ALONE_OF_THREE.with_removal_marks(1, 2), False),
    "volumes to delete": (DELETES, ALONE_OF_THREE.with_removal_marks(1, 2), True),
    "terminating volumes": (
        DELETES,
        ALONE_OF_THREE.with_removal_marks(1, 2, terminating=True),
        False,
    ),
    "a started removal": (THREE, servers(3).with_removal_marks(2), True),
    "a hibernated cluster": (ONE.with_spec(hibernate=True), servers(3), False),
    "no StatefulSet": (ONE, servers(3).set_to(None), False),
}


@pytest.mark.parametrize(("cluster", "there", "is_requested"), ASKED.values(), ids=ASKED)
def test_when_the_quorum_is_read(cluster: gen.Cluster, there: Servers, is_requested: bool) -> None:
    assert needs_quorum(cluster.read().spec, there.facts()) is is_requested


def test_a_new_process_continues_a_scale_down() -> None:
    """A new process after each write continues from the observed state."""
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
    """For any raft configuration, and any progress of another writer."""
    for left in range(1, 6):
        assert size_of(ONE, servers(5).with_raft(*raft(*pod_names(left)))).replicas >= 4


def test_b03_the_next_removal_waits_for_the_last_one() -> None:
    size = size_of(ONE, servers(4).pods(*pods(5)))
    assert (size.replicas, size.effects) == (4, ())


@pytest.mark.parametrize("mark", [True, False], ids=["removed by us", "removed by a user"])
def test_b04_a_removed_server_never_starts_with_its_old_data(mark: bool) -> None:
    left = servers(3).volumes(*range(5)).with_removal_marks(*((3, 4) if mark else ()))
    size = size_of(FIVE, left)
    assert size.replicas == 3
    assert [effect.target for effect in size.effects] == (["data-x-3"] if mark else [])


def test_b04_the_volume_of_a_member_is_never_deleted() -> None:
    there = servers_after_stop(1, raft_of=2, volumes=2).with_removal_marks(1)
    claim = there.world.claims[1]
    meant = gen.resolved(ONE, there.world)
    assert not is_disposable(meant, there.facts(), claim, "x-1")
    assert is_disposable(meant, servers(1).facts(), claim, "x-1")
