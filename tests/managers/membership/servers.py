"""Servers that answer from memory in the place of a session.

The wire is tested in tests/managers/bao.
"""

from collections.abc import Callable
from types import TracebackType

from managers.bao.client import Bao, BaoError, Denied
from managers.bao.models import Health, Login, Member

ALL = (Member(node_id="x-0", leader=True, voter=True),)


class Servers(Bao):
    """Answers in the place of a session; the wire is tested in tests/managers/bao."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent: set[str] = set()
        self.standby: set[str] = set()
        self.sealed = False
        self.valid: Callable[[str], bool] = lambda token: True
        self.lease = 3600
        self.logins = 0
        self.trouble: Exception | None = None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.asked.append("bye")

    async def health(self, address: str) -> Health:
        self.asked.append(f"health {address}")
        if address in self.silent:
            raise BaoError("no answer")
        standby = address in self.standby
        return Health(initialized=True, sealed=self.sealed, standby=standby, cluster_id="c1")

    async def login(self, address: str, mount: str, role: str, token: str) -> Login:
        self.asked.append(f"login {address} {mount} {role} {token}")
        self.logins += 1
        return Login(client_token=f"t{self.logins}", lease_duration=self.lease)

    async def members(self, address: str, token: str) -> tuple[Member, ...]:
        self.asked.append(f"members {address} {token}")
        if self.trouble is not None:
            raise self.trouble
        if not self.valid(token):
            raise Denied("permission denied")
        return ALL
