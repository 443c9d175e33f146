"""Asks the leader to step down, once: `rolling-stepdown-leader`.

Uses upgrade.context. Called by upgrade.main and upgrade.raft_membership. A second request would
make the successor step down: since OpenBao 2.5.4, a standby forwards the request to the leader. So
the job sends the request only immediately after the server reported that it leads. It repeats the
request only if the response was lost and the server still leads after AGAIN_SECONDS.
"""

from __future__ import annotations

import asyncio
from typing import Final

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import SILENT, Leader, leader_in
from baoctl.jobs.upgrade.context import POLL_SECONDS, StepFailure, Work, summary
from managers.bao.client import BaoError, Denied

AGAIN_SECONDS: Final = 5.0
"""Time until a leader has stepped down if the response was lost."""


async def step_down(work: Work) -> str:
    """Make the target pod step down if it leads.

    Raises StepFailure(StepDown), JobFailure(Authentication, LeaderDiscovery).
    """
    target = work.env.target
    leader = await _leads(work, target)
    if leader is None:
        return f"{target} does not lead; nothing was done"
    successor = await hand_over(work, leader)
    if successor.pod == target:
        # The operator retries. A server that stepped down waits ten seconds before it can lead.
        return f"{target} stepped down, and was elected again"
    return f"{target} handed over to {successor.pod}"


async def hand_over(work: Work, leader: Leader) -> Leader:
    """Ask a leader to step down, wait for the next leader, and return it.

    The next leader may be the same server, if its successor lost the leadership.
    """
    token = await work.log_in(leader.address)
    # Another server may have become the leader during the login.
    if isinstance(await work.observe(leader.pod), Leader):
        await _ask(work, leader, token)
    others = [pod for pod in work.env.server.pods if pod != leader.pod]
    # Each pod has its own task: one that does not answer must not delay the others.
    polls = [asyncio.ensure_future(_until_it_leads(work, pod)) for pod in others]
    polls.append(asyncio.ensure_future(_until_it_leads_again(work, leader.pod)))
    try:
        await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
        leaders = [poll.result() for poll in polls if poll.done()]
    finally:
        for poll in polls:
            poll.cancel()
        await asyncio.gather(*polls, return_exceptions=True)
    successor = next((state for state in leaders if state is not None), None)
    if successor is None:
        states = summary(await work.observe_all())
        raise StepFailure(
            "StepDown", f"no server leads after the step-down of {leader.pod} ({states})"
        )
    return successor


async def _leads(work: Work, pod: str) -> Leader | None:
    """Return the leader if it is this pod; None if the pod or another server shows that it is not.

    Raises JobFailure(LeaderDiscovery) at the deadline.
    """
    while True:
        state = await work.observe(pod)
        if isinstance(state, Leader):
            return state
        if state not in SILENT:
            return None
        states = await work.observe_all()
        if leader_in(states) is not None:
            return None
        if work.late:
            raise JobFailure("LeaderDiscovery", f"no server leads ({summary(states)})")
        await work.clock.sleep(POLL_SECONDS)


async def _ask(work: Work, leader: Leader, token: str) -> None:
    while True:
        try:
            await work.bao.step_down(leader.address, token)
        except Denied as error:
            raise JobFailure(
                "Authentication", f"{leader.pod} does not step down: {error}"
            ) from None
        except BaoError as error:
            if work.late:
                raise StepFailure(
                    "StepDown", f"{leader.pod} does not answer the step-down request: {error}"
                ) from None
            await work.clock.sleep(AGAIN_SECONDS)
            if isinstance(await work.observe(leader.pod), Leader):
                continue
        return


async def _until_it_leads(work: Work, pod: str) -> Leader | None:
    """Wait until a pod leads; None at the deadline."""
    while not work.late:
        state = await work.observe(pod)
        if isinstance(state, Leader):
            return state
        await work.clock.sleep(POLL_SECONDS)
    return None


async def _until_it_leads_again(work: Work, pod: str) -> Leader | None:
    """Wait until a pod stops leading and leads again; None at the deadline."""
    while isinstance(await work.observe(pod), Leader):
        if work.late:
            return None
        await work.clock.sleep(POLL_SECONDS)
    return await _until_it_leads(work, pod)
