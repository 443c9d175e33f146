"""Asking the servers: who they are, and whom their leader counts as a member."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from contracts.observed import PodFacts
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.models import Member
from managers.membership.plan import Answers
from runtime.clock import Clock

OPERATOR_MOUNT = "jwt-operator"
OPERATOR_ROLE = "openbao-operator"
# A token is used for at most this long; well below the hour that its role grants.
TOKEN_SECONDS = 600.0


class TokenSource(Protocol):
    """Where a login comes from."""

    async def token(self, bao: Bao, address: str) -> str:
        """Return a token for the servers; raises Denied, BaoError."""
        ...


@dataclass(slots=True)
class ServiceAccountLogin:
    """Logs in with the operator's own projected token, and keeps the answer for a while."""

    token_file: Path
    clock: Clock
    _token: str = ""
    _until: float = 0.0

    async def token(self, bao: Bao, address: str) -> str:
        now = self.clock.monotonic()
        if self._token and now < self._until:
            return self._token
        try:
            projected = await asyncio.to_thread(self.token_file.read_text)
        except OSError as error:
            raise Denied(f"no token of the operator's own at {self.token_file}") from error
        login = await bao.login(address, OPERATOR_MOUNT, OPERATOR_ROLE, projected.strip())
        self._token = login.client_token
        self._until = now + min(TOKEN_SECONDS, login.lease_duration / 2)
        return self._token

    def forget(self) -> None:
        """Drop a token that a server refused."""
        self._until = 0.0


@dataclass(frozen=True, slots=True)
class StoredToken:
    """The root token that the first boot left in a Secret."""

    value: str

    async def token(self, bao: Bao, address: str) -> str:
        return self.value


async def ask(bao: Bao, pods: Sequence[PodFacts], login: TokenSource | None) -> Answers:
    """Ask every ready server for its cluster, and the leader for the members."""
    ready = [pod for pod in pods if pod.ready and pod.ip]
    ids = dict(await asyncio.gather(*(_cluster_id(bao, pod) for pod in ready)))
    leaders = [pod for pod in ready if pod.registration.active]
    if not leaders:
        return Answers(ids, None, "no ready server says that it leads")
    if login is None:
        return Answers(
            ids, None, "the operator has no login of its own (spec.selfInit.oidc.enabled)"
        )
    try:
        members = await _members(bao, leaders[0].ip, login)
    except (BaoError, Denied) as error:
        return Answers(ids, None, f"{leaders[0].name} was asked for the members: {error}")
    return Answers(ids, members, "")


async def _members(bao: Bao, address: str, login: TokenSource) -> tuple[Member, ...]:
    try:
        return await bao.members(address, await login.token(bao, address))
    except Denied:
        if not isinstance(login, ServiceAccountLogin):
            raise
        # The token may have ended before its time: the storage was restored, or an admin acted.
        login.forget()
        return await bao.members(address, await login.token(bao, address))


async def _cluster_id(bao: Bao, pod: PodFacts) -> tuple[str, str]:
    try:
        return pod.name, (await bao.health(pod.ip)).cluster_id
    except BaoError:
        return pod.name, ""
