"""Asking the leader whether a server may be away: before a pod is replaced, and only then."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from contracts.observed import PodFacts, Quorum, RaftServer
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import TokenSource, as_known
from managers.bao.models import AutopilotState, Member


async def ask_quorum(bao: Bao, pods: Sequence[PodFacts], login: TokenSource) -> Quorum | None:
    """Read members and the autopilot's opinion of them from the one server that says it leads.

    Who is a member is told by the raft configuration: the autopilot goes on naming for a while
    who was just removed. One that it does not name counts as unwell.

    The autopilot finds a server well for ten seconds after the last word of it, and the leader may
    need longer than that to reach one that was restarted (it looks up the new address, and waits
    longer after each failure). So each server is asked whether the leader's log has reached it.

    None when the operator may not ask: then a roll goes by the readiness of the pods, as it does
    without a login. Never raises.
    """
    leaders = [pod for pod in pods if pod.ip and pod.ready and pod.registration.active]
    if len(leaders) != 1:
        return Quorum(trouble="not exactly one ready server says that it leads")
    address = leaders[0].ip
    try:
        members = await as_known(bao, address, login, bao.members)
        state = await as_known(bao, address, login, bao.autopilot_state)
        reached = await bao.applied_index(address)
    except Denied:
        return None
    except BaoError as error:
        return Quorum(trouble=str(error))
    others = [pod for pod in pods if pod.ready and pod.ip and pod is not leaders[0]]
    ends = await asyncio.gather(*(_log_end(bao, pod.ip) for pod in others))
    follow = {pod.name for pod, end in zip(others, ends, strict=True) if end >= reached}
    return _quorum(members, state, follow | {leaders[0].name})


async def _log_end(bao: Bao, address: str) -> int:
    try:
        return await bao.log_index(address)
    except (BaoError, Denied):
        return -1


def _quorum(members: Sequence[Member], state: AutopilotState, follow: Collection[str]) -> Quorum:
    seen = state.servers or {}
    return Quorum(
        servers=tuple(
            RaftServer(
                member.node_id,
                voter=member.voter,
                healthy=member.node_id in seen and seen[member.node_id].healthy,
                follows=member.node_id in follow,
            )
            for member in sorted(members, key=lambda one: one.node_id)
        ),
        failure_tolerance=state.failure_tolerance,
    )
