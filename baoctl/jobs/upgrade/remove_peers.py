"""The actions that permanently remove the servers of one pool from the raft cluster.

Uses upgrade.raft_client. Called by upgrade.main. An action removes only a server that neither leads
nor votes: an earlier action removed its vote. A removed server keeps its data and is not notified;
the operator deletes it later.
"""

from __future__ import annotations

from collections.abc import Sequence

from baoctl.jobs.upgrade.context import StepFailure, Work
from baoctl.jobs.upgrade.raft_client import RaftClient


async def remove_blue(work: Work) -> str:
    """Remove the servers of blue. Raises StepFailure(Membership) if one leads or votes."""
    return await _remove(work, work.env.blue, work.env.green)


async def remove_green(work: Work) -> str:
    """Remove the servers of green. Raises StepFailure(Membership) if one leads or votes."""
    return await _remove(work, work.env.green, work.env.blue)


async def _remove(work: Work, pods: Sequence[str], remaining: Sequence[str]) -> str:
    raft_client = RaftClient(work)
    leader = (await raft_client.session()).leader.pod
    if leader not in remaining:
        raise StepFailure(
            "Membership", f"{leader} leads, and is not in the remaining pool; nothing was removed"
        )
    removed: list[str] = []
    for pod in pods:
        # Read for each pod: the state may have changed.
        peer = (await raft_client.peers()).get(pod)
        if peer is None:
            continue
        if peer.leader or peer.voter:
            role = "leads" if peer.leader else "votes"
            raise StepFailure("Membership", f"{pod} {role} and was not removed")
        await raft_client.remove(pod)
        removed.append(pod)
    await work.until("Membership", lambda: _remaining_members(raft_client, pods))
    return f"removed {', '.join(removed)}" if removed else "none of the servers was a member"


async def _remaining_members(raft_client: RaftClient, pods: Sequence[str]) -> str:
    peers = await raft_client.peers()
    members = [pod for pod in pods if pod in peers]
    return f"{', '.join(members)} are still members" if members else ""
