"""Reads from the leader whether a server may be absent, before a pod is replaced or removed.

Called by managers.cluster.observe.observer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from contracts.records.observed import PodFacts, Quorum, RaftServer
from contracts.server_features import reports_health
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import NoToken, TokenSource, request_with_token
from managers.bao.models import AutopilotState, Member
from managers.membership.quorum_refusal import INDEX, LOGIN, MEMBERS, STATE, TOKEN

# OpenBao 2.4.0: the HTTP status of a path without a result.
ABSENT = 404


async def read_quorum(bao: Bao, pods: Sequence[PodFacts], login: TokenSource) -> Quorum:
    """Read the members and their autopilot health from the server that reports itself as leader.

    The raft configuration defines the members: the autopilot still lists a removed server for a
    while. A member that it does not list counts as unhealthy.

    The forwarding service changed in 2.6.0: a follower on one side of that version does not report
    its health to a leader on the other side (contracts.server_features.reports_health). The health
    of such a follower is derived from its log.

    For the autopilot a server is healthy for ten seconds after its last contact, and the leader may
    need longer than that to reach a restarted one (it resolves the new address, and backs off after
    each failure). So the operator reads the log index of each server, and compares it with that of
    the leader.

    A refusal is returned with its path; managers.membership.quorum_refusal interprets it. If the
    autopilot is disabled, the leader reports no health, and only the logs count. Never raises.
    """
    leaders = [pod for pod in pods if pod.ip and pod.ready and pod.registration.active]
    if len(leaders) != 1:
        return Quorum(error="not exactly one ready server reports itself as the leader")
    address, path = leaders[0].ip, LOGIN
    try:
        await login.token(bao, address)
        path = MEMBERS
        members = await request_with_token(bao, address, login, bao.members)
        path = STATE
        state = await _autopilot_state(bao, address, login)
        path = INDEX
        leader_index = await bao.applied_index(address)
    except NoToken as error:
        return Quorum(error=str(error), refused_path=TOKEN)
    except Denied as error:
        return Quorum(error=str(error), refused_path=path)
    except BaoError as error:
        return Quorum(error=str(error))
    followers = [pod for pod in pods if pod.ready and pod.ip and pod is not leaders[0]]
    indexes = await asyncio.gather(*(_log_index(bao, pod.ip) for pod in followers))
    following = {
        pod.name for pod, index in zip(followers, indexes, strict=True) if index >= leader_index
    }
    silent = frozenset(pod.name for pod in followers if not _reports_health(pod, leaders[0]))
    return _quorum(members, state, following | {leaders[0].name}, silent)


async def _autopilot_state(bao: Bao, address: str, login: TokenSource) -> AutopilotState | None:
    """Read the state of the autopilot; None when it is disabled.

    The same token was just valid: a refusal is not due to an expired one.
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


def _reports_health(follower: PodFacts, leader: PodFacts) -> bool:
    return reports_health(follower.registration.version or "", leader.registration.version or "")


def _quorum(
    members: Sequence[Member],
    state: AutopilotState | None,
    following: Collection[str],
    silent: Collection[str],
) -> Quorum:
    if state is None:
        by_log = _servers(members, following, following)
        return Quorum(by_log, _failure_tolerance(by_log))
    reported = {name for name, server in (state.servers or {}).items() if server.healthy}
    healthy = (reported - set(silent)) | (set(following) & set(silent))
    servers = _servers(members, healthy, following, silent)
    return Quorum(servers, _failure_tolerance(servers) if silent else state.failure_tolerance)


def _failure_tolerance(servers: Sequence[RaftServer]) -> int:
    """Compute the number of voters that may fail, as the autopilot does."""
    voters = [server for server in servers if server.voter]
    spare = sum(server.healthy for server in voters) - (len(voters) // 2 + 1)
    return max(0, spare)


def _servers(
    members: Sequence[Member],
    healthy: Collection[str],
    following: Collection[str],
    silent: Collection[str] = (),
) -> tuple[RaftServer, ...]:
    return tuple(
        RaftServer(
            member.node_id,
            voter=member.voter,
            healthy=member.node_id in healthy,
            follows=member.node_id in following,
            leader=member.leader,
            judged_by_log=member.node_id in silent and not member.leader,
        )
        for member in sorted(members, key=lambda member: member.node_id)
    )
