"""What is told of the read replicas. Rows of test_conditions."""

from typing import Any

from runtime.outcome import Blocked, Done, Outcome, Wait
from tests import gen

NEW = gen.cluster(readReplicas={"replicas": 2})
OLD = NEW.initialized()
NEWER = OLD.wanting(version="2.5.5")
BOTH = tuple(gen.read_pod(n).ready() for n in range(2))
FINE = gen.running(gen.cluster().initialized())


def readers(*pods: gen.Pod) -> gen.World:
    return FINE.with_readers(gen.read_set(), *pods)


def raft(voters: int, others: int, readers: int | None) -> gen.Cluster:
    members: dict[str, Any] = {"voters": voters, "nonVoters": others, "leader": "x-0"}
    if readers is not None:
        members["readReplicas"] = readers
    return OLD.having(adminOps={"raft": members})


# sentence: (cluster, world, outcome of the pass, condition, "status reason")
READ_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "read replicas wait for data": (
        NEW,
        gen.world(),
        Done(),
        "ReadReplicasReady",
        "False NotInitialized",
    ),
    "both read replicas are ready": (
        OLD,
        readers(*BOTH),
        Done(),
        "ReadReplicasReady",
        "True AllReadReplicasReady",
    ),
    "one read replica is ready": (
        OLD,
        readers(BOTH[0], gen.read_pod(1)),
        Done(),
        "ReadReplicasReady",
        "False ReadReplicasNotReady",
    ),
    "no read replica is ready": (
        OLD,
        readers(gen.read_pod(0)),
        Done(),
        "ReadReplicasReady",
        "False NoReadyReadReplicas",
    ),
    "one read replica more than asked for": (
        OLD,
        readers(*BOTH, gen.read_pod(2).ready()),
        Done(),
        "ReadReplicasReady",
        "False ReadReplicasNotReady",
    ),
    "read replicas sleep": (
        OLD.wanting(hibernate=True),
        readers(),
        Done(),
        "ReadReplicasReady",
        "False Hibernated",
    ),
    "this version forwards reads": (
        OLD,
        readers(*BOTH),
        Done(),
        "ReadServingAvailable",
        "False StandbyReadsNotServed",
    ),
    "a newer version answers them": (
        NEWER,
        readers(*BOTH),
        Done(),
        "ReadServingAvailable",
        "True ReadServingAvailable",
    ),
    "a newer version without a ready read replica": (
        NEWER,
        readers(gen.read_pod(0)),
        Done(),
        "ReadServingAvailable",
        "False PodsNotServingReads",
    ),
    "read replicas are members without a vote": (
        raft(3, 2, 2),
        readers(*BOTH),
        Done(),
        "RaftMembershipReady",
        "True AllVoters",
    ),
    "a read replica has not joined": (
        raft(3, 1, 1),
        readers(*BOTH),
        Done(),
        "RaftMembershipReady",
        "False ReadReplicasMissing",
    ),
    "somebody promoted a read replica": (
        raft(4, 1, 1),
        readers(*BOTH),
        Done(),
        "RaftMembershipReady",
        "False MembersUnexpected",
    ),
    "a member without a vote that nobody asked for": (
        raft(3, 3, 2),
        readers(*BOTH),
        Done(),
        "RaftMembershipReady",
        "False MembersUnexpected",
    ),
    "a voter is missing beside read replicas": (
        raft(2, 2, 2),
        readers(*BOTH),
        Done(),
        "RaftMembershipReady",
        "False VotersMissing",
    ),
    "a sealed read replica is a sealed server": (
        OLD,
        readers(BOTH[0], BOTH[1].saying(sealed="true")),
        Done(),
        "OpenBaoSealed",
        "True Sealed",
    ),
    "read replicas that leave are progress": (
        OLD,
        readers(*BOTH),
        Wait("ReadReplicasLeaving", "one leaves"),
        "Reconciling",
        "True ReadReplicasLeaving",
    ),
    "read replicas that are not ready are progress": (
        OLD,
        readers(*BOTH),
        Wait("ReadReplicasNotReady", "1 of 2"),
        "Reconciling",
        "True ReadReplicasNotReady",
    ),
    "a read replica with a vote waits for a person": (
        OLD,
        readers(*BOTH),
        Blocked("ReadReplicaVotes", "it votes"),
        "Stalled",
        "True ReadReplicaVotes",
    ),
    "a removal that is refused waits for a person": (
        OLD,
        readers(*BOTH),
        Blocked("ReadReplicaRemovalRefused", "no right"),
        "Stalled",
        "True ReadReplicaRemovalRefused",
    ),
}
