"""Reads the cluster id of each server, and the raft members from the leader.

Called by managers.cluster.adminops.reconcile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from contracts.records.observed import PodFacts
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import TokenSource, request_with_token
from managers.membership.decide import Answers


async def ask(
    bao: Bao, pods: Sequence[PodFacts], login: TokenSource | None, *, health: bool = False
) -> Answers:
    """Read the cluster id from every ready server, and the members from the leader.

    `health`: also read the autopilot health of the servers from the leader.
    """
    ready = [pod for pod in pods if pod.ready and pod.ip]
    ids = dict(await asyncio.gather(*(_cluster_id(bao, pod) for pod in ready)))
    leaders = [pod for pod in ready if pod.registration.active]
    if not leaders:
        return Answers(ids, None, "no ready server reports itself as the leader")
    if login is None:
        return Answers(ids, None, "the operator has no login (spec.selfInit.oidc.enabled)")
    try:
        members = await request_with_token(bao, leaders[0].ip, login, bao.members)
        healthy = await _healthy(bao, leaders[0].ip, login) if health else frozenset()
    except (BaoError, Denied) as error:
        return Answers(ids, None, f"{leaders[0].name} did not report the members: {error}")
    return Answers(ids, members, "", healthy)


async def _healthy(bao: Bao, address: str, login: TokenSource) -> frozenset[str]:
    state = await request_with_token(bao, address, login, bao.autopilot_state)
    return frozenset(name for name, server in (state.servers or {}).items() if server.healthy)


async def _cluster_id(bao: Bao, pod: PodFacts) -> tuple[str, str]:
    try:
        return pod.name, (await bao.health(pod.ip)).cluster_id
    except BaoError:
        return pod.name, ""
