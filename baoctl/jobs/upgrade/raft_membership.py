"""The actions that join the servers of green, and move the votes between blue and green.

Uses upgrade.raft_client and upgrade.step_down. Called by upgrade.main. Each action reads the state
first and makes only the missing changes, so it can be repeated and can continue an earlier action.
A vote is removed only if a majority of the remaining voters is healthy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from baoctl.jobs.leader_client import Leader, authority_of
from baoctl.jobs.upgrade.context import StepFailure, Work
from baoctl.jobs.upgrade.raft_client import RaftClient, States, lag, voters
from baoctl.jobs.upgrade.step_down import hand_over
from contracts.naming import names
from managers.bao.client import BaoError, Denied, JoinOrder
from managers.upgrade.version_matrix import succession

JOINED_SECONDS: Final = 60.0
"""Time limit until a joining server is a member; it may answer the join request earlier."""
RECORD_SECONDS: Final = 5.0
"""Time until the state of autopilot shows a requested vote; it is updated every two seconds."""


async def join_green(work: Work) -> str:
    """Join every server of green as a non-voter; existing members are not changed.

    Raises StepFailure(Membership) if a server does not become a member, for example because it
    already has data.
    """
    raft_client = RaftClient(work)
    missing = [pod for pod in work.env.green if pod not in await raft_client.peers()]
    for pod in missing:
        await _join(work, raft_client, pod)
    ends = min(work.ends, work.clock.monotonic() + JOINED_SECONDS)
    await replace(work, ends=ends).until(
        "Membership", lambda: _missing_members(raft_client, work.env.green)
    )
    votes = voters(await raft_client.peers())
    # If a join request was lost, autopilot has no record of the non-voter and would promote it.
    without_vote = [pod for pod in work.env.green if pod not in votes]
    await _change_votes(work, raft_client, without_vote, vote=False)
    return f"{_list(missing)} joined" if missing else "all servers of green were already members"


async def wait_for_green(work: Work) -> str:
    """Wait until every server of green is close behind the leader. Raises StepFailure."""
    raft_client = RaftClient(work)
    await _must_be_members(raft_client, work.env.green)
    await work.until("Sync", lambda: _lag_message(work, raft_client, work.env.green))
    return f"{_list(work.env.green)} are in sync"


async def promote_green(work: Work) -> str:
    """Give every server of green a vote. Raises StepFailure(Membership, Sync)."""
    raft_client = RaftClient(work)
    await _must_be_members(raft_client, work.env.green)
    await work.until("Sync", lambda: _lag_message(work, raft_client, work.env.green))
    return await _promote(work, raft_client, work.env.green)


async def demote_blue(work: Work) -> str:
    """Move leadership to green, and remove the votes of blue. Raises StepFailure."""
    await _move(work, away=work.env.blue, to=work.env.green)
    return "green leads, and no server of blue votes"


async def repair(work: Work) -> str:
    """Return votes and leadership to blue, and remove the votes of green. Raises StepFailure."""
    raft_client = RaftClient(work)
    await _must_be_members(raft_client, work.env.blue)
    # Before any vote changes: a voter of blue could be elected if the leader of green failed.
    await _check_successors(work, (await raft_client.session()).leader, work.env.blue)
    await work.until("Sync", lambda: _lag_message(work, raft_client, work.env.blue))
    await _promote(work, raft_client, work.env.blue)
    await _move(work, away=work.env.green, to=work.env.blue)
    return "blue leads, and no server of green votes"


async def _join(work: Work, raft_client: RaftClient, pod: str) -> None:
    session, server = await raft_client.session(), work.env.server
    order = JoinOrder(
        leader=await session.bao.leader_address(session.leader.address),
        authority=authority_of(server),
        server_name=server.server_name or names.raft_server_name(server.cluster),
    )
    try:
        await session.bao.join(await work.address(pod), order)
    except (BaoError, Denied, OSError) as error:
        # The server may be joining already: the caller waits for it.
        if work.late:
            raise StepFailure("Membership", f"{pod} does not join: {error}") from None


async def _missing_members(raft_client: RaftClient, pods: Sequence[str]) -> str:
    peers = await raft_client.peers()
    missing = [pod for pod in pods if pod not in peers]
    return f"{_list(missing)} did not become members of the raft cluster" if missing else ""


async def _must_be_members(raft_client: RaftClient, pods: Sequence[str]) -> None:
    problem = await _missing_members(raft_client, pods)
    if problem:
        raise StepFailure("Membership", problem)


async def _lag_message(work: Work, raft_client: RaftClient, pods: Sequence[str]) -> str:
    """Return a message about servers that are too far behind; "" for none or without autopilot."""
    states = await raft_client.states()
    if states is None:
        return ""
    lags = {pod: lag(pod, states) for pod in pods}
    words = [
        f"{pod} is {'an unknown number of' if count is None else count} entries behind the leader"
        for pod, count in lags.items()
        if count is None or count > work.env.sync_threshold
    ]
    return "; ".join(words)


async def _promote(work: Work, raft_client: RaftClient, pods: Sequence[str]) -> str:
    peers = await raft_client.peers()
    nonvoters = [pod for pod in pods if pod not in voters(peers)]
    await _change_votes(work, raft_client, pods, vote=True)
    return f"promoted {_list(nonvoters)} to voters" if nonvoters else "all were already voters"


async def _move(work: Work, *, away: Sequence[str], to: Sequence[str]) -> None:
    """Remove the votes of a pool, the leader's last. All servers of the other pool must vote."""
    raft_client = RaftClient(work)
    while True:
        peers = await raft_client.peers()
        nonvoters = [pod for pod in to if pod not in voters(peers)]
        if nonvoters:
            raise StepFailure("Membership", f"{_list(nonvoters)} do not vote; no vote was removed")
        leader = (await raft_client.session()).leader
        followers = [pod for pod in away if pod in voters(peers) - {leader.pod}]
        await _change_votes(work, raft_client, followers, vote=False)
        if leader.pod not in away:
            return
        if work.late:
            raise StepFailure("StepDown", f"{leader.pod} is elected again after each step-down")
        await _check_successors(work, leader, to)
        await hand_over(work, leader)
        raft_client.forget()


