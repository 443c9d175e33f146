"""Asks the leader whether a server may be absent: before a pod is replaced, and only then.

Called by managers.cluster.observe.observer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from contracts.records.observed import PodFacts, Quorum, RaftServer
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import NoToken, TokenSource, as_known
from managers.bao.models import AutopilotState, Member
from managers.membership.quorum_refusal import INDEX, LOGIN, MEMBERS, STATE, TOKEN

# OpenBao 2.4.0: the status of a path without a result.
ABSENT = 404


async def read_quorum(bao: Bao, pods: Sequence[PodFacts], login: TokenSource) -> Quorum:
    """Read the members and their autopilot health from the one server that reports to lead.

    The raft configuration decides who is a member: the autopilot lists a removed server for a
    while. A member that it does not list counts as unhealthy.

    A server is healthy for the autopilot for ten seconds after its last contact, and the leader may
    need longer than that to reach a restarted one (it resolves the new address, and backs off after
    each failure). So each server is asked whether the leader's log has reached it.

    A refusal is returned with its path; managers.membership.quorum_refusal interprets it. A leader
    without autopilot reports no health: then the logs alone decide. Never raises.
    """
    leaders = [pod for pod in pods if pod.ip and pod.ready and pod.registration.active]
    if len(leaders) != 1:
        return Quorum(trouble="not exactly one ready server says that it leads")
    address, path = leaders[0].ip, LOGIN
    try:
        await login.token(bao, address)
        path = MEMBERS
        members = await as_known(bao, address, login, bao.members)
        path = STATE
        state = await _autopilot_state(bao, address, login)
        path = INDEX
        leader_index = await bao.applied_index(address)
    except NoToken as error:
        return Quorum(trouble=str(error), refused=TOKEN)
    except Denied as error:
        return Quorum(trouble=str(error), refused=path)
    except BaoError as error:
        return Quorum(trouble=str(error))
    followers = [pod for pod in pods if pod.ready and pod.ip and pod is not leaders[0]]
    indexes = await asyncio.gather(*(_log_index(bao, pod.ip) for pod in followers))
    following = {
        pod.name for pod, index in zip(followers, indexes, strict=True) if index >= leader_index
    }
    return _quorum(members, state, following | {leaders[0].name})


async def _autopilot_state(bao: Bao, address: str, login: TokenSource) -> AutopilotState | None:
    """Read the state of the autopilot; None when it is disabled.

    The same token was valid a moment ago: a refusal is not due to an expired one.
    """
    try:
        return await bao.autopilot_state(address, await login.token(bao, address))
    except Denied as error:
        if error.code == ABSENT:
            return None
        raise


async def _log_index(bao: Bao, address: str) -> int:
    try:
        return await bao.log_index(address)
    except (BaoError, Denied):
        return -1


def _quorum(
    members: Sequence[Member], state: AutopilotState | None, following: Collection[str]
) -> Quorum:
    if state is None:
        return _by_log(members, following)
    servers = state.servers or {}
    healthy = {name for name, server in servers.items() if server.healthy}
    return Quorum(_servers(members, healthy, following), state.failure_tolerance)


def _by_log(members: Sequence[Member], following: Collection[str]) -> Quorum:
    """Compute the quorum as the autopilot does, by whether a log caught up with the leader's."""
    servers = _servers(members, following, following)
    voters = [server for server in servers if server.voter]
    spare = sum(server.healthy for server in voters) - (len(voters) // 2 + 1)
    return Quorum(servers, max(0, spare))


def _servers(
    members: Sequence[Member], healthy: Collection[str], following: Collection[str]
) -> tuple[RaftServer, ...]:
    return tuple(
        RaftServer(
            member.node_id,
            voter=member.voter,
            healthy=member.node_id in healthy,
            follows=member.node_id in following,
            leader=member.leader,
        )
        for member in sorted(members, key=lambda one: one.node_id)
    )
