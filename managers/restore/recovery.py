"""How the servers are since their data were replaced: what was seen of them, and what it means.

`judge` is pure. What is seen comes from managers.cluster, which knows pods and logins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from contracts.api.cluster import OpenBaoCluster
from managers.bao.models import Health, Member
from managers.restore.facts import Judgement
from runtime.ownership import Owner


@dataclass(frozen=True, slots=True)
class ServerSeen:
    """One server that the spec of the cluster wants."""

    name: str
    present: bool = False
    """Its pod is there, and does not end."""
    restarted: bool = False
    """Its pod was made since the data were replaced."""
    ready: bool = False
    health: Health | None = None
    """None: it did not answer, or nobody asked."""


@dataclass(frozen=True, slots=True)
class ServersSeen:
    """All of them, and whom their leader counts as members."""

    servers: Sequence[ServerSeen]
    voters: frozenset[str]
    """Names of the servers that are to vote."""
    members: Sequence[Member] | None = None
    refused: str = ""
    """Why the leader does not say who its members are; "" when it does, or nobody may ever ask."""


class ServerSight(Protocol):
    """Whoever can look at servers."""

    async def look(self, cluster: OpenBaoCluster, owner: Owner, restore: str) -> ServersSeen:
        """Look at the servers that the spec wants. `restore`: UID of the restore.

        Raises what the API server may raise; a server that does not answer is no error.
        """
        ...


def judge(seen: ServersSeen, *, fresh: bool) -> Judgement:
    """Say how they are. `fresh`: the cluster was made for this restore.

    A fresh cluster has the logins of the one that the snapshot was taken from, so its members are
    not asked for: it has one server, which is known by its cluster.
    """
    answers = [one for one in seen.servers if one.health is not None]
    sealed = [one.name for one in answers if one.health is not None and one.health.sealed]
    if sealed and len(sealed) == len(answers):
        return Judgement(
            "Sealed",
            f"{', '.join(sealed)}: sealed, because the data are of another seal than spec.unseal: "
            "give the servers the seal of the snapshot and delete the pods one by one",
        )
    done = [one for one in seen.servers if one.present and one.restarted and one.ready]
    if len(done) < len(seen.servers):
        told = f"{len(done)} of {len(seen.servers)} servers were restarted and are ready"
        return Judgement("Restarting", told)
    return _agreement(seen) or _membership(seen, fresh=fresh)


def _agreement(seen: ServersSeen) -> Judgement | None:
    """Whether all serve, one leads, and all are of one cluster; None when it is so."""
    silent = [one.name for one in seen.servers if one.health is None]
    if silent:
        return Judgement("Leaderless", f"{', '.join(silent)}: no answer about its health")
    healths = [one.health for one in seen.servers if one.health is not None]
    if any(health.sealed or not health.initialized for health in healths):
        return Judgement("Restarting", "not every server is unsealed")
    leaders = sum(not health.standby for health in healths)
    if leaders != 1:
        return Judgement("Leaderless", f"{leaders} servers say that they lead")
    if len({health.cluster_id for health in healths}) != 1:
        return Judgement("Leaderless", "the servers are not all of one cluster yet")
    return None


def _membership(seen: ServersSeen, *, fresh: bool) -> Judgement:
    ready = f"{len(seen.servers)} servers are unsealed and agree on their leader"
    if fresh:
        return Judgement("Verified", ready)
    if seen.refused:
        return Judgement(
            "Refused",
            "the leader does not tell the operator who its members are since the restore: "
            f"{seen.refused}",
        )
    if seen.members is None:
        return Judgement("Verified", f"{ready}; their members were not asked for, without a login")
    voters = frozenset(member.node_id for member in seen.members if member.voter)
    everybody = frozenset(member.node_id for member in seen.members)
    wanted = frozenset(one.name for one in seen.servers)
    if voters == seen.voters and everybody == wanted:
        return Judgement("Verified", f"{ready} and on their {len(everybody)} members")
    return Judgement(
        "Astray",
        f"the leader counts {_names(everybody)} as members ({_names(voters)} with a vote), and "
        f"the spec wants {_names(wanted)} ({_names(seen.voters)} with a vote)",
    )


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nobody"
