"""managers.workload.read_pool and read_size: the number of read replicas."""

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
    """The replicas of the StatefulSet; "none" without a StatefulSet."""
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
    "no read replicas requested": Row(NONE, gen.world(), "none"),
    "before the first boot": Row(NEW, gen.world(), "none"),
    "all start at once": Row(TWO, serving(0).with_readers(None), "2 ReadReplicasNotReady"),
    "without a leader none start": Row(
        TWO, serving(0).with_readers(None).with_pods(*LEADERLESS), "none LeaderUnknown"
    ),
    "all are ready": Row(TWO, serving(), "2"),
    "one is not ready": Row(TWO, serving(1, size=2), "2 ReadReplicasNotReady"),
    "the StatefulSet was deleted and its pods remain": Row(
        TWO, serving().with_readers(None, reader(0), reader(1)), "2"
    ),
    "a surplus replica leaves raft first": Row(
        ONE,
        serving().with_quorum(knowing(*READERS)),
        "2 ReadReplicasLeaving [remove-peer x-read-1]",
    ),
    "a removed replica without a mark on its volume": Row(
        ONE,
        serving().with_quorum(knowing("x-read-0")),
        "2 ReadReplicasLeaving [remove-peer x-read-1]",
    ),
    "without a login a surplus replica stops and stays a member": Row(
        ONE, serving(), "1 ReadReplicasLeaving"
    ),
    "without a response a surplus replica stays": Row(
        ONE, serving().with_quorum(Quorum(error="no answer")), "2 LeaderUnknown"
    ),
    "a promoted surplus replica stays": Row(
        ONE, serving().with_quorum(knowing(*READERS, voting=("x-read-1",))), "2 ReadReplicaVotes"
    ),
    "the removal was refused": Row(
        ONE,
        serving()
        .with_quorum(knowing(*READERS))
        .with_attempt(RemovePeer.name, "uid-x", refused="no right"),
        "2 ReadReplicaRemovalRefused",
    ),
    "while the StatefulSet of the voters is recreated a surplus replica stays": Row(
        ONE, serving().with_set(None), "2 LeaderUnknown"
    ),
    "the StatefulSet is deleted after the last replica": Row(
        NONE, serving(0), "none ReadReplicasLeaving [delete-read-set x-read]"
    ),
    "the last volume is deleted before the StatefulSet": Row(
        NONE.with_spec(deletionPolicy="DeletePVCs"),
        serving(0).with_read_claims(0, removed=True).with_quorum(knowing()),
        "0 ReadReplicasLeaving [delete-claim data-x-read-0]",
    ),
    "without a response the last volume is kept": Row(
        NONE.with_spec(deletionPolicy="DeletePVCs"),
        serving(0).with_read_claims(0, removed=True).with_quorum(Quorum(error="no answer")),
        "0 LeaderUnknown",
    ),
    "by policy the last volume is kept": Row(
        NONE,
        serving(0).with_read_claims(0, removed=True).with_quorum(knowing()),
        "none ReadReplicasLeaving [delete-read-set x-read]",
    ),
    "the StatefulSet stays while the last replica terminates": Row(NONE, serving(1, size=0), "0"),
    "during hibernation no replica leaves raft": Row(
        TWO.with_spec(hibernate=True), serving().with_quorum(knowing(*READERS)), "0"
    ),
    "during hibernation an empty StatefulSet stays": Row(
        NONE.with_spec(hibernate=True), serving(0), "0"
    ),
    "the volume of a removed replica is deleted first": Row(
        TWO,
        AGAIN.with_quorum(knowing("x-read-0")),
        "1 ReadReplicasLeaving [delete-claim data-x-read-1]",
    ),
    "a marked member is removed before its volume": Row(
        TWO, AGAIN.with_quorum(knowing(*READERS)), "1 ReadReplicasLeaving [remove-peer x-read-1]"
    ),
    "an unmarked volume of no member is stale": Row(
        TWO,
        serving(1, size=1).with_read_claims(1).with_quorum(knowing("x-read-0")),
        "1 StaleVolume",
    ),
    "a member restarts with its volume": Row(
        TWO,
        serving(1, size=1).with_read_claims(1).with_quorum(knowing(*READERS)),
        "2 ReadReplicasNotReady",
    ),
    "a terminating volume is waited for": Row(
        TWO,
        serving(1, size=1).with_read_claims(1, gone=True).with_quorum(knowing("x-read-0")),
        "1 ReadReplicasLeaving",
    ),
    "without a login a marked volume is stale": Row(TWO, AGAIN, "1 StaleVolume"),
    "by policy the volume of a removed replica is deleted": Row(
        DROPS,
        AGAIN.with_quorum(knowing("x-read-0")),
        "1 ReadReplicasLeaving [delete-claim data-x-read-1]",
    ),
    "while a pod is fenced no volume is deleted": Row(
        DROPS.with_spec(fencedPods=["x-2"]), AGAIN.with_quorum(knowing("x-read-0")), "1"
    ),
    "by policy the volume of a removed replica is kept": Row(
        ONE, AGAIN.with_quorum(knowing("x-read-0")), "1"
    ),
    "a foreign volume stays": Row(
        DROPS,
        serving(1, size=1)
        .with_read_claims(1, owner="another", removed=True)
        .with_quorum(knowing("x-read-0")),
        "1",
    ),
    "a stopped surplus member leaves raft": Row(
        ONE,
        serving(1, size=1).with_read_claims(1).with_quorum(knowing(*READERS)),
        "1 ReadReplicasLeaving [remove-peer x-read-1]",
    ),
    "while a pod is fenced no replica leaves": Row(
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
    "the requested number": (TWO, serving(), False),
    "fewer are requested": (ONE, serving(), True),
    "more are requested without old volumes": (TWO, serving(0), False),
    "more are requested with old volumes": (TWO, serving(1, size=1), True),
    "a volume of a removed replica with policy retain": (ONE, AGAIN, False),
    "a volume of a removed replica with policy delete": (DROPS, AGAIN, True),
    "a volume of a possible member": (ONE, serving(1, size=1).with_read_claims(1), True),
    "only a volume is left": (NONE, serving(0).with_readers(None).with_read_claims(0), False),
    "a hibernated cluster": (ONE.with_spec(hibernate=True), serving(), False),
}


@pytest.mark.parametrize("row", ASKED.values(), ids=ASKED)
def test_when_the_members_are_read(row: tuple[gen.Cluster, gen.World, bool]) -> None:
    cluster, world, expected = row
    assert needs_members(cluster.read().spec, world.facts()) is expected
