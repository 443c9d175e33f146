"""The actions that remove the servers of one pool from the raft cluster, permanently.

Uses upgrade.raft_client. Called by upgrade.main. Only a server that neither leads nor votes is
removed: its vote was removed before, or it is gone. A removed server keeps its data and is not
notified; the operator deletes it afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from baoctl.jobs.upgrade.context import StepFailure, Work
from baoctl.jobs.upgrade.raft_client import RaftClient


async def remove_blue(work: Work) -> str:
    """Take blue out, which has no votes any more. Raises StepFailure(Membership)."""
    return await _remove(work, work.env.blue, work.env.green)


async def remove_green(work: Work) -> str:
    """Take green out, which has no votes. Raises StepFailure(Membership)."""
    return await _remove(work, work.env.green, work.env.blue)


async def _remove(work: Work, pods: Sequence[str], stays: Sequence[str]) -> str:
    raft_client = RaftClient(work)
    leader = (await raft_client.at()).leader.pod
    if leader not in stays:
        raise StepFailure("Membership", f"{leader} leads, and is to go; nothing was removed")
    gone: list[str] = []
    for pod in pods:
        # Read again for each: the state may have changed since the first.
        peer = (await raft_client.peers()).get(pod)
        if peer is None:
            continue
        if peer.leader or peer.voter:
            role = "leads" if peer.leader else "votes"
            raise StepFailure("Membership", f"{pod} {role} and was not removed")
        await raft_client.remove(pod)
        gone.append(pod)
    await work.until("Membership", lambda: _left(raft_client, pods))
    return f"{', '.join(gone)} removed" if gone else "none of them was a member any more"


async def _left(raft_client: RaftClient, pods: Sequence[str]) -> str:
    peers = await raft_client.peers()
    left = [pod for pod in pods if pod in peers]
    return f"{', '.join(left)} are still members" if left else ""
