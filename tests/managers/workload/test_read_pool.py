"""managers.workload.read_pool and read_size: servers without a vote, from the first to the last."""

from typing import NamedTuple

import pytest

from contracts.records.effects import RemovePeer
from contracts.records.observed import Quorum
from managers.workload.read_pool import ReadPlan
from managers.workload.scale.read_replicas import needs_members
from runtime.builtin_kinds import STATEFUL_SET
from tests import gen
from tests.managers.workload.plans import OLD
from tests.managers.workload.read_worlds import (
    ONE,
    TWO,
    effect_names,
    knowing,
    plan_read_pool,
    reader,
    reason_of,
    serving,
)

NEW = gen.cluster(readReplicas={"replicas": 2})
NONE = OLD
DROPS = ONE.with_spec(deletionPolicy="DeletePVCs")
READERS = ("x-read-0", "x-read-1")


def size_of(plan: ReadPlan) -> str:
    """The replicas of the StatefulSet; "none" when no StatefulSet is wanted."""
    intents = [intent for intent in plan.plan.intents if intent.resource == STATEFUL_SET]
    return str(intents[0].body["spec"]["replicas"]) if intents else "none"


LEADERLESS = (gen.pod(n).ready() for n in range(3))
AGAIN = serving(1, size=1).with_read_claims(1, removed=True)


class Row(NamedTuple):
    cluster: gen.Cluster
    world: gen.World
    expected: str
    """The replicas, the reason, the effects."""


