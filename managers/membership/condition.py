"""The condition RaftMembershipReady. Pure; called by `managers.cluster.status.conditions`."""

from __future__ import annotations

from contracts.api.cluster.spec import ClusterSpec
from contracts.api.cluster.status import RaftStatus
from contracts.api.cluster.status_errors import LastError
from contracts.conditions.condition import ConditionUpdate
from managers.membership.decide import OUTSIDE, UNUSABLE, matches_spec, voters_message

KIND = "RaftMembershipReady"


def membership_ready(
    spec: ClusterSpec, raft: RaftStatus | None, error: LastError | None, *, green_servers: int = 0
) -> ConditionUpdate:
    """Check the members: as many voters as replicas, the read replicas as non-voters, no others.

    `raft` is the last report of the leader, None without one; `error` is why there is none.
    `green_servers`: number of green servers that may be members, too
    (managers.membership.green_members).
    """
    readers = spec.servers - spec.replicas
    if error is not None and error.reason == UNUSABLE:
        return ConditionUpdate(KIND, "Unknown", UNUSABLE, error.message)
    if raft is None:
        message = error.message if error else "The members were not read yet"
        return ConditionUpdate(KIND, "Unknown", "MembershipUnknown", message)
    if error is not None and error.reason == OUTSIDE:
        return ConditionUpdate(KIND, "False", OUTSIDE, error.message)
    if green_servers:
        return _during_upgrade(spec, raft, green_servers)
    joined_readers = raft.read_replicas or 0
    message = voters_message(raft.voters, spec.replicas)
    if readers or joined_readers:
        message += f", {joined_readers} of {readers} read replicas have joined without a vote"
    if matches_spec(raft, spec.replicas, readers):
        return ConditionUpdate(KIND, "True", "AllVoters", message)
    other_non_voters = raft.non_voters - joined_readers
    if other_non_voters:
        message += f"; members without a vote: {other_non_voters}"
    if raft.voters > spec.replicas and joined_readers < readers:
        message += ": a user promoted a read replica (`bao operator raft list-peers` names it)"
    reason = "VotersMissing" if raft.voters < spec.replicas else "MembersUnexpected"
    if raft.voters == spec.replicas and joined_readers < readers:
        reason = "ReadReplicasMissing"
    return ConditionUpdate(KIND, "False", reason, message)


def _during_upgrade(spec: ClusterSpec, raft: RaftStatus, green_servers: int) -> ConditionUpdate:
    """Check the members during a blue/green upgrade: the voters change step by step."""
    readers, joined_readers = spec.servers - spec.replicas, raft.read_replicas or 0
    non_voters = raft.non_voters - joined_readers
    message = (
        f"The green pool has {green_servers} servers: {raft.voters} voters, of which "
        f"{spec.replicas} are needed, and {non_voters} members that have no vote"
    )
    if readers or joined_readers:
        message += f"; {joined_readers} of {readers} read replicas have joined without a vote"
    if raft.voters < spec.replicas:
        return ConditionUpdate(KIND, "False", "VotersMissing", message)
    if raft.voters + non_voters > spec.replicas + green_servers or joined_readers > readers:
        return ConditionUpdate(KIND, "False", "MembersUnexpected", message)
    if joined_readers < readers:
        return ConditionUpdate(KIND, "False", "ReadReplicasMissing", message)
    return ConditionUpdate(KIND, "True", "UpgradeInProgress", message)


def even_replicas(replicas: int) -> str:
    """Advise against an even number of voters; "" for an odd number."""
    if replicas % 2:
        return ""
    return (
        f"spec.replicas is {replicas}: {replicas} voters survive the loss of "
        f"{replicas // 2 - 1}, as {replicas - 1} do. Set it to {replicas - 1} or {replicas + 1}"
    )
