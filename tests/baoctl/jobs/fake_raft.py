"""Fake raft servers of one cluster: the leader, the voters, and the requests that they received."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from baoctl.jobs.leader_client import ServerAddresses
from baoctl.jobs.upgrade.context import Work
from contracts.jobs.env import ServerEnv, UpgradeEnv
from managers.bao.client import Bao, BaoError, JoinOrder
from managers.bao.models import AutopilotState, LoginToken, Member, ServerHealth, ServerState
from runtime.testing.clock import ManualClock


class ImmediateClock(ManualClock):
    """A clock whose sleeps return immediately, after the scheduled actions of that time."""

    def __init__(self) -> None:
        super().__init__()
        self.later: list[tuple[float, Callable[[], None]]] = []

    async def sleep(self, seconds: float) -> None:
        self._move_to(self.monotonic() + seconds)
        due = [item for item in self.later if item[0] <= self.monotonic()]
        self.later = [item for item in self.later if item not in due]
        for _, happen in due:
            happen()
        # Let other waiting tasks run.
        await super().sleep(0)


@dataclass
class Raft:
    """Pods by name; the address of a pod is its name."""

    leader: str = "c-0"
    voters: set[str] = field(default_factory=lambda: {"c-0", "c-1", "c-2"})
    others: set[str] = field(default_factory=set)
    """Members without a vote."""
    ill: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)
    on_step_down: Callable[[], None] = lambda: None
    lag: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    """Pods for which a request is accepted and lost; each as often as it is listed."""
    slow: bool = False
    """Whether votes change only in `reconcile`, as by the autopilot of a real leader."""
    non_voters: set[str] | None = None
    """The record of the leader; None: equal to the votes."""
    versions: dict[str, str] = field(default_factory=dict)
    """The version that a pod reports; "" for a pod without an entry."""

    async def health(self, address: str) -> ServerHealth:
        if address in self.silent:
            raise BaoError("no answer")
        return ServerHealth(
            initialized=True,
            sealed=False,
            standby=address != self.leader,
            version=self.versions.get(address, ""),
        )

    async def login(self, address: str, mount: str, role: str, token: str) -> LoginToken:
        return LoginToken(client_token="t")

    async def step_down(self, address: str, token: str) -> None:
        self.requests.append(f"step-down {address}")
        self.on_step_down()

    async def members(self, address: str, token: str) -> tuple[Member, ...]:
        return tuple(
            Member(node_id=pod, leader=pod == self.leader, voter=pod in self.voters)
            for pod in sorted(self.voters | self.others)
        )

    async def autopilot_state(self, address: str, token: str) -> AutopilotState:
        servers = {
            pod: ServerState(
                healthy=pod not in self.ill,
                status="leader" if pod == self.leader else "voter",
                node_type="non-voter" if pod in self._record() else "voter",
                last_index=1000 - self.lag.get(pod, 0),
            )
            for pod in self.voters | self.others
        }
        return AutopilotState(servers=servers)

    async def promote(self, address: str, token: str, node_id: str) -> None:
        self.requests.append(f"promote {node_id}")
        if node_id not in self._record():
            raise BaoError("server is not a non-voter")
        self._write(self._record() - {node_id}, node_id)

    async def demote(self, address: str, token: str, node_id: str) -> None:
        self.requests.append(f"demote {node_id}")
        if node_id in self._record():
            raise BaoError("server is already a non-voter")
        self._write(self._record() | {node_id}, node_id)

    def reconcile(self) -> None:
        """Change the votes according to the record."""
        members, record = self.voters | self.others, self._record()
        self.voters, self.others = members - record, members & record

    def _record(self) -> set[str]:
        return set(self.others) if self.non_voters is None else self.non_voters

    def _write(self, record: set[str], node_id: str) -> None:
        if node_id in self.lost:
            self.lost.remove(node_id)
            return
        self.non_voters = record
        if not self.slow:
            self.reconcile()
            self.non_voters = None

    async def remove_peer(self, address: str, token: str, node_id: str) -> None:
        self.requests.append(f"remove {node_id}")
        self.others.discard(node_id)

    async def leader_address(self, address: str) -> str:
        return f"https://{self.leader}:8200"

    async def join(self, address: str, order: JoinOrder) -> bool:
        self.requests.append(f"join {address} to {order.leader}")
        self.others.add(address)
        return True

    def work(self, folder: Path, clock: ManualClock | None = None, **told: Any) -> Work:
        """An action with the given settings and a timeout of a minute."""
        (folder / "jwt").write_text("a-token")
        pods = dict.fromkeys((*sorted(self.voters | self.others), *told.get("green", ())))
        server = ServerEnv("ns", "c", tuple(pods), role="r", jwt_path=str(folder / "jwt"))
        env = UpgradeEnv(server=server, action="any", run_id="r", **told)
        clock = clock or ImmediateClock()

        async def resolve(host: str) -> str:
            return host.partition(".")[0]

        return Work(env, cast(Bao, self), clock, ServerAddresses(resolve), clock.monotonic() + 60.0)
