"""What is told of the servers: sealed, leading, members of raft. Rows of test_conditions."""

from typing import Any

from runtime.outcome import Done, Outcome
from tests import gen

NEW = gen.cluster()
OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
LEADER, SECOND, THIRD = FINE.pods


def pods(*states: gen.Pod) -> gen.World:
    return FINE.with_pods(*states)


def raft(voters: int, non_voters: int = 0, **more: Any) -> gen.Cluster:
    members = {"voters": voters, "nonVoters": non_voters, "leader": "x-0", "clusterID": "id"}
    return OLD.having(adminOps={"raft": members, **more})


def trouble(reason: str) -> dict[str, str]:
    return {"reason": reason, "message": "as adminops says"}


# sentence: (cluster, world, outcome of the pass, condition, "status reason")
SERVER_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "nothing to unseal": (NEW, gen.world(), Done(), "OpenBaoSealed", "Unknown NotInitialized"),
    "one says it is sealed": (
        OLD,
        pods(LEADER, SECOND.saying(sealed="true"), THIRD),
        Done(),
        "OpenBaoSealed",
        "True Sealed",
    ),
    "one says nothing": (OLD, pods(LEADER, gen.pod(1)), Done(), "OpenBaoSealed", "Unknown Unknown"),
    "all say they are not sealed": (OLD, FINE, Done(), "OpenBaoSealed", "False Unsealed"),
    "no server runs": (OLD, pods(), Done(), "OpenBaoSealed", "Unknown Unknown"),
    "what is going away is not asked": (
        OLD,
        pods(LEADER, SECOND, THIRD.saying(sealed="true").terminating()),
        Done(),
        "OpenBaoSealed",
        "False Unsealed",
    ),
    "one leads": (OLD, FINE, Done(), "OpenBaoLeader", "True LeaderFound"),
    "none leads": (OLD, pods(SECOND, THIRD), Done(), "OpenBaoLeader", "Unknown LeaderUnknown"),
    "none leads yet": (NEW, gen.world(), Done(), "OpenBaoLeader", "False NotInitialized"),
    "who leads in its first boot is told when that is done": (
        NEW,
        gen.world().with_pods(LEADER.unready()),
        Done(),
        "OpenBaoLeader",
        "False NotInitialized",
    ),
    "several lead": (
        OLD,
        pods(LEADER, SECOND.ready(leading=True)),
        Done(),
        "OpenBaoLeader",
        "False MultipleLeaders",
    ),
    "no members yet": (NEW, gen.world(), Done(), "RaftMembershipReady", "Unknown NotInitialized"),
    "the members were never read": (
        OLD,
        FINE,
        Done(),
        "RaftMembershipReady",
        "Unknown MembershipUnknown",
    ),
    "all are voters": (raft(3), FINE, Done(), "RaftMembershipReady", "True AllVoters"),
    "a voter is missing": (raft(2, 1), FINE, Done(), "RaftMembershipReady", "False VotersMissing"),
    "one voter too many": (raft(4), FINE, Done(), "RaftMembershipReady", "False MembersUnexpected"),
    "members of two clusters": (
        raft(3, lastError=trouble("SplitBrain")),
        FINE,
        Done(),
        "RaftMembershipReady",
        "False SplitBrain",
    ),
}
