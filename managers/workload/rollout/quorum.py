"""Quorum checks before a replacement or a step-down. Pure.

Called by the modules of `managers.workload.rollout` and `managers.workload.scale`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from contracts.conditions.reasons_workload import QUESTION_REFUSED
from contracts.records.observed import PodFacts, Quorum, RaftServer, StatefulSetFacts
from runtime.outcome import Wait

# No event reports that a user fixed a policy. A newly elected leader may refuse a request that it
# grants shortly after.
QUESTION_RECHECK = 5.0
# Fewer than three servers tolerate no loss: every restart is an outage.
TOLERANT = 3


def majority(voters: int) -> int:
    """Return the number of voters that a write needs."""
    return voters // 2 + 1


def is_locked_out(pod: PodFacts, live: StatefulSetFacts | None) -> bool:
    """Return whether the server of a pod is sealed, and new pods get other unseal keys.

    A sealed server takes no part in raft. Only a new pod gets the key that unseals it.
    """
    if live is None or not live.unseal or pod.ready or pod.registration.sealed is not True:
        return False
    return pod.unseal != live.unseal


def reason_of(quorum: Quorum | None) -> str:
    """Return the reason for a refused query; "" for any other response."""
    return QUESTION_REFUSED if quorum is not None and quorum.refused_path else ""


def wait_for_answer(quorum: Quorum, reason: str, message: str, after: float) -> Wait:
    """Wait for an answer: for `after` seconds with that `reason`, or until a user acts."""
    message = f"{message}: {quorum.error}" if quorum.error else message
    if quorum.refused_path:
        return Wait(QUESTION_REFUSED, message, QUESTION_RECHECK)
    return Wait(reason, message, after)


def objection(quorum: Quorum | None, target: PodFacts, size: int) -> str:
    """Return why the target may not be replaced now; "" when it may.

    `size` is the desired number of servers. Without quorum data (None) there is no objection: then
    only the readiness of the pods counts. A target that is not a healthy voter does not weaken the
    quorum, so it may be replaced whenever the others do not need it.
    """
    if quorum is None or size == 1 or target.is_down:
        return ""
    if quorum.error:
        return quorum.error_message
    voters = [server for server in quorum.servers if server.voter]
    rest = [server for server in voters if server.node_id != target.name]
    others = sum(server.healthy for server in rest)
    counts = any(server.healthy and server.node_id == target.name for server in voters)
    needed = majority(len(voters))
    if not target.ready:
        if not counts or others >= needed:
            return ""
        return f"{target.name} is a healthy voter, and only {others} others are ({needed} needed)"
    if len(voters) != size:
        return f"{len(voters)} of {size} servers are voters"
    unfit = _unfit(rest, target)
    if unfit:
        return unfit
    if size >= TOLERANT and counts and (others < needed or quorum.failure_tolerance < 1):
        return (
            f"{others} healthy voters would be left and {needed} are needed "
            f"(failure tolerance {quorum.failure_tolerance})"
        )
    return ""


def objection_to_hand_over(
    quorum: Quorum | None,
    leader: PodFacts,
    size: int,
    young: Collection[str] = (),
    unproven: Collection[str] = (),
) -> str:
    """Return why the leader may not step down now; "" when it may.

    It stays a voter, so no vote is lost: enough others must have its log, so that one of them can
    lead immediately with followers. Servers that are `young` have just started and may still catch
    up. The log state of those that are `unproven` is not reliable.
    """
    if quorum is None or size == 1:
        return ""
    if quorum.error:
        return quorum.error_message
    voters = [server for server in quorum.servers if server.voter]
    if len(voters) != size:
        return f"{len(voters)} of {size} servers are voters"
    others = [voter for voter in voters if voter.node_id != leader.name]
    unfit = _unfit([voter for voter in others if voter.node_id not in young], leader)
    if unfit:
        return unfit
    fit = sum(voter.healthy and voter.follows and voter.node_id not in unproven for voter in others)
    needed = max(majority(len(voters)) - 1, 1)
    if fit < needed:
        return name_unreachable(others) or f"{fit} of {needed} servers could take over"
    return ""


def _unfit(voters: Sequence[RaftServer], target: PodFacts) -> str:
    """Name the voters that could not take over; "" when all could.

    Servers without a vote do not count: an unhealthy read replica must not block the voters. A
    server that the leader cannot reach yet casts no vote, even if it is healthy.
    """
    unhealthy = sorted(server.node_id for server in voters if not server.healthy)
    if unhealthy:
        return f"the leader reports these as unhealthy: {', '.join(unhealthy)}"
    return name_unreachable(voter for voter in voters if voter.node_id != target.name)


def name_unreachable(servers: Iterable[RaftServer]) -> str:
    """Name the servers that the leader cannot reach yet; "" when it reaches all."""
    late = sorted(server.node_id for server in servers if not server.follows)
    if not late:
        return ""
    return f"the log of the leader has not reached these since they started: {', '.join(late)}"
