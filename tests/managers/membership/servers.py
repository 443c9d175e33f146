"""A session with servers in memory.

The wire is tested in tests/managers/bao.
"""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from managers.bao.client import Bao, BaoError, Denied
from managers.bao.models import AutopilotState, LoginToken, Member, ServerHealth, ServerState

WELL = AutopilotState(
    healthy=True,
    failure_tolerance=1,
    leader="x-0",
    voters=("x-0", "x-1", "x-2"),
    servers={name: ServerState(healthy=True) for name in ("x-0", "x-1", "x-2")},
)
ALL = tuple(
    Member(node_id=name, leader=name == "x-0", voter=True) for name in ("x-0", "x-1", "x-2")
)


class Servers(Bao):
    """A fake session; tests/managers/bao tests the wire."""

    unusable = ""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.silent: set[str] = set()
        self.standby: set[str] = set()
        self.sealed = False
        self.valid: Callable[[str], bool] = lambda token: True
        self.lease = 3600
        self.logins = 0
        self.error: Exception | None = None
        self.refused = ""
        self.refused_by = Denied("permission denied", 403)
        self.autopilot: dict[str, Any] = {}
        self.state = WELL
        self.ends: dict[str, int] = {}
        """Where the log ends: of "leader", and of others by address."""
        self.raft: tuple[Member, ...] | None = None
        """The raft configuration, when it says something else than the autopilot."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.requests.append("bye")

    async def health(self, address: str) -> ServerHealth:
        self.requests.append(f"health {address}")
        if address in self.silent:
            raise BaoError("no answer")
        standby = address in self.standby
        return ServerHealth(initialized=True, sealed=self.sealed, standby=standby, cluster_id="c1")

    async def login(self, address: str, mount: str, role: str, token: str) -> LoginToken:
        self.requests.append(f"login {address} {mount} {role} {token}")
        self.logins += 1
        return LoginToken(client_token=f"t{self.logins}", lease_duration=self.lease)

    async def members(self, address: str, token: str) -> tuple[Member, ...]:
        self._grant(f"members {address}", token)
        if self.raft is not None:
            return self.raft
        voters, leader = self.state.voters or (), self.state.leader
        return tuple(
            Member(node_id=name, leader=name == leader, voter=name in voters)
            for name in self.state.servers or {}
        )

    async def autopilot_state(self, address: str, token: str) -> AutopilotState:
        self._grant(f"state {address}", token)
        return self.state

    async def autopilot_settings(self, address: str, token: str) -> Mapping[str, Any]:
        self._grant(f"autopilot {address}", token)
        return dict(self.autopilot)

    async def set_autopilot(self, address: str, token: str, settings: Mapping[str, Any]) -> None:
        self._grant(f"set autopilot {address}", token)
        self.autopilot |= settings

    async def applied_index(self, address: str) -> int:
        return self.ends.get("leader", 0)

    async def log_index(self, address: str) -> int:
        return self.ends.get(address, 0)

    async def step_down(self, address: str, token: str) -> None:
        self._grant(f"step-down {address}", token)

    async def remove_peer(self, address: str, token: str, node_id: str) -> None:
        self._grant(f"remove-peer {address} {node_id}", token)

    def _grant(self, what: str, token: str) -> None:
        self.requests.append(f"{what} {token}")
        if self.refused and what.startswith(self.refused):
            raise self.refused_by
        if self.error is not None:
            raise self.error
        if not self.valid(token):
            raise Denied("permission denied", 403)
