"""How the servers are since their data were replaced: what was seen of them, and what it means.

`judge` is pure. What is seen comes from managers.cluster, which knows pods and logins.
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
    """One server that the spec of the cluster wants."""

    name: str
    present: bool = False
    """Its pod is there, and does not end."""
    restarted: bool = False
    """Its pod was made since the data were replaced."""
    ready: bool = False
    health: ServerHealth | None = None
    """None: it did not answer, or nobody asked."""
    led: bool = True
    """It knows who leads. Until then a standby answers nobody."""


@dataclass(frozen=True, slots=True)
class ServersSeen:
    """All of them, and whom their leader counts as members."""

    servers: Sequence[ServerSeen]
    voters: frozenset[str]
    """Names of the servers that are to vote."""
    members: Sequence[Member] | None = None
    refused: str = ""
    """Why the leader does not say who its members are; "" when it does, or nobody may ever ask."""


@dataclass(frozen=True, slots=True)
class CopySeen:
    """How far the copy of the data is that one server has."""

    name: str
    sealed: bool = False
    index: int | None = None
    """The last entry of the raft log that is in it; None: it did not say."""


@dataclass(frozen=True, slots=True)
class CopiesSeen:
    """The copies of all servers that are wanted or there, against that of their leader."""

    copies: Sequence[CopySeen]
    leader: str = ""
    """Name of the one server that leads; "" if that is not exactly one."""
    reached: int | None = None
    """How far the leader was before the others were asked; None: nobody knows."""


class ServerSight(Protocol):
    """Whoever can look at servers."""

    async def copies(self, cluster: OpenBaoCluster, owner: Owner) -> CopiesSeen:
        """Ask all servers, wanted or there, how far they are. Nobody has to log in for that.

        Raises what the API server may raise; a server that does not answer is no error.
        """
        ...

    async def look(self, cluster: OpenBaoCluster, owner: Owner, restore: str) -> ServersSeen:
        """Look at the servers that the spec wants. `restore`: UID of the restore.

        Raises what the API server may raise; a server that does not answer is no error.
        """
        ...


def judge_copies(observed: CopiesSeen) -> RecoveryVerdict:
    """Say whether every server has what the leader has, so that all may be restarted.

    The replaced data hold another keyring for the connections between the servers than the one that
    they have in memory, and a server reads it when it starts. One that is restarted without the new
    data could never get them from the others. A leader that took a snapshot counts on from a higher
    index than any server had before (raft, Restore): who is as far has the new data.
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
    """Say how they are. `fresh`: the cluster was made for this restore.

    A fresh cluster has the logins of the one that the snapshot was taken from, so its members are
    not asked for: it has one server, which is known by its cluster.
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
    """Whether all serve, one leads, and all are of one cluster; None when it is so."""
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
