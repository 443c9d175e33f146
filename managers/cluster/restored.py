"""Looks at the servers of a cluster whose data were replaced, for managers.restore.

What it means is decided there (managers.restore.recovery).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from contracts import names
from contracts.api.cluster import OpenBaoCluster
from contracts.observed import PodFacts
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import Logins, TokenSource, as_known
from managers.bao.models import Health, Member
from managers.cluster.facts import server_facts
from managers.cluster.observe import CLUSTER_INDEX, Observer
from managers.restore.recovery import ServerSeen, ServersSeen
from runtime.cache import Cache
from runtime.ownership import Owner
from runtime.resources import POD
from runtime.types import Resource


class RestoredServers:
    """Asks the servers that the spec wants, over their own TLS and with the operator's login."""

    def __init__(
        self, informers: Mapping[Resource, Cache], observer: Observer, logins: Logins
    ) -> None:
        self._pods = informers[POD]
        self._observer = observer
        self._logins = logins

    async def look(self, cluster: OpenBaoCluster, owner: Owner, restore: str) -> ServersSeen:
        """Look at every server; see managers.restore.recovery.ServerSight."""
        wanted, voters = wanted_servers(cluster, owner.name)
        reach = await self._observer.reach(cluster, owner)
        found = self._pods.by_index(CLUSTER_INDEX, str(owner.key))
        pods = {pod.name: pod for pod in server_facts(owner.name, found)}
        if reach is None:
            return ServersSeen([seen_of(name, pods.get(name), restore) for name in wanted], voters)
        present = [pods[name] for name in wanted if name in pods]
        async with Bao(reach.authority, reach.server_name) as bao:
            answers = await asyncio.gather(*(_health(bao, pod) for pod in present))
            healths = {
                pod.name: health for pod, health in zip(present, answers, strict=True) if health
            }
            login = await self._logins.of_cluster(cluster, owner)
            leader = leader_of(present, healths)
            members, refused = await _members(bao, leader, login)
        servers = [seen_of(name, pods.get(name), restore, healths.get(name)) for name in wanted]
        return ServersSeen(servers, voters, members, refused)


def wanted_servers(cluster: OpenBaoCluster, name: str) -> tuple[Sequence[str], frozenset[str]]:
    """The names of all servers that are to run, and of those that are to vote."""
    spec = cluster.spec
    voters = [names.pod(name, ordinal) for ordinal in range(spec.replicas)]
    readers = [names.read_pod(name, number) for number in range(spec.servers - spec.replicas)]
    away = frozenset(spec.fenced_pods)
    running = [one for one in (*voters, *readers) if one not in away]
    return running, frozenset(one for one in voters if one not in away)


def seen_of(
    name: str, pod: PodFacts | None, restore: str, health: Health | None = None
) -> ServerSeen:
    """What is known of one server."""
    if pod is None or pod.terminating:
        return ServerSeen(name)
    return ServerSeen(
        name, present=True, restarted=pod.restored == restore, ready=pod.ready, health=health
    )


def leader_of(pods: Sequence[PodFacts], healths: Mapping[str, Health]) -> PodFacts | None:
    """The one server that answers that it leads; None if that is not exactly one."""
    leaders = [
        pod
        for pod in pods
        if (health := healths.get(pod.name)) is not None
        and health.initialized
        and not health.sealed
        and not health.standby
    ]
    return leaders[0] if len(leaders) == 1 else None


async def _health(bao: Bao, pod: PodFacts) -> Health | None:
    if not pod.ip or pod.terminating:
        return None
    try:
        return await bao.health(pod.ip)
    except BaoError:
        return None


async def _members(
    bao: Bao, leader: PodFacts | None, login: TokenSource | None
) -> tuple[tuple[Member, ...] | None, str]:
    """Ask the leader for its members: them, or why it does not say."""
    if login is None or leader is None:
        return None, ""
    try:
        return await as_known(bao, leader.ip, login, bao.members), ""
    except (Denied, BaoError) as error:
        return None, str(error)
