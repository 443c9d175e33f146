"""Asks one leader to step down, once: `rolling-stepdown-leader`.

Uses upgrade.context. Called by upgrade.main and upgrade.raft_membership. A second request makes the
successor step down (from OpenBao 2.5.4 on a standby forwards the request). So a server is asked
only right after it reported that it leads, and again only when its answer was lost and it still
leads after AGAIN_SECONDS.
"""

from __future__ import annotations

import asyncio
from typing import Final

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import SILENT, Leader, leader_in
from baoctl.jobs.upgrade.context import POLL_SECONDS, StepFailure, Work, summary
from managers.bao.client import BaoError, Denied

AGAIN_SECONDS: Final = 5.0
"""In which a leader that was asked has stepped down, though its answer was lost."""


async def step_down(work: Work) -> str:
    """Make one pod lead no more; one that does not lead is left alone.

    Raises StepFailure(StepDown), JobFailure(Authentication, LeaderDiscovery).
    """
    target = work.env.target
    lead = await _leads(work, target)
    if lead is None:
        return f"{target} does not lead; nothing was done"
    successor = await hand_over(work, lead)
    if successor.pod == target:
        # The operator sees that and asks again: a server that stepped down waits ten seconds.
        return f"{target} made way, and was elected again"
    return f"{target} handed over to {successor.pod}"


async def hand_over(work: Work, lead: Leader) -> Leader:
    """Ask a server that leads to step down, and wait until one leads that was elected then.

    It may be the same one again, if its successor could not hold on to the lead.
    """
    token = await work.log_in(lead.address)
    # The login may have taken its time, and another one may lead by now.
    if isinstance(await work.observe(lead.pod), Leader):
        await _ask(work, lead, token)
    others = [pod for pod in work.env.server.pods if pod != lead.pod]
    # Each on its own: one that does not answer must not delay the others.
    polls = [asyncio.ensure_future(_until_it_leads(work, pod)) for pod in others]
    polls.append(asyncio.ensure_future(_until_it_leads_again(work, lead.pod)))
    try:
        await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
        leaders = [poll.result() for poll in polls if poll.done()]
    finally:
        for poll in polls:
            poll.cancel()
        await asyncio.gather(*polls, return_exceptions=True)
    leader = next((one for one in leaders if one is not None), None)
    if leader is None:
        states = summary(await work.observe_all())
        raise StepFailure("StepDown", f"{lead.pod} was asked, and no other leads ({states})")
    return leader


async def _leads(work: Work, pod: str) -> Leader | None:
    """The pod as a leader; None when it reports another state, or another server leads."""
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
            raise JobFailure("LeaderDiscovery", f"nobody leads ({summary(states)})")
        await work.clock.sleep(POLL_SECONDS)


async def _ask(work: Work, lead: Leader, token: str) -> None:
    while True:
        try:
            await work.bao.step_down(lead.address, token)
        except Denied as error:
            raise JobFailure("Authentication", f"{lead.pod} does not step down: {error}") from None
        except BaoError as error:
            if work.late:
                raise StepFailure("StepDown", f"{lead.pod} was not asked: {error}") from None
            await work.clock.sleep(AGAIN_SECONDS)
            if isinstance(await work.observe(lead.pod), Leader):
                continue
        return


async def _until_it_leads(work: Work, pod: str) -> Leader | None:
    """Wait until a pod leads; None when the time is over."""
    while not work.late:
        state = await work.observe(pod)
        if isinstance(state, Leader):
            return state
        await work.clock.sleep(POLL_SECONDS)
    return None


async def _until_it_leads_again(work: Work, pod: str) -> Leader | None:
    """Wait until a pod leads that was seen not to; None when the time is over."""
    while isinstance(await work.observe(pod), Leader):
        if work.late:
            return None
        await work.clock.sleep(POLL_SECONDS)
    return await _until_it_leads(work, pod)