ROWS = {
    "none are asked for": Row(NONE, gen.world(), "none"),
    "before there is data to join": Row(NEW, gen.world(), "none"),
    "all come at once": Row(TWO, serving(0).with_readers(None), "2 ReadReplicasNotReady"),
    "nobody leads: none come": Row(
        TWO, serving(0).with_readers(None).with_pods(*LEADERLESS), "none LeaderUnknown"
    ),
    "all are there": Row(TWO, serving(), "2"),
    "one is not ready": Row(TWO, serving(1, size=2), "2 ReadReplicasNotReady"),
    "the set alone was deleted": Row(TWO, serving().with_readers(None, reader(0), reader(1)), "2"),
    "one is too many: it leaves raft first": Row(
        ONE,
        serving().with_quorum(knowing(*READERS)),
        "2 ReadReplicasLeaving [remove-peer x-read-1]",
    ),
    "it left, and that is not noted on its volume yet": Row(
        ONE,
        serving().with_quorum(knowing("x-read-0")),
        "2 ReadReplicasLeaving [remove-peer x-read-1]",
    ),
    "without a login it stops, and stays a member": Row(ONE, serving(), "1 ReadReplicasLeaving"),
    "the leader does not answer: it stays": Row(
        ONE, serving().with_quorum(Quorum(error="no answer")), "2 LeaderUnknown"
    ),
    "somebody promoted it: it stays": Row(
        ONE, serving().with_quorum(knowing(*READERS, voting=("x-read-1",))), "2 ReadReplicaVotes"
    ),
    "the removal was refused": Row(
        ONE,
        serving()
        .with_quorum(knowing(*READERS))
        .with_attempt(RemovePeer.name, "uid-x", refused="no right"),
        "2 ReadReplicaRemovalRefused",
    ),
    "the voters' set is made anew: it stays": Row(ONE, serving().with_set(None), "2 LeaderUnknown"),
    "the last one is gone: the StatefulSet goes": Row(
        NONE, serving(0), "none ReadReplicasLeaving [delete-read-set x-read]"
    ),
    "the last one is gone, and its volume goes before the StatefulSet": Row(
        NONE.with_spec(deletionPolicy="DeletePVCs"),
        serving(0).with_read_claims(0, removed=True).with_quorum(knowing()),
        "0 ReadReplicasLeaving [delete-claim data-x-read-0]",
    ),
    "the last one is gone, and nobody can be asked for its volume now": Row(
        NONE.with_spec(deletionPolicy="DeletePVCs"),
        serving(0).with_read_claims(0, removed=True).with_quorum(Quorum(error="no answer")),
        "0 LeaderUnknown",
    ),
    "the last one is gone, and its volume is kept": Row(
        NONE,
        serving(0).with_read_claims(0, removed=True).with_quorum(knowing()),
        "none ReadReplicasLeaving [delete-read-set x-read]",
    ),
    "the last one still ends: the StatefulSet stays": Row(NONE, serving(1, size=0), "0"),
    "the cluster sleeps: nobody leaves raft": Row(
        TWO.with_spec(hibernate=True), serving().with_quorum(knowing(*READERS)), "0"
    ),
    "it sleeps and none are wanted: it stays": Row(NONE.with_spec(hibernate=True), serving(0), "0"),
    "the volume of one that left stands in the way: it goes first": Row(
        TWO,
        AGAIN.with_quorum(knowing("x-read-0")),
        "1 ReadReplicasLeaving [delete-claim data-x-read-1]",
    ),
    "it stands in the way and its server is a member still": Row(
        TWO, AGAIN.with_quorum(knowing(*READERS)), "1 ReadReplicasLeaving [remove-peer x-read-1]"
    ),
    "a volume of nobody knows whom stands in the way": Row(
        TWO,
        serving(1, size=1).with_read_claims(1).with_quorum(knowing("x-read-0")),
        "1 StaleVolume",
    ),
    "a volume of a member brings it back": Row(
        TWO,
        serving(1, size=1).with_read_claims(1).with_quorum(knowing(*READERS)),
        "2 ReadReplicasNotReady",
    ),
    "a volume that is deleted is waited for": Row(
        TWO,
        serving(1, size=1).with_read_claims(1, gone=True).with_quorum(knowing("x-read-0")),
        "1 ReadReplicasLeaving",
    ),
    "without a login a volume that was given up is stale": Row(TWO, AGAIN, "1 StaleVolume"),
    "by the policy the volume of one that left goes": Row(
        DROPS,
        AGAIN.with_quorum(knowing("x-read-0")),
        "1 ReadReplicasLeaving [delete-claim data-x-read-1]",
    ),
    "by the policy it would go, and a pod is fenced": Row(
        DROPS.with_spec(fencedPods=["x-2"]), AGAIN.with_quorum(knowing("x-read-0")), "1"
    ),
    "by the policy it stays": Row(ONE, AGAIN.with_quorum(knowing("x-read-0")), "1"),
    "somebody else's volume stays": Row(
        DROPS,
        serving(1, size=1)
        .with_read_claims(1, owner="another", removed=True)
        .with_quorum(knowing("x-read-0")),
        "1",
    ),
    "one that slept when it was given up leaves raft": Row(
        ONE,
        serving(1, size=1).with_read_claims(1).with_quorum(knowing(*READERS)),
        "1 ReadReplicasLeaving [remove-peer x-read-1]",
    ),
    "fenced pods: nobody leaves": Row(
        ONE.with_spec(fencedPods=["x-2"]), serving().with_quorum(knowing(*READERS)), "2 PodsFenced"
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_row(row: Row) -> None:
    plan = plan_read_pool(row.cluster, row.world)
    effects = [f"[{name} {target}]" for name, target in effect_names(plan)]
    words = (size_of(plan), reason_of(plan), *effects)
    assert " ".join(filter(None, words)) == row.expected


ASKED: dict[str, tuple[gen.Cluster, gen.World, bool]] = {
    "as many as asked for": (TWO, serving(), False),
    "fewer are asked for": (ONE, serving(), True),
    "more are asked for, and no volume is in the way": (TWO, serving(0), False),
    "more are asked for, and there are volumes": (TWO, serving(1, size=1), True),
    "a volume of one that left, to be kept": (ONE, AGAIN, False),
    "a volume of one that left, to go": (DROPS, AGAIN, True),
    "a volume whose server may be a member": (ONE, serving(1, size=1).with_read_claims(1), True),
    "only a volume is left": (NONE, serving(0).with_readers(None).with_read_claims(0), False),
    "a cluster that sleeps": (ONE.with_spec(hibernate=True), serving(), False),
}


@pytest.mark.parametrize("row", ASKED.values(), ids=ASKED)
def test_the_leader_is_asked_only_when_it_matters(row: tuple[gen.Cluster, gen.World, bool]) -> None:
    cluster, world, expected = row
    assert needs_members(cluster.read().spec, world.facts()) is expected
