"""What the answers of the servers mean. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contracts.api.cluster_status import AdminOpsStatus, RaftStatus
from contracts.api.status_parts import LastError
from contracts.conditions import clean_message
from managers.bao.models import Member
from runtime.outcome import Done, Outcome, Wait

# Autopilot takes some ten seconds to give a new server its vote, and tells nobody.
CONVERGING_RECHECK = 2.0
QUIET_RECHECK = 60.0


@dataclass(frozen=True, slots=True)
class Answers:
    """What the servers said in one look."""

    cluster_ids: Mapping[str, str]
    """Pod name to the cluster id that the server in it reports."""
    members: tuple[Member, ...] | None
    """None when nobody could be asked."""
    trouble: str
    """Why the members are not known, for a person; "" when they are."""


def judge(
    answers: Answers, replicas: int, previous: AdminOpsStatus | None, now: datetime
) -> tuple[AdminOpsStatus, Outcome]:
    """Turn answers into `status.adminOps`, and say when to ask again."""
    raft = _raft(answers, previous)
    split = _split(answers.cluster_ids)
    error: tuple[str, str] | None = None
    if split is not None:
        error = ("SplitBrain", split)
    elif answers.trouble:
        error = ("MembershipUnknown", answers.trouble)
    status = AdminOpsStatus(last_error=_last_error(error, previous, now), raft=raft)
    return status, _next_look(raft, replicas, error)


def _raft(answers: Answers, previous: AdminOpsStatus | None) -> RaftStatus | None:
    if answers.members is None:
        # What was true is better than nothing while a server is away; `lastError` tells.
        return previous.raft if previous else None
    leaders = [member.node_id for member in answers.members if member.leader]
    ids = sorted(set(filter(None, answers.cluster_ids.values())))
    return RaftStatus(
        voters=sum(member.voter for member in answers.members),
        non_voters=sum(not member.voter for member in answers.members),
        leader=leaders[0] if leaders else "",
        cluster_id=ids[0] if len(ids) == 1 else "",
    )


def _split(cluster_ids: Mapping[str, str]) -> str | None:
    known = {pod: cluster for pod, cluster in cluster_ids.items() if cluster}
    if len(set(known.values())) < 2:
        return None
    told = ", ".join(f"{pod} is in {cluster}" for pod, cluster in sorted(known.items()))
    return f"the servers are in different clusters: {told}. Stop writing and find the right data"


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


def _next_look(raft: RaftStatus | None, replicas: int, error: tuple[str, str] | None) -> Outcome:
    if error is None and raft is not None and (raft.voters, raft.non_voters) != (replicas, 0):
        told = f"{raft.voters} of {replicas} servers are voters"
        return Wait("VotersMissing", told, CONVERGING_RECHECK)
    return Done(QUIET_RECHECK)


def as_object(status: AdminOpsStatus) -> dict[str, Any]:
    """The sub-tree as it is written."""
    return status.to_object()
