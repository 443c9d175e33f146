"""The actions that join the servers of green, and that move the votes between blue and green.

Uses upgrade.raft_client and upgrade.step_down. Called by upgrade.main. Each reads the state first
and does only what is missing, so that it may be repeated and may continue where another one ended.
No vote is removed unless the servers that keep theirs are a majority that is alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from baoctl.jobs.leader_client import authority_of
from baoctl.jobs.upgrade.context import StepFailure, Work
from baoctl.jobs.upgrade.raft_client import RaftClient, States, lag, voters
from baoctl.jobs.upgrade.step_down import hand_over
from contracts.naming import names
from managers.bao.client import BaoError, Denied, JoinOrder

JOINED_SECONDS: Final = 60.0
"""In which a server that was asked to join is a member: the answer may come before that."""


async def join_green(work: Work) -> str:
    """Join every server of green without a vote; one that is a member stays as it is.

    Raises StepFailure(Membership) for one that does not become a member: it has data of its own.
    """
    raft_client = RaftClient(work)
    missing = [pod for pod in work.env.green if pod not in await raft_client.peers()]
    for pod in missing:
        await _join(work, raft_client, pod)
    ends = min(work.ends, work.clock.monotonic() + JOINED_SECONDS)
    await replace(work, ends=ends).until("Membership", lambda: _absent(raft_client, work.env.green))
    return f"{_list(missing)} joined" if missing else "all servers of green were members"


async def wait_for_green(work: Work) -> str:
    """Wait until every server of green is close behind the leader. Raises StepFailure."""
    raft_client = RaftClient(work)
    await _must_be_members(raft_client, work.env.green)
    await work.until("Sync", lambda: _lagging(work, raft_client, work.env.green))
    return f"{_list(work.env.green)} are in sync"


async def promote_green(work: Work) -> str:
    """Give every server of green a vote. Raises StepFailure(Membership, Sync)."""
    raft_client = RaftClient(work)
    await _must_be_members(raft_client, work.env.green)
    await work.until("Sync", lambda: _lagging(work, raft_client, work.env.green))
    return await _promote(work, raft_client, work.env.green)


async def demote_blue(work: Work) -> str:
    """Move leadership to green, and remove the votes of blue. Raises StepFailure."""
    await _move(work, away=work.env.blue, to=work.env.green)
    return "green leads, and no server of blue votes"


async def repair(work: Work) -> str:
    """Return votes and leadership to blue, and remove the votes of green. Raises StepFailure."""
    raft_client = RaftClient(work)
    await _must_be_members(raft_client, work.env.blue)
    await work.until("Sync", lambda: _lagging(work, raft_client, work.env.blue))
    await _promote(work, raft_client, work.env.blue)
    await _move(work, away=work.env.green, to=work.env.blue)
    return "blue leads, and no server of green votes"


async def _join(work: Work, raft_client: RaftClient, pod: str) -> None:
    at, server = await raft_client.at(), work.env.server
    order = JoinOrder(
        leader=await at.bao.leader_address(at.leader.address),
        authority=authority_of(server),
        server_name=server.server_name or names.raft_server_name(server.cluster),
    )
    try:
        await at.bao.join(await work.address(pod), order)
    except (BaoError, Denied, OSError) as error:
        # It may be joining already; wait for that.
        if work.late:
            raise StepFailure("Membership", f"{pod} does not join: {error}") from None


async def _absent(raft_client: RaftClient, pods: Sequence[str]) -> str:
    peers = await raft_client.peers()
    missing = [pod for pod in pods if pod not in peers]
    return f"{_list(missing)} did not become members of the raft cluster" if missing else ""


async def _must_be_members(raft_client: RaftClient, pods: Sequence[str]) -> None:
    absent = await _absent(raft_client, pods)
    if absent:
        raise StepFailure("Membership", absent)


async def _lagging(work: Work, raft_client: RaftClient, pods: Sequence[str]) -> str:
    """Which servers are too far behind; "" for none, or when the lag is unknown."""
    states = await raft_client.states()
    if states is None:
        return ""
    behind = {pod: lag(pod, states) for pod in pods}
    words = [
        f"{pod} is {'an unknown number of' if far is None else far} entries behind the leader"
        for pod, far in behind.items()
        if far is None or far > work.env.sync_threshold
    ]
    return "; ".join(words)


async def _promote(work: Work, raft_client: RaftClient, pods: Sequence[str]) -> str:
    peers = await raft_client.peers()
    silent = [pod for pod in pods if pod not in voters(peers)]
    for pod in silent:
        await raft_client.promote(pod)

    async def missing() -> str:
        still = [pod for pod in pods if pod not in voters(await raft_client.peers())]
        return f"{_list(still)} do not vote" if still else ""

    await work.until("Membership", missing)
    return f"{_list(silent)} vote now" if silent else "all of them had a vote"


async def _move(work: Work, *, away: Sequence[str], to: Sequence[str]) -> None:
    """Take the votes of a set away, its leader's last. The other set must have all of its own."""
    raft_client = RaftClient(work)
    while True:
        peers = await raft_client.peers()
        powerless = [pod for pod in to if pod not in voters(peers)]
        if powerless:
            raise StepFailure("Membership", f"{_list(powerless)} do not vote; nothing was taken")
        leader = (await raft_client.at()).leader
        await _demote(
            work, raft_client, [pod for pod in away if pod in voters(peers) - {leader.pod}]
        )
        if leader.pod not in away:
            return
        if work.late:
            raise StepFailure("StepDown", f"{leader.pod} leads again and again")
        await hand_over(work, leader)
        raft_client.forget()


async def _demote(work: Work, raft_client: RaftClient, pods: Sequence[str]) -> None:
    """Remove votes, each once those that keep theirs are a majority that is alive.

    The leader does it some seconds later (its autopilot runs every ten), for all of them at once:
    a vote whose removal was requested counts as removed.
    """
    for number, pod in enumerate(pods, 1):
        going = frozenset(pods[:number])

        async def unsafe(pod: str = pod, going: frozenset[str] = going) -> str:
            left = voters(await raft_client.peers()) - going
            states = await raft_client.states()
            alive = [one for one in left if _is_well(one, states)]
            if len(alive) * 2 > len(left):
                return ""
            return f"{pod} keeps its vote: {len(alive)} of the {len(left)} others are well"

        await work.until("Membership", unsafe)
        await raft_client.demote(pod)

    async def left() -> str:
        still = voters(await raft_client.peers()).intersection(pods)
        return f"{_list(sorted(still))} still vote" if still else ""

    await work.until("Membership", left)


def _is_well(pod: str, states: States | None) -> bool:
    """Whether a server is alive; assumed where autopilot reports nothing."""
    return states is None or (pod in states and states[pod].healthy)


def _list(pods: Sequence[str]) -> str:
    return ", ".join(pods)
