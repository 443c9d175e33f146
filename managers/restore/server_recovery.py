"""The state of the servers since their data were replaced: observations and verdicts.

`judge` is pure. managers.cluster provides the observations: it has pods and logins.
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
class ServerSeen:
    """One server of the cluster spec, as observed."""

    name: str
    present: bool = False
    """Its pod exists and is not terminating."""
    restarted: bool = False
    """Its pod was created since the data were replaced."""
    ready: bool = False
    health: ServerHealth | None = None
    """None: it did not answer, or was not asked."""
    led: bool = True
    """It knows the leader. Until then a standby serves no requests."""


@dataclass(frozen=True, slots=True)
class ServersSeen:
    """All servers, and the members that their leader reports."""

    servers: Sequence[ServerSeen]
    voters: frozenset[str]
    """Names of the servers that should be voters."""
    members: Sequence[Member] | None = None
    refused: str = ""
    """Why the leader does not list its members; "" when it does, or without a login."""


@dataclass(frozen=True, slots=True)
class CopySeen:
    """The raft progress of one server's copy of the data."""

    name: str
    sealed: bool = False
    index: int | None = None
    """Index of its last applied raft log entry; None: unknown."""


@dataclass(frozen=True, slots=True)
class CopiesSeen:
    """The copies of all desired or present servers, compared with that of their leader."""

    copies: Sequence[CopySeen]
    leader: str = ""
    """Name of the leader; "" if there is not exactly one."""
    reached: int | None = None
    """Raft index of the leader before the others were read; None: unknown."""


class ServerSight(Protocol):
    """Reads the state of servers; implemented by managers.cluster."""

    async def copies(self, cluster: OpenBaoCluster, owner: Owner) -> CopiesSeen:
        """Read the raft progress of all servers, desired or present. This needs no login.

        Raises what the API server may raise; a server that does not answer is no error.
        """
        ...

    async def look(self, cluster: OpenBaoCluster, owner: Owner, restore: str) -> ServersSeen:
        """Read the servers of the cluster spec. `restore`: UID of the restore.

        Raises what the API server may raise; a server that does not answer is no error.
        """
        ...


def judge_copies(observed: CopiesSeen) -> RecoveryVerdict:
    """Return whether every server has the data of the leader, so that all may be restarted.

    The restored data hold another keyring for the connections between servers than the one in
    memory, and a server reads it when it starts. A server that restarts without the new data could
    never replicate them from the others. A leader that installed a snapshot continues from a higher
    index than any server had before (raft, Restore): a server at that index has the new data.
    """
    sealed = [one.name for one in observed.copies if one.sealed]
    if sealed and len(sealed) == len(observed.copies):
        return _all_sealed(sealed)
    if not observed.leader or observed.reached is None:
        return RecoveryVerdict("Spreading", "not exactly one server says that it leads")
    late = [
        one.name for one in observed.copies if one.index is None or one.index < observed.reached
    ]
    if late:
        return RecoveryVerdict(
            "Spreading",
            f"waits until these have the data of {observed.leader}, which leads: {', '.join(late)}",
        )
    return RecoveryVerdict("Spread", f"all {len(observed.copies)} servers have the new data")


def judge(observed: ServersSeen, *, fresh: bool) -> RecoveryVerdict:
    """Return the verdict on the servers. `fresh`: the cluster was created for this restore.

    A fresh cluster has the logins of the cluster that the snapshot was taken from, so its members
    are not read: it has one server, which is identified by its cluster.
    """
    answers = [one for one in observed.servers if one.health is not None]
    sealed = [one.name for one in answers if one.health is not None and one.health.sealed]
    if sealed and len(sealed) == len(answers):
        return _all_sealed(sealed)
    done = [one for one in observed.servers if one.present and one.restarted and one.ready]
    if len(done) < len(observed.servers):
        message = f"{len(done)} of {len(observed.servers)} servers were restarted and are ready"
        return RecoveryVerdict("Restarting", message)
    return _agreement(observed) or _membership(observed, fresh=fresh)


def _all_sealed(names: Sequence[str]) -> RecoveryVerdict:
    return RecoveryVerdict(
        "Sealed",
        f"{', '.join(names)}: sealed, because the data are of another seal than spec.unseal: "
        "give the servers the seal of the snapshot and delete the pods one by one",
    )


def _agreement(observed: ServersSeen) -> RecoveryVerdict | None:
    """Return why not all serve, one leads and all are of one cluster; None if they do."""
    silent = [one.name for one in observed.servers if one.health is None]
    if silent:
        return RecoveryVerdict("Leaderless", f"{', '.join(silent)}: no answer about its health")
    healths = [one.health for one in observed.servers if one.health is not None]
    if any(health.sealed or not health.initialized for health in healths):
        return RecoveryVerdict("Restarting", "not every server is unsealed")
    leaders = sum(not health.standby for health in healths)
    if leaders != 1:
        return RecoveryVerdict("Leaderless", f"{leaders} servers say that they lead")
    lost = [one.name for one in observed.servers if not one.led]
    if lost:
        return RecoveryVerdict("Leaderless", f"{', '.join(lost)}: does not know yet who leads")
    if len({health.cluster_id for health in healths}) != 1:
        return RecoveryVerdict("Leaderless", "the servers are not all of one cluster yet")
    return None


def _membership(observed: ServersSeen, *, fresh: bool) -> RecoveryVerdict:
    ready = f"{len(observed.servers)} servers are unsealed and agree on their leader"
    if fresh:
        return RecoveryVerdict("Verified", ready)
    if observed.refused:
        return RecoveryVerdict(
            "Refused",
            "the leader does not tell the operator who its members are since the restore: "
            f"{observed.refused}",
        )
    if observed.members is None:
        return RecoveryVerdict(
            "Verified", f"{ready}; their members were not asked for, without a login"
        )
    voters = frozenset(member.node_id for member in observed.members if member.voter)
    everybody = frozenset(member.node_id for member in observed.members)
    expected = frozenset(one.name for one in observed.servers)
    if voters == observed.voters and everybody == expected:
        return RecoveryVerdict("Verified", f"{ready} and on their {len(everybody)} members")
    return RecoveryVerdict(
        "Astray",
        f"the leader counts {_names(everybody)} as members ({_names(voters)} with a vote), and "
        f"the spec wants {_names(expected)} ({_names(observed.voters)} with a vote)",
    )


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nobody"
