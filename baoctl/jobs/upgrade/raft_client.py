"""The raft configuration of the servers, as their leader reports and changes it.

Uses upgrade.context. Called by upgrade.raft_membership and upgrade.remove_peers. A server is
identified by its node id, which is the name of its pod.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import LeaderSession
from baoctl.jobs.upgrade.context import StepFailure, Work
from managers.bao.client import BaoError, Denied
from managers.bao.models import Member, ServerState

Answer = TypeVar("Answer")
Peers = Mapping[str, Member]
States = Mapping[str, ServerState]


class RaftClient:
    """Asks the present leader, with a login that is kept until the leader changes or falls silent.

    Every method raises JobFailure(LeaderDiscovery, Authentication), StepFailure(Membership) for
    what the leader refuses, and BaoError when it does not answer.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._at: LeaderSession | None = None

    async def at(self) -> LeaderSession:
        """The leader as last found, and a token."""
        if self._at is None:
            leader = await self._work.leader()
            token = await self._work.log_in(leader.address)
            self._at = LeaderSession(self._work.bao, leader, token)
        return self._at

    def forget(self) -> None:
        """Find the leader again before the next request."""
        self._at = None

    async def peers(self) -> Peers:
        """All members by their node id."""
        members = await self._ask(lambda at: at.bao.members(at.leader.address, at.token))
        return {one.node_id: one for one in members}

    async def states(self) -> States | None:
        """How its autopilot sees each member; None when that is turned off."""
        at = await self.at()
        try:
            state = await at.bao.autopilot_state(at.leader.address, at.token)
        except Denied as error:
            if error.code == 404:
                return None
            raise _refused(error) from None
        except BaoError:
            self.forget()
            raise
        return state.servers or {}

    async def promote(self, pod: str) -> None:
        """Give a member a vote."""
        await self._ask(lambda at: at.bao.promote(at.leader.address, at.token, pod))

    async def demote(self, pod: str) -> None:
        """Take the vote of a member away."""
        await self._ask(lambda at: at.bao.demote(at.leader.address, at.token, pod))

    async def remove(self, pod: str) -> None:
        """Take a member out."""
        await self._ask(lambda at: at.bao.remove_peer(at.leader.address, at.token, pod))

    async def _ask(self, call: Callable[[LeaderSession], Awaitable[Answer]]) -> Answer:
        try:
            return await call(await self.at())
        except Denied as error:
            raise _refused(error) from None
        except BaoError:
            self.forget()
            raise


def _refused(error: Denied) -> JobFailure | StepFailure:
    if error.code == 403:
        return JobFailure("Authentication", f"the role of the job may not do this: {error}")
    return StepFailure("Membership", f"the leader refuses: {error}")


def voters(peers: Peers) -> frozenset[str]:
    """The ids of those that vote."""
    return frozenset(pod for pod, one in peers.items() if one.voter)


def lag(pod: str, states: States) -> int | None:
    """Entries of the log that a server is behind the leader; None while it is unknown."""
    state = states.get(pod)
    if state is None:
        return None
    leading = [one.last_index for one in states.values() if one.status == "leader"]
    newest = leading[0] if leading else max(one.last_index for one in states.values())
    return max(0, newest - state.last_index)
