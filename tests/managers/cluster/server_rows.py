"""Rows of test_conditions about servers: seal, leader, raft membership."""

from typing import Any

from tests import gen
from tests.managers.cluster.passes import Row

NEW = gen.cluster()
OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
LEADER, SECOND, THIRD = FINE.pods


def pods(*states: gen.Pod) -> gen.World:
    return FINE.with_pods(*states)


def raft(voters: int, non_voters: int = 0, **more: Any) -> gen.Cluster:
    members = {"voters": voters, "nonVoters": non_voters, "leader": "x-0", "clusterID": "id"}
    return OLD.with_status(adminOps={"raft": members, **more})


def trouble(reason: str) -> dict[str, str]:
    return {"reason": reason, "message": "as adminops says"}


SERVER_ROWS = {
    "nothing to unseal": Row(NEW, gen.world(), "OpenBaoSealed=Unknown NotInitialized"),
    "one says it is sealed": Row(
        OLD,
        pods(LEADER, SECOND.with_server_labels(sealed="true"), THIRD),
        "OpenBaoSealed=True Sealed",
    ),
    "one says nothing": Row(OLD, pods(LEADER, gen.pod(1)), "OpenBaoSealed=Unknown Unknown"),
    "all say they are not sealed": Row(OLD, FINE, "OpenBaoSealed=False Unsealed"),
    "no server runs": Row(OLD, pods(), "OpenBaoSealed=Unknown Unknown"),
    "what is going away is not asked": Row(
        OLD,
        pods(LEADER, SECOND, THIRD.with_server_labels(sealed="true").terminating()),
        "OpenBaoSealed=False Unsealed",
    ),
    "one leads": Row(OLD, FINE, "OpenBaoLeader=True LeaderFound"),
    "none leads": Row(OLD, pods(SECOND, THIRD), "OpenBaoLeader=Unknown LeaderUnknown"),
    "none leads yet": Row(NEW, gen.world(), "OpenBaoLeader=False NotInitialized"),
    "who leads in its first boot is told when that is done": Row(
        NEW, gen.world().with_pods(LEADER.unready()), "OpenBaoLeader=False NotInitialized"
    ),
    "several lead": Row(
        OLD, pods(LEADER, SECOND.ready(leading=True)), "OpenBaoLeader=False MultipleLeaders"
    ),
    "no members yet": Row(NEW, gen.world(), "RaftMembershipReady=Unknown NotInitialized"),
    "the members were never read": Row(OLD, FINE, "RaftMembershipReady=Unknown MembershipUnknown"),
    "all are voters": Row(raft(3), FINE, "RaftMembershipReady=True AllVoters"),
    "a voter is missing": Row(raft(2, 1), FINE, "RaftMembershipReady=False VotersMissing"),
    "one voter too many": Row(raft(4), FINE, "RaftMembershipReady=False MembersUnexpected"),
    "members of two clusters": Row(
        raft(3, lastError=trouble("SplitBrain")), FINE, "RaftMembershipReady=False SplitBrain"
    ),
}
