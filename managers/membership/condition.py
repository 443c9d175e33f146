"""What RaftMembershipReady says. Pure; called by `managers.cluster.conditions`."""

from __future__ import annotations

from contracts.api.cluster import ClusterSpec
from contracts.api.cluster_status import RaftStatus
from contracts.api.status_parts import LastError
from contracts.conditions import Finding
from managers.membership.plan import OUTSIDE, is_as_wanted

KIND = "RaftMembershipReady"


def membership_ready(
    spec: ClusterSpec, raft: RaftStatus | None, trouble: LastError | None
) -> Finding:
    """Judge the members: as many voters as replicas, the read replicas without a vote, no others.

    `raft` is what the leader said last, None when it never did; `trouble` why not.
    """
    readers = spec.servers - spec.replicas
    if raft is None:
        message = trouble.message if trouble else "The members were not read yet"
        return Finding(KIND, "Unknown", "MembershipUnknown", message)
    if trouble is not None and trouble.reason == OUTSIDE:
        return Finding(KIND, "False", OUTSIDE, trouble.message)
    joined = raft.read_replicas or 0
    told = f"{raft.voters} of {spec.replicas} servers are voters"
    if readers or joined:
        told += f", {joined} of {readers} read replicas are members without a vote"
    if is_as_wanted(raft, spec.replicas, readers):
        return Finding(KIND, "True", "AllVoters", told)
    others = raft.non_voters - joined
    if others:
        told += f", {others} are members without a vote"
    if raft.voters > spec.replicas and joined < readers:
        told += ": somebody gave a read replica a vote (`bao operator raft list-peers` names it)"
    reason = "VotersMissing" if raft.voters < spec.replicas else "MembersUnexpected"
    if raft.voters == spec.replicas and joined < readers:
        reason = "ReadReplicasMissing"
    return Finding(KIND, "False", reason, told)


def even_replicas(replicas: int) -> str:
    """Advise against an even number of voters; "" when there is nothing to say."""
    if replicas % 2:
        return ""
    return (
        f"spec.replicas is {replicas}: {replicas} voters survive the loss of "
        f"{replicas // 2 - 1}, as {replicas - 1} do. Set it to {replicas - 1} or {replicas + 1}"
    )
