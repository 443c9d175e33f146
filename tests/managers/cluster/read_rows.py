"""Rows of test_conditions about read replicas."""

from typing import Any

from runtime.outcome import Blocked, Wait
from tests import gen
from tests.managers.cluster.passes import Row

NEW = gen.cluster(readReplicas={"replicas": 2})
OLD = NEW.initialized()
NEWER = OLD.with_spec(version="2.5.5")
BOTH = tuple(gen.read_pod(n).ready() for n in range(2))
FINE = gen.running(gen.cluster().initialized())


def readers(*pods: gen.Pod) -> gen.World:
    return FINE.with_readers(gen.read_set(), *pods)


def raft(voters: int, others: int, readers: int | None) -> gen.Cluster:
    members: dict[str, Any] = {"voters": voters, "nonVoters": others, "leader": "x-0"}
    if readers is not None:
        members["readReplicas"] = readers
    return OLD.with_status(adminOps={"raft": members})


READ_ROWS = {
    "read replicas wait for data": Row(NEW, gen.world(), "ReadReplicasReady=False NotInitialized"),
    "both read replicas are ready": Row(
        OLD, readers(*BOTH), "ReadReplicasReady=True AllReadReplicasReady"
    ),
    "one read replica is ready": Row(
        OLD, readers(BOTH[0], gen.read_pod(1)), "ReadReplicasReady=False ReadReplicasNotReady"
    ),
    "no read replica is ready": Row(
        OLD, readers(gen.read_pod(0)), "ReadReplicasReady=False NoReadyReadReplicas"
    ),
    "one read replica more than asked for": Row(
        OLD, readers(*BOTH, gen.read_pod(2).ready()), "ReadReplicasReady=False ReadReplicasNotReady"
    ),
    "read replicas sleep": Row(
        OLD.with_spec(hibernate=True), readers(), "ReadReplicasReady=False Hibernated"
    ),
    "this version forwards reads": Row(
        OLD, readers(*BOTH), "ReadServingAvailable=False StandbyReadsNotServed"
    ),
    "a newer version answers them": Row(
        NEWER, readers(*BOTH), "ReadServingAvailable=True ReadServingAvailable"
    ),
    "a newer version without a ready read replica": Row(
        NEWER, readers(gen.read_pod(0)), "ReadServingAvailable=False PodsNotServingReads"
    ),
    "read replicas are members without a vote": Row(
        raft(3, 2, 2), readers(*BOTH), "RaftMembershipReady=True AllVoters"
    ),
    "a read replica has not joined": Row(
        raft(3, 1, 1), readers(*BOTH), "RaftMembershipReady=False ReadReplicasMissing"
    ),
    "somebody promoted a read replica": Row(
        raft(4, 1, 1), readers(*BOTH), "RaftMembershipReady=False MembersUnexpected"
    ),
    "a member without a vote that nobody asked for": Row(
        raft(3, 3, 2), readers(*BOTH), "RaftMembershipReady=False MembersUnexpected"
    ),
    "a voter is missing beside read replicas": Row(
        raft(2, 2, 2), readers(*BOTH), "RaftMembershipReady=False VotersMissing"
    ),
    "a sealed read replica is a sealed server": Row(
        OLD,
        readers(BOTH[0], BOTH[1].with_server_labels(sealed="true")),
        "OpenBaoSealed=True Sealed",
    ),
    "read replicas that leave are progress": Row(
        OLD,
        readers(*BOTH),
        "Reconciling=True ReadReplicasLeaving",
        Wait("ReadReplicasLeaving", "one leaves"),
    ),
    "read replicas that are not ready are progress": Row(
        OLD,
        readers(*BOTH),
        "Reconciling=True ReadReplicasNotReady",
        Wait("ReadReplicasNotReady", "1 of 2"),
    ),
    "a read replica with a vote waits for a person": Row(
        OLD,
        readers(*BOTH),
        "Stalled=True ReadReplicaVotes",
        Blocked("ReadReplicaVotes", "it votes"),
    ),
    "a removal that is refused waits for a person": Row(
        OLD,
        readers(*BOTH),
        "Stalled=True ReadReplicaRemovalRefused",
        Blocked("ReadReplicaRemovalRefused", "no right"),
    ),
}
