"""The context of an upgrade action: the servers, the clock, and the deadline.

Uses leader_client. Called by the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from baoctl.jobs.failures import JobFailure, shorten
from baoctl.jobs.leader_client import (
    Leader,
    NoAnswerToLogin,
    ServerAddresses,
    leader_in,
    log_in,
    observe_server,
    observe_servers,
)
from contracts.exit_codes import STEP_EXIT_CODES, StepClass
from contracts.jobs.env import UpgradeEnv
from managers.bao.client import Bao, BaoError
from runtime.clock import Clock

POLL_SECONDS: Final = 0.1
LOGIN_SECONDS: Final = 0.5


class StepFailure(Exception):  # noqa: N818  named after what happened
    """The action failed; `failure` is the class of the step that failed."""

    def __init__(self, failure: StepClass, message: str) -> None:
        super().__init__(shorten(message))
        self.failure: StepClass = failure

    @property
    def exit_code(self) -> int:
        """Exit status of the process."""
        return STEP_EXIT_CODES[self.failure]


@dataclass(frozen=True, slots=True)
class Work:
    """One action: its variables, its clients and its deadline."""

    env: UpgradeEnv
    bao: Bao
    clock: Clock
    addresses: ServerAddresses
    ends: float
    """The deadline, on the monotonic clock."""

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.clock.monotonic() >= self.ends

    async def observe_all(self) -> dict[str, Leader | str]:
        """Query the state of all pods: a Leader, or the name of another state."""
        return await observe_servers(self.bao, self.env.server, self.addresses)

    async def observe(self, pod: str) -> Leader | str:
        """Query the state of one pod."""
        return await observe_server(self.bao, pod, self.env.server.host(pod), self.addresses)

    async def address(self, pod: str) -> str:
        """Return the address of a pod. Raises OSError."""
        return await self.addresses.resolve(self.env.server.host(pod))

    async def log_in(self, address: str) -> str:
        """Return a token for the server at an address. Raises JobFailure(Authentication).

        Retries until the deadline if the server does not answer or returns an internal error: a
        cluster that is being upgraded may have no leader for a moment.
        """
        while True:
            try:
                return await log_in(self.bao, address, self.env.server)
            except NoAnswerToLogin:
                if self.late:
                    raise
            await self.clock.sleep(LOGIN_SECONDS)

    async def until(self, failure: StepClass, missing: Callable[[], Awaitable[str]]) -> None:
        """Call `missing` until it returns "". Raises StepFailure with its text at the deadline.

        An error of a server counts as a text: the call is repeated.
        """
        while True:
            try:
                what = await missing()
            except BaoError as error:
                what = str(error)
            if not what:
                return
            if self.late:
                raise StepFailure(failure, what)
            await self.clock.sleep(POLL_SECONDS)

    async def leader(self) -> Leader:
        """Find the leader. Raises JobFailure(LeaderDiscovery) at the deadline."""
        while True:
            states = await self.observe_all()
            leader = leader_in(states)
            if leader is not None:
                return leader
            if self.late:
                raise JobFailure("LeaderDiscovery", f"no single server leads ({summary(states)})")
            await self.clock.sleep(POLL_SECONDS)


Action = Callable[[Work], Awaitable[str]]
"""Executes one action and returns a line for the report. Raises StepFailure, JobFailure."""


def summary(states: dict[str, Leader | str]) -> str:
    """Return the state of each pod, for a message."""
    words = {pod: state if isinstance(state, str) else "leads" for pod, state in states.items()}
    return "; ".join(f"{pod}: {word}" for pod, word in words.items()) or "no pod"
