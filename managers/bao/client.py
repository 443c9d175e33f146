"""One cluster's servers over HTTPS: addressed by pod IP, known by the cluster's own TLS name.

No DNS is involved, and no certificate but one of the cluster's own authority is accepted. API:
OpenBao 2.4.0 (sys/health, auth/jwt, sys/storage/raft).
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from contracts.naming.ports import API
from managers.bao.answers import (
    CONTENT,
    OWN,
    SHARES,
    BaoError,
    Bound,
    Denied,
    NotSentError,
    data_of,
    errors_of,
    granted,
    reason,
    settings_of,
)
from managers.bao.exchange import Exchange, Reply
from managers.bao.models import (
    AutopilotState,
    JoinAnswer,
    LeaderAnswer,
    LoginToken,
    Member,
    RaftAnswer,
    RecoveryShares,
    ServerHealth,
)
from runtime.client.write_guard import Guard

__all__ = [
    "AUTOPILOT_SETTINGS",
    "OPERATOR_MOUNT",
    "SNAPSHOT",
    "Bao",
    "BaoError",
    "Denied",
    "JoinOrder",
    "NotSentError",
]
SNAPSHOT = "sys/storage/raft/snapshot"
SNAPSHOT_FORCE = "sys/storage/raft/snapshot-force"
AUTOPILOT_SETTINGS = "sys/storage/raft/autopilot/configuration"
JOIN = "sys/storage/raft/join"
REMOVE_PEER = "sys/storage/raft/remove-peer"
PROMOTE = "sys/storage/raft/promote"
DEMOTE = "sys/storage/raft/demote"
OPERATOR_MOUNT = "jwt-operator"
"""Where the accounts of the operator and of its jobs log in."""
LOGIN_SETTINGS = f"auth/{OPERATOR_MOUNT}/config"
NO_SHARES = "no backed-up keys found"
# Answers of sys/health: active, standby, uninitialised, sealed. Each has a body.
HEALTH_CODES = frozenset({200, 429, 501, 503})


@dataclass(frozen=True, slots=True)
class JoinOrder:
    """Whom a server joins, and what proves that it is the right one."""

    leader: str
    """URL, as the leader itself names it."""
    authority: str = ""
    """PEM; without it the name below is not looked at."""
    server_name: str = ""
    non_voter: bool = True

    def payload(self) -> Mapping[str, Any]:
        """The body of the request."""
        fields = {
            "leader_api_addr": self.leader,
            "leader_ca_cert": self.authority,
            "leader_tls_servername": self.server_name if self.authority else "",
        }
        return {key: value for key, value in fields.items() if value} | {
            "non_voter": self.non_voter
        }


class Bao:
    """A session with the servers of one cluster. Use as an async context manager."""

    def __init__(
        self,
        authority: str,
        server_name: str,
        port: int = API.number,
        *,
        guard: Guard,
        plain: bool = False,
    ) -> None:
        """`guard` is asked before and when a request leaves that changes something.

        Sessions of the operator come from managers.bao.login, with the guard of its client; a
        process without a lease says `unguarded`. `plain`: without TLS, for a server of one's own
        pod that only the loopback reaches.
        """
        self._exchange = Exchange(authority, server_name, port, guard=guard, plain=plain)

    @property
    def unusable(self) -> str:
        """An answer that was not read, as it breaks a bound or has another form, and why."""
        return self._exchange.unusable

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; for a session that outlives one block."""
        await self._exchange.close()

    async def health(self, address: str) -> ServerHealth:
        """Ask a server how it is. Raises BaoError when it does not say."""
        code, body = await self._call("GET", address, "sys/health")
        if code not in HEALTH_CODES:
            raise BaoError(f"sys/health of {address} answered {code}")
        return self._exchange.read(ServerHealth, body, "sys/health", address)

    async def login(self, address: str, mount: str, role: str, token: str) -> LoginToken:
        """Log in with a ServiceAccount token. Raises Denied, BaoError."""
        path = f"auth/{mount}/login"
        code, body = await self._call("POST", address, path, payload={"role": role, "jwt": token})
        auth = granted(code, body, path).get("auth") or {}
        return self._exchange.read(LoginToken, auth, path, address)

    async def members(self, address: str, token: str) -> tuple[Member, ...]:
        """List the raft members. Raises Denied, BaoError."""
        path = "sys/storage/raft/configuration"
        code, body = await self._call("GET", address, path, token=token)
        return self._exchange.read(RaftAnswer, granted(code, body, path), path, address).members

    async def autopilot_state(self, address: str, token: str) -> AutopilotState:
        """Ask the leader how its followers are. Raises Denied, BaoError."""
        path = "sys/storage/raft/autopilot/state"
        code, body = await self._call("GET", address, path, token=token)
        data = data_of(granted(code, body, path))
        return self._exchange.read(AutopilotState, data, path, address)

    async def autopilot_settings(self, address: str, token: str) -> Mapping[str, Any]:
        """Read the settings of the autopilot, by the server's names. Raises Denied, BaoError."""
        code, body = await self._call("GET", address, AUTOPILOT_SETTINGS, token=token)
        return settings_of(granted(code, body, AUTOPILOT_SETTINGS))

    async def set_autopilot(self, address: str, token: str, settings: Mapping[str, Any]) -> None:
        """Write settings of the autopilot; others stay. Raises Denied, BaoError."""
        path = AUTOPILOT_SETTINGS
        code, body = await self._call("POST", address, path, token=token, payload=settings)
        granted(code, body, path)

    async def recovery_shares(self, address: str, token: str) -> RecoveryShares | None:
        """Read the copy of the encrypted recovery shares; None when the server has none.

        Raises Denied, BaoError.
        """
        path = "sys/rotate/recovery/backup"
        code, body = await self._call("GET", address, path, token=token, bound=SHARES)
        if code == 400 and any(NO_SHARES in one for one in errors_of(body)):
            return None
        data = data_of(granted(code, body, path))
        return self._exchange.read(RecoveryShares, data, path, address)

    async def login_settings(self, address: str, token: str) -> Mapping[str, Any]:
        """Read by which keys logins with a JWT are checked. Raises Denied, BaoError."""
        code, body = await self._call("GET", address, LOGIN_SETTINGS, token=token)
        return data_of(granted(code, body, LOGIN_SETTINGS))

    async def set_login_settings(
        self, address: str, token: str, settings: Mapping[str, Any]
    ) -> None:
        """Replace them; what is not named is gone. Raises Denied, BaoError."""
        path = LOGIN_SETTINGS
        code, body = await self._call("POST", address, path, token=token, payload=settings)
        granted(code, body, path)

    async def applied_index(self, address: str) -> int:
        """Ask a server how far its own copy of the data is, 0 if it does not say; needs no token.

        Raises BaoError, and Denied for an answer that is a refusal.
        """
        return (await self._leader(address)).raft_applied_index

    async def log_index(self, address: str) -> int:
        """Ask a server where its log ends, 0 if it does not say; needs no token.

        Raises BaoError, and Denied for an answer that is a refusal.
        """
        return (await self._leader(address)).raft_committed_index

    async def leader_address(self, address: str) -> str:
        """Ask a server whom it takes for the leader, "" for nobody; needs no token.

        Raises BaoError, and Denied for an answer that is a refusal.
        """
        return (await self._leader(address)).leader_address

    async def _leader(self, address: str) -> LeaderAnswer:
        path = "sys/leader"
        code, body = await self._call("GET", address, path)
        return self._exchange.read(LeaderAnswer, granted(code, body, path), path, address)

    async def rotate_root_key(self, address: str, token: str) -> None:
        """Let the leader draw a new root key and wrap it with the current key of its seal.

        Raises Denied, BaoError.
        """
        path = "sys/rotate/root"
        code, body = await self._call("POST", address, path, token=token)
        granted(code, body, path)

    async def initialize(self, address: str) -> str:
        """Make a new cluster of a server without data and return its root token.

        For a server that is thrown away: it gets no recovery shares, so once the token is gone
        nobody can ever act as root there. Raises Denied, BaoError.
        """
        path = "sys/init"
        payload = {"recovery_shares": 0, "recovery_threshold": 0}
        code, body = await self._call("PUT", address, path, payload=payload)
        token = granted(code, body, path).get("root_token")
        if not isinstance(token, str) or not token:
            raise BaoError(f"{path} gave no token")
        return token

    async def step_down(self, address: str, token: str) -> None:
        """Ask the leader to hand over its lead. Raises Denied, BaoError.

        The answer comes before the lead has moved.
        """
        code, body = await self._call("PUT", address, "sys/step-down", token=token)
        granted(code, body, "sys/step-down")

    async def remove_peer(self, address: str, token: str, node_id: str) -> None:
        """Let the leader take a server out of the raft cluster. Raises Denied, BaoError.

        A server that is no member is no error to OpenBao 2.4.0. The one that is removed keeps its
        data and is not told: whoever asks for this also ends it.
        """
        await self._to_peer(REMOVE_PEER, address, token, node_id)

    async def join(self, address: str, order: JoinOrder) -> bool:
        """Tell a server without data to join; needs no token. False: it has data already.

        Raises Denied, BaoError. The server is a member some time after this.
        """
        code, body = await self._call("PUT", address, JOIN, payload=order.payload())
        answer = granted(code, body, JOIN)
        return self._exchange.read(JoinAnswer, data_of(answer) or answer, JOIN, address).joined

    async def promote(self, address: str, token: str, node_id: str) -> None:
        """Let the leader give a member a vote. Raises Denied, BaoError."""
        await self._to_peer(PROMOTE, address, token, node_id)

    async def demote(self, address: str, token: str, node_id: str) -> None:
        """Let the leader take the vote of a member away, for good. Raises Denied, BaoError."""
        await self._to_peer(DEMOTE, address, token, node_id)

    async def _to_peer(self, path: str, address: str, token: str, node_id: str) -> None:
        payload = {"server_id": node_id}
        code, body = await self._call("POST", address, path, token=token, payload=payload)
        granted(code, body, path)

    async def read(self, address: str, token: str, path: str) -> Mapping[str, Any]:
        """Read `data` of whatever path. Raises Denied, BaoError."""
        code, body = await self._call("GET", address, path, token=token, bound=CONTENT)
        return data_of(granted(code, body, path))

    @asynccontextmanager
    async def snapshot(self, address: str, token: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open the stream of a snapshot, in pieces of up to TRANSFER_BUFFER bytes.

        Opening raises Denied and BaoError, and so does the stream when it breaks. It may break in
        good order: whether a snapshot is whole is written in the snapshot alone.
        """
        async with self._exchange.download(address, SNAPSHOT, token) as pieces:
            yield pieces

    async def restore(
        self, address: str, token: str, body: AsyncIterable[bytes], *, force: bool
    ) -> None:
        """Send a snapshot that replaces all data. Raises Denied, BaoError.

        Without force the server refuses one that its own seal cannot open. Denied and NotSentError
        mean that nothing was taken; another BaoError leaves open what became of it: the answer may
        be what was lost. A return means that it was taken, and not that it is applied. Never
        retried here.
        """
        path = SNAPSHOT_FORCE if force else SNAPSHOT
        code, answer = await self._exchange.upload(address, path, token, body)
        if code == 500:
            # That a snapshot is broken is told so, with the reason in its errors.
            raise BaoError(f"{path} answered 500: {reason(answer)}")
        granted(code, answer, path)

    async def _call(
        self,
        method: str,
        address: str,
        path: str,
        *,
        token: str = "",
        payload: Mapping[str, Any] | None = None,
        bound: Bound = OWN,
    ) -> Reply:
        return await self._exchange.call(method, address, path, token, payload, bound)
