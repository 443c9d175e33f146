"""The state of the servers after their data was replaced: observations and verdicts.

`evaluate_servers` and `evaluate_replication` are pure. managers.cluster provides the observations:
it has the pods and logins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from contracts.api.cluster.spec import OpenBaoCluster
from managers.bao.models import Member, ServerHealth
from managers.restore.inputs import RecoveryVerdict
from runtime.apply.ownership import Owner


@dataclass(frozen=True, slots=True)
class ServerObservation:
    """The observed state of one server of the cluster spec."""

    name: str
    present: bool = False
    """Whether its pod exists and is not terminating."""
    restarted: bool = False
    """Whether its pod was created after the data was replaced."""
    ready: bool = False
    health: ServerHealth | None = None
    """None: it did not answer, or was not queried."""
    knows_leader: bool = True
    """Whether it knows the leader. A standby that does not know the leader serves no requests."""


@dataclass(frozen=True, slots=True)
class ServersObservation:
    """All servers, and the raft members that their leader reports."""

    servers: Sequence[ServerObservation]
    voters: frozenset[str]
    """Names of the servers that must be voters."""
    members: Sequence[Member] | None = None
    refusal: str = ""
    """Why the leader refused to list its members; "" if it listed them, or without a login."""


@dataclass(frozen=True, slots=True)
class ReplicationProgress:
    """The raft progress of one server's copy of the data."""

    name: str
    sealed: bool = False
    index: int | None = None
    """Index of its last applied raft log entry; None: unknown."""


@dataclass(frozen=True, slots=True)
class ReplicationObservation:
    """The copies of all desired or existing servers, and the raft index of their leader."""

    copies: Sequence[ReplicationProgress]
    leader: str = ""
    """Name of the leader; "" if there is not exactly one."""
    reached: int | None = None
    """Raft index of the leader, read before the indexes of the others; None: unknown."""


class RestoredServersReader(Protocol):
    """Reads the state of servers; implemented by managers.cluster."""

    async def copies(self, cluster: OpenBaoCluster, owner: Owner) -> ReplicationObservation:
        """Read the raft progress of all servers, desired or existing. This needs no login.

        Raises errors of the API server; a server that does not answer is not an error.
        """
        ...

    async def servers(
        self, cluster: OpenBaoCluster, owner: Owner, restore: str
    ) -> ServersObservation:
        """Read the servers of the cluster spec. `restore`: UID of the restore.

        Raises errors of the API server; a server that does not answer is not an error.
        """
        ...


def evaluate_replication(observed: ReplicationObservation) -> RecoveryVerdict:
    """Return whether every server has the data of the leader, so that all can be restarted.

    The restored data contains other keys for the connections between servers than those in memory,
    and a server reads the keys only when it starts. A server that restarts without the new data
    could never replicate it from the others. A leader that installed a snapshot continues from a
    higher index than any server had before (raft, Restore), so a server at that index has the new
    data.
    """
    sealed = [copy.name for copy in observed.copies if copy.sealed]
    if sealed and len(sealed) == len(observed.copies):
        return _all_sealed(sealed)
    if not observed.leader or observed.reached is None:
        return RecoveryVerdict("Replicating", "the servers do not report exactly one leader")
    behind = [
        copy.name for copy in observed.copies if copy.index is None or copy.index < observed.reached
    ]
    if behind:
        return RecoveryVerdict(
            "Replicating",
            f"waits until these servers have the data of the leader {observed.leader}: "
            f"{', '.join(behind)}",
        )
    return RecoveryVerdict("Replicated", f"all {len(observed.copies)} servers have the new data")


def evaluate_servers(observed: ServersObservation, *, fresh: bool) -> RecoveryVerdict:
    """Return the verdict on the servers. `fresh`: the cluster was created for this restore.

    A fresh cluster has the logins of the cluster from which the snapshot was taken, so the operator
    cannot read its members. It has one server, which its cluster id identifies.
    """
    healths = {server.name: server.health for server in observed.servers if server.health}
    sealed = [name for name, health in healths.items() if health.sealed]
    if sealed and len(sealed) == len(healths):
        return _all_sealed(sealed)
    restarted = [
        server
        for server in observed.servers
        if server.present and server.restarted and server.ready
    ]
    if len(restarted) < len(observed.servers):
        message = (
            f"{len(restarted)} of {len(observed.servers)} servers were restarted and are ready"
        )
        return RecoveryVerdict("Restarting", message)
    return _agreement(observed) or _membership(observed, fresh=fresh)


def _all_sealed(names: Sequence[str]) -> RecoveryVerdict:
    return RecoveryVerdict(
        "Sealed",
        f"{', '.join(names)}: sealed, because spec.unseal is not the seal of the restored data; "
        "configure the seal of the snapshot, then delete the pods one by one",
    )


def _agreement(observed: ServersObservation) -> RecoveryVerdict | None:
    """Return why the servers do not serve as one cluster with one leader; None if they do."""
    silent = [server.name for server in observed.servers if server.health is None]
    if silent:
        return RecoveryVerdict("Leaderless", f"{', '.join(silent)}: does not answer sys/health")
    healths = [server.health for server in observed.servers if server.health is not None]
    if any(health.sealed or not health.initialized for health in healths):
        return RecoveryVerdict("Restarting", "not every server is unsealed")
    leaders = sum(not health.standby for health in healths)
    if leaders != 1:
        return RecoveryVerdict("Leaderless", f"{leaders} servers report that they are the leader")
    leaderless = [server.name for server in observed.servers if not server.knows_leader]
    if leaderless:
        return RecoveryVerdict(
            "Leaderless", f"{', '.join(leaderless)}: does not know the leader yet"
        )
    if len({health.cluster_id for health in healths}) != 1:
        return RecoveryVerdict("Leaderless", "the servers report different cluster IDs")
    return None


def _membership(observed: ServersObservation, *, fresh: bool) -> RecoveryVerdict:
    ready = f"{len(observed.servers)} servers are unsealed and agree on their leader"
    if fresh:
        return RecoveryVerdict("Verified", ready)
    if observed.refusal:
        return RecoveryVerdict(
            "Refused",
            "since the restore the leader does not let the operator list its members: "
            f"{observed.refusal}",
        )
    if observed.members is None:
        return RecoveryVerdict(
            "Verified", f"{ready}; without a login the operator did not check their members"
        )
    voters = frozenset(member.node_id for member in observed.members if member.voter)
    members = frozenset(member.node_id for member in observed.members)
    expected = frozenset(server.name for server in observed.servers)
    if voters == observed.voters and members == expected:
        return RecoveryVerdict("Verified", f"{ready} and on their {len(members)} members")
    return RecoveryVerdict(
        "MembersDiffer",
        f"the leader lists {_names(members)} as members (voters: {_names(voters)}), and the spec "
        f"requires {_names(expected)} (voters: {_names(observed.voters)})",
    )


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"
