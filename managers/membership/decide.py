"""Computes `status.adminOps` from the answers of the servers. Pure.

Called by managers.cluster.adminops.reconcile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contracts.api.cluster.status import AdminOpsStatus, RaftStatus
from contracts.api.cluster.status_errors import LastError
from contracts.conditions.message import clean_message
from contracts.naming import names
from contracts.pools.voter_pool import ServerPool
from managers.bao.models import Member
from runtime.outcome import Done, Outcome, Wait

# Autopilot takes some ten seconds to promote a new server, and emits no event.
CONVERGING_RECHECK = 2.0
OUTSIDE = "ServerOutsideRaft"
UNUSABLE = "AnswerUnusable"
QUIET_RECHECK = 60.0


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of the servers in one check."""

    cluster_ids: Mapping[str, str]
    """Pod name to the cluster id that the server in it reports."""
    members: tuple[Member, ...] | None
    """None when no server could be queried."""
    error: str
    """Why the members are not known, for a user; "" when they are."""
    healthy: frozenset[str] = frozenset()
    """Node ids that are healthy for the autopilot; only read with read replicas."""
    unusable: str = ""
    """An answer that is not valid for OpenBao, and why; "" when all were valid."""


@dataclass(frozen=True, slots=True)
class ExpectedMembers:
    """The members of the raft cluster that a spec requests."""

    cluster: str
    voters: int
    read_replicas: int = 0
    revision: str = ""
    """Revision of the serving pool; "" for the one without a revision."""
    green_servers: int = 0
    """Number of green servers that may be members, too (managers.membership.green_members)."""

    @property
    def voter_pool(self) -> ServerPool:
        """The names of the voters."""
        return ServerPool(self.cluster, self.revision)


def evaluate_members(
    answers: Answers, expected: ExpectedMembers, previous: AdminOpsStatus | None, now: datetime
) -> tuple[AdminOpsStatus, Outcome]:
    """Turn answers into `status.adminOps`, and return the time of the next check."""
    raft = _raft(answers, expected, previous)
    split = _split(answers.cluster_ids)
    error: tuple[str, str] | None = None
    if split is not None:
        error = ("SplitBrain", split)
    elif answers.unusable:
        error = (UNUSABLE, _explain_unusable(answers.unusable))
    elif answers.error:
        error = ("MembershipUnknown", answers.error)
    elif outside := _outside(answers, expected):
        error = (OUTSIDE, _how_to_join(outside))
    status = AdminOpsStatus(last_error=_last_error(error, previous, now), raft=raft)
    changing = _voters_joining(answers, expected) or _voters_leaving(answers, expected)
    return status, _next_check(raft, expected, error, changing=changing)


def _raft(
    answers: Answers, expected: ExpectedMembers, previous: AdminOpsStatus | None
) -> RaftStatus | None:
    if answers.members is None:
        # Keep the last known state while no server can be queried; `lastError` reports it.
        return previous.raft if previous else None
    leaders = [member.node_id for member in answers.members if member.leader]
    readers = [member.node_id for member in answers.members if _reads(member, expected.cluster)]
    counted = bool(readers or expected.read_replicas)
    ids = sorted(set(filter(None, answers.cluster_ids.values())))
    return RaftStatus(
        voters=sum(member.voter for member in answers.members),
        non_voters=sum(not member.voter for member in answers.members),
        read_replicas=len(readers) if counted else None,
        healthy_read_replicas=len(answers.healthy.intersection(readers)) if counted else None,
        leader=leaders[0] if leaders else "",
        cluster_id=ids[0] if len(ids) == 1 else "",
    )


def _reads(member: Member, cluster: str) -> bool:
    """Distinguish a read replica from a new voter, which has no vote for its first seconds."""
    return not member.voter and names.read_ordinal_of(cluster, member.node_id) is not None


def matches_spec(raft: RaftStatus, voters: int, read_replicas: int) -> bool:
    """Report whether all voters vote, all read replicas are non-voters, and there are no others.

    Used for the next check and for the condition.
    """
    return (raft.voters, raft.non_voters, raft.read_replicas or 0) == (
        voters,
        read_replicas,
        read_replicas,
    )


def _is_expected(server: str, expected: ExpectedMembers) -> bool:
    voter = expected.voter_pool.ordinal_of(server)
    reader = names.read_ordinal_of(expected.cluster, server)
    if voter is not None:
        return voter < expected.voters
    return reader is not None and reader < expected.read_replicas