async def _check_successors(work: Work, leader: Leader, pods: Sequence[str]) -> None:
    """Raise StepFailure(StepDown) if a pod runs a release that cannot lead after this leader.

    If this leader stepped down, no server would lead.
    """
    for pod in pods:
        try:
            health = await work.bao.health(await work.address(pod))
        except (BaoError, OSError):
            continue
        verdict = succession(health.version, leader.health.version)
        if verdict.grade == "impossible":
            raise StepFailure(
                "StepDown",
                f"{leader.pod} ({leader.health.version}) keeps the leadership, because {pod} "
                f"({health.version}) could not take it: {verdict.why}",
            )


async def _change_votes(
    work: Work, raft_client: RaftClient, pods: Sequence[str], *, vote: bool
) -> None:
    """Give or remove votes; remove a vote only if most of the remaining voters are healthy.

    The leader records a request, and changes all requested votes together some seconds later: its
    autopilot runs every ten seconds. So a vote whose removal was requested counts as removed.

    A leader of OpenBao 2.4.0 to 2.7.2 may lose a request that it answered with 204. Its autopilot
    restores the record that it read before the request was written, and adds the next request to
    the old record. So a request that is missing in the record is repeated.
    """
    requested: dict[str, float] = {}

    async def missing() -> str:
        votes, states = voters(await raft_client.peers()), await raft_client.states()
        record, now = {pod: _recorded_vote(pod, states) for pod in pods}, work.clock.monotonic()
        pending = [pod for pod in pods if (pod in votes) is not vote or record[pod] is (not vote)]
        for pod in pending:
            due = pod not in requested or now - requested[pod] >= RECORD_SECONDS
            if record[pod] is vote or not due:
                continue
            removed = {*requested, pod, *(name for name in pods if record[name] is False)}
            reason = "" if vote else _unsafe(pod, votes - removed, states)
            if reason:
                return reason
            requested[pod] = now
            await (raft_client.promote if vote else raft_client.demote)(pod)
        return f"{_list(pending)} {'do not' if vote else 'still'} vote" if pending else ""

    await work.until("Membership", missing)


def _recorded_vote(pod: str, states: States | None) -> bool | None:
    """Return the vote in the record of autopilot; None without autopilot or without an entry."""
    state = None if states is None else states.get(pod)
    return {"voter": True, "non-voter": False}.get(state.node_type) if state else None


def _unsafe(pod: str, remaining: frozenset[str], states: States | None) -> str:
    """Return why a vote must not be removed; "" if most of the remaining voters are healthy."""
    alive = [voter for voter in remaining if _is_healthy(voter, states)]
    if len(alive) * 2 > len(remaining):
        return ""
    return f"{pod} keeps its vote: {len(alive)} of the {len(remaining)} others are healthy"


def _is_healthy(pod: str, states: States | None) -> bool:
    """Return whether a server is healthy; without autopilot it is assumed to be."""
    return states is None or (pod in states and states[pod].healthy)


def _list(pods: Sequence[str]) -> str:
    return ", ".join(pods)
