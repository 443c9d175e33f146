"""The client for the raft configuration, which the leader reports and changes.

Uses upgrade.context. Called by upgrade.raft_membership and upgrade.remove_peers. The node id of a
server is the name of its pod.
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
    """Queries the leader, and keeps the login until a request is not answered.

    Every method raises JobFailure(LeaderDiscovery, Authentication), StepFailure(Membership) if the
    leader refuses the request, and BaoError if it does not answer.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._session: LeaderSession | None = None

    async def session(self) -> LeaderSession:
        """Return the current leader and a token."""
        if self._session is None:
            leader = await self._work.leader()
            token = await self._work.log_in(leader.address)
            self._session = LeaderSession(self._work.bao, leader, token)
        return self._session

    def forget(self) -> None:
        """Drop the leader and the token, so that the next request finds the leader again."""
        self._session = None

    async def peers(self) -> Peers:
        """Return all members by their node id."""
        members = await self._call(
            lambda session: session.bao.members(session.leader.address, session.token)
        )
        return {member.node_id: member for member in members}

    async def states(self) -> States | None:
        """Return the autopilot state of each member; None if autopilot is disabled."""
        session = await self.session()
        try:
            state = await session.bao.autopilot_state(session.leader.address, session.token)
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
        await self._call(
            lambda session: session.bao.promote(session.leader.address, session.token, pod)
        )

    async def demote(self, pod: str) -> None:
        """Remove the vote of a member."""
        await self._call(
            lambda session: session.bao.demote(session.leader.address, session.token, pod)
        )

    async def remove(self, pod: str) -> None:
        """Remove a member."""
        await self._call(
            lambda session: session.bao.remove_peer(session.leader.address, session.token, pod)
        )

    async def _call(self, call: Callable[[LeaderSession], Awaitable[Answer]]) -> Answer:
        try:
            return await call(await self.session())
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
    """Return the node ids of the voters."""
    return frozenset(pod for pod, member in peers.items() if member.voter)


def lag(pod: str, states: States) -> int | None:
    """Return how many log entries a server is behind the leader; None if that is unknown."""
    state = states.get(pod)
    if state is None:
        return None
    leading = [server.last_index for server in states.values() if server.status == "leader"]
    newest = leading[0] if leading else max(server.last_index for server in states.values())
    return max(0, newest - state.last_index)
