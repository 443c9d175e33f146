"""Reads the servers of a cluster after a restore.

managers.restore.server_recovery decides based on the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import names
from contracts.pools.voter_pool import serving_pool, voter_pools
from contracts.records.observed import PodFacts
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.login import Logins, TokenSource, request_with_token
from managers.bao.models import Member, ServerHealth
from managers.cluster.observe.from_objects import server_facts
from managers.cluster.observe.observer import CLUSTER_INDEX, ClusterObserver
from managers.restore.server_recovery import (
    ReplicationObservation,
    ReplicationProgress,
    ServerObservation,
    ServersObservation,
)
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import POD
from runtime.cache.cache import Cache
from runtime.types import Resource


class RestoredServers:
    """Queries the servers of the spec over TLS, with the operator's login."""

    def __init__(
        self, informers: Mapping[Resource, Cache], observer: ClusterObserver, logins: Logins
    ) -> None:
        self._pods = informers[POD]
        self._observer = observer
        self._logins = logins

    async def copies(self, cluster: OpenBaoCluster, owner: Owner) -> ReplicationObservation:
        """Read the applied index of every server; see `managers.restore.server_recovery`."""
        client_config = await self._observer.client_config(cluster, owner)
        pods = self._pods_of(cluster, owner)
        servers = servers_to_restart(cluster, owner.name, pods)
        if client_config is None:
            return ReplicationObservation([ReplicationProgress(name) for name in servers])
        async with self._logins.session(client_config.authority, client_config.server_name) as bao:
            return await copies_of(bao, servers, pods)

    def _pods_of(self, cluster: OpenBaoCluster, owner: Owner) -> Mapping[str, PodFacts]:
        pods = self._pods.by_index(CLUSTER_INDEX, str(owner.key))
        return {pod.name: pod for pod in server_facts(voter_pools(cluster), pods)}

    async def servers(
        self, cluster: OpenBaoCluster, owner: Owner, restore: str
    ) -> ServersObservation:
        """Read every server; see managers.restore.server_recovery.RestoredServersReader."""
        expected, voters = expected_servers(cluster, owner.name)
        client_config = await self._observer.client_config(cluster, owner)
        pods = self._pods_of(cluster, owner)
        if client_config is None:
            return ServersObservation(
                [observed_server(name, pods.get(name), restore) for name in expected], voters
            )
        present = [pods[name] for name in expected if name in pods]
        async with self._logins.session(client_config.authority, client_config.server_name) as bao:
            healths = await _healths(bao, present)
            leading = await _servers_with_leader(
                bao, [pod for pod in present if pod.name in healths]
            )
            login = self._logins.for_cluster(cluster, owner)
            leader = leader_of(present, healths)
            members, refused = await _members(bao, leader, login)
        servers = [
            observed_server(
                name, pods.get(name), restore, healths.get(name), knows_leader=name in leading
            )
            for name in expected
        ]
        return ServersObservation(servers, voters, members, refused)


def expected_servers(cluster: OpenBaoCluster, name: str) -> tuple[Sequence[str], frozenset[str]]:
    """Return the names of all servers that should run, and of those that should vote."""
    spec = cluster.spec
    serving = serving_pool(cluster)
    voters = [serving.pod(ordinal) for ordinal in range(spec.replicas)]
    readers = [names.read_pod(name, number) for number in range(spec.servers - spec.replicas)]
    fenced = frozenset(spec.fenced_pods)
    running = [pod for pod in (*voters, *readers) if pod not in fenced]
    return running, frozenset(pod for pod in voters if pod not in fenced)


def servers_to_restart(
    cluster: OpenBaoCluster, name: str, pods: Mapping[str, PodFacts]
) -> Sequence[str]:
    """Return the names of the servers to restart after a restore.

    Includes servers that are being removed: they vote until they have left, so they need the
    restored data, too.
    """
    expected, _ = expected_servers(cluster, name)
    # A fenced server that has not stopped yet is restarted with the others.
    present = (pod.name for pod in pods.values() if not pod.terminating and not pod.fence_gate)
    return tuple(dict.fromkeys((*expected, *present)))


def observed_server(
    name: str,
    pod: PodFacts | None,
    restore: str,
    health: ServerHealth | None = None,
    *,
    knows_leader: bool = False,
) -> ServerObservation:
    """Return the facts of one server."""
    if pod is None or pod.terminating:
        return ServerObservation(name)
    return ServerObservation(
        name,
        present=True,
        restarted=pod.restore_uid == restore,
        ready=pod.ready,
        health=health,
        knows_leader=knows_leader,
    )


def leader_of(pods: Sequence[PodFacts], healths: Mapping[str, ServerHealth]) -> PodFacts | None:
    """Return the server that reports to be the leader; None unless exactly one does."""
    leaders = [
        pod
        for pod in pods
        if (health := healths.get(pod.name)) is not None
        and health.initialized
        and not health.sealed
        and not health.standby
    ]
    return leaders[0] if len(leaders) == 1 else None


async def copies_of(
    bao: Bao, expected: Sequence[str], pods: Mapping[str, PodFacts]
) -> ReplicationObservation:
    """Read the applied index of the leader, then of every server. Never raises.

    In this order, a server at the leader's index has all data that the leader had at that time.
    """
    present = [pods[name] for name in expected if name in pods]
    healths = await _healths(bao, present)
    leader = leader_of(present, healths)
    leader_index = await _applied_index(bao, leader) if leader else None
    answers = await asyncio.gather(*(_applied_index(bao, pod) for pod in present))
    indexes = {pod.name: index for pod, index in zip(present, answers, strict=True)}
    copies = [
        ReplicationProgress(name, name in healths and healths[name].sealed, indexes.get(name))
        for name in expected
    ]
    return ReplicationObservation(copies, leader.name if leader else "", leader_index)


async def _healths(bao: Bao, pods: Sequence[PodFacts]) -> Mapping[str, ServerHealth]:
    """Return the health of the servers that answer, by name."""
    answers = await asyncio.gather(*(_health(bao, pod) for pod in pods))
    return {pod.name: health for pod, health in zip(pods, answers, strict=True) if health}


async def _servers_with_leader(bao: Bao, pods: Sequence[PodFacts]) -> frozenset[str]:
    """Return the names of the servers that know the leader."""
    answers = await asyncio.gather(*(_leader(bao, pod) for pod in pods))
    return frozenset(pod.name for pod, address in zip(pods, answers, strict=True) if address)


async def _leader(bao: Bao, pod: PodFacts) -> str:
    try:
        return await bao.leader_address(pod.ip)
    except (Denied, BaoError):
        return ""


async def _applied_index(bao: Bao, pod: PodFacts) -> int | None:
    if not pod.ip or pod.terminating:
        return None
    try:
        return await bao.applied_index(pod.ip) or None
    except (Denied, BaoError):
        return None


async def _health(bao: Bao, pod: PodFacts) -> ServerHealth | None:
    if not pod.ip or pod.terminating:
        return None
    try:
        return await bao.health(pod.ip)
    except BaoError:
        return None


async def _members(
    bao: Bao, leader: PodFacts | None, login: TokenSource | None
) -> tuple[tuple[Member, ...] | None, str]:
    """Read the members from the leader; return them, or the error."""
    if login is None or leader is None:
        return None, ""
    try:
        return await request_with_token(bao, leader.ip, login, bao.members), ""
    except (Denied, BaoError) as error:
        return None, str(error)
