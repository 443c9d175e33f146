"""What RaftMembershipReady says. Pure; called by `managers.cluster.status.conditions`."""

from __future__ import annotations

from contracts.api.cluster.spec import ClusterSpec
from contracts.api.cluster.status import RaftStatus
from contracts.api.cluster.status_errors import LastError
from contracts.conditions.condition import ConditionUpdate
from managers.membership.decide import OUTSIDE, UNUSABLE, is_as_wanted

KIND = "RaftMembershipReady"


def membership_ready(
    spec: ClusterSpec, raft: RaftStatus | None, trouble: LastError | None, *, second: int = 0
) -> ConditionUpdate:
    """Judge the members: as many voters as replicas, the read replicas without a vote, no others.

    `raft` is what the leader said last, None when it never did; `trouble` why not. `second`: so
    many servers of a second set may be members, too (managers.membership.green_members).
    """
    readers = spec.servers - spec.replicas
    if trouble is not None and trouble.reason == UNUSABLE:
        return ConditionUpdate(KIND, "Unknown", UNUSABLE, trouble.message)
    if raft is None:
        message = trouble.message if trouble else "The members were not read yet"
        return ConditionUpdate(KIND, "Unknown", "MembershipUnknown", message)
    if trouble is not None and trouble.reason == OUTSIDE:
        return ConditionUpdate(KIND, "False", OUTSIDE, trouble.message)
    if second:
        return _of_two_sets(spec, raft, second)
    joined = raft.read_replicas or 0
    told = f"{raft.voters} of {spec.replicas} servers are voters"
    if readers or joined:
        told += f", {joined} of {readers} read replicas are members without a vote"
    if is_as_wanted(raft, spec.replicas, readers):
        return ConditionUpdate(KIND, "True", "AllVoters", told)
    others = raft.non_voters - joined
    if others:
        told += f", {others} are members without a vote"
    if raft.voters > spec.replicas and joined < readers:
        told += ": somebody gave a read replica a vote (`bao operator raft list-peers` names it)"
    reason = "VotersMissing" if raft.voters < spec.replicas else "MembersUnexpected"
    if raft.voters == spec.replicas and joined < readers:
        reason = "ReadReplicasMissing"
    return ConditionUpdate(KIND, "False", reason, told)


def _of_two_sets(spec: ClusterSpec, raft: RaftStatus, second: int) -> ConditionUpdate:
    """Judge the members while one set takes over from another: who votes changes step by step."""
    readers, joined = spec.servers - spec.replicas, raft.read_replicas or 0
    without = raft.non_voters - joined
    told = (
        f"A second set of {second} servers is there: {raft.voters} voters, of which "
        f"{spec.replicas} are needed, and {without} members that have no vote"
    )
    if readers or joined:
        told += f"; {joined} of {readers} read replicas are members without a vote"
    if raft.voters < spec.replicas:
        return ConditionUpdate(KIND, "False", "VotersMissing", told)
    if raft.voters + without > spec.replicas + second or joined > readers:
        return ConditionUpdate(KIND, "False", "MembersUnexpected", told)
    if joined < readers:
        return ConditionUpdate(KIND, "False", "ReadReplicasMissing", told)
    return ConditionUpdate(KIND, "True", "UpgradeInProgress", told)


def even_replicas(replicas: int) -> str:
    """Advise against an even number of voters; "" when there is nothing to say."""
    if replicas % 2:
        return ""
    return (
        f"spec.replicas is {replicas}: {replicas} voters survive the loss of "
        f"{replicas // 2 - 1}, as {replicas - 1} do. Set it to {replicas - 1} or {replicas + 1}"
    )