def _outside(answers: Answers, expected: ExpectedMembers) -> tuple[str, ...]:
    """Name the expected servers that are ready, but are not members for the leader.

    A new server is a member before it is ready. A server that is being removed is ignored.
    """
    if not answers.members:
        return ()
    members = {member.node_id for member in answers.members}
    return tuple(
        server
        for server, cluster_id in sorted(answers.cluster_ids.items())
        if cluster_id and server not in members and _is_expected(server, expected)
    )


def _how_to_join(outside: tuple[str, ...]) -> str:
    first = outside[0]
    volume = names.claim_of_pod(first)
    return (
        f"{', '.join(outside)} run, but are not members of the raft cluster: they were removed, or "
        "started with the volume of an earlier server, and cannot join with that data. If it is "
        f"not needed: `kubectl delete pvc {volume} --wait=false`, then `kubectl delete pod "
        f"{first}`, and the server joins with an empty volume"
    )


def _explain_unusable(unusable: str) -> str:
    return (
        f"{unusable}. OpenBao does not answer like this: check the image of that server "
        "(spec.image), and any proxy between it and the operator"
    )


def _voters_joining(answers: Answers, expected: ExpectedMembers) -> bool:
    """Report whether a server exists that the autopilot will promote to a voter."""
    voters = {member.node_id for member in answers.members or () if member.voter}
    return any(
        expected.voter_pool.ordinal_of(server) is not None and server not in voters
        for server in answers.cluster_ids
        if _is_expected(server, expected)
    )


def _voters_leaving(answers: Answers, expected: ExpectedMembers) -> bool:
    """Report whether a removed server is still a member, which the operator must remove.

    The reconcile that removes it relies on this check, as does the report of the removal.
    """
    members = answers.members or ()
    removed = (peer.node_id for peer in members if peer.node_id not in answers.cluster_ids)
    ordinals = map(expected.voter_pool.ordinal_of, removed)
    return any(ordinal is not None and ordinal >= expected.voters for ordinal in ordinals)


def _split(cluster_ids: Mapping[str, str]) -> str | None:
    reported = {pod: cluster for pod, cluster in cluster_ids.items() if cluster}
    if len(set(reported.values())) < 2:
        return None
    members = ", ".join(f"{pod} is in {cluster}" for pod, cluster in sorted(reported.items()))
    return (
        f"the servers are in different clusters: {members}. Stop writing, and find the right data"
    )


def _last_error(
    error: tuple[str, str] | None, previous: AdminOpsStatus | None, now: datetime
) -> LastError | None:
    if error is None:
        return None
    reason, message = error[0], clean_message(error[1])
    last = previous.last_error if previous else None
    if last is not None and (last.reason, last.message) == (reason, message):
        return last
    return LastError(reason=reason, message=message, at=now.replace(microsecond=0))


def _next_check(
    raft: RaftStatus | None,
    expected: ExpectedMembers,
    error: tuple[str, str] | None,
    *,
    changing: bool,
) -> Outcome:
    if error is not None or raft is None:
        return Done(QUIET_RECHECK)
    if expected.green_servers and raft.voters >= expected.voters:
        # Jobs promote and demote voters; the reconcile that waits for them reads the members.
        return Done(QUIET_RECHECK)
    # The autopilot emits no event when a read replica becomes healthy, either.
    complete = matches_spec(raft, expected.voters, expected.read_replicas)
    if not complete or (raft.healthy_read_replicas or 0) < expected.read_replicas:
        message = voters_message(raft.voters, expected.voters)
        # Changes of pods trigger a reconcile; changes of votes do not.
        soon = changing or raft.voters == expected.voters
        return Wait("VotersMissing", message, CONVERGING_RECHECK if soon else QUIET_RECHECK)
    return Done(QUIET_RECHECK)


def voters_message(voters: int, replicas: int) -> str:
    """Compare the number of voters with spec.replicas, for conditions and events."""
    if voters > replicas:
        return f"{voters} servers are voters, but spec.replicas is {replicas}"
    return f"{voters} of {replicas} servers are voters"


def as_object(status: AdminOpsStatus) -> dict[str, Any]:
    """Return `status.adminOps` as JSON, as it is written."""
    return status.to_object()
