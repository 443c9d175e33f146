"""Client of the servers of one cluster over HTTPS, by pod IP and the TLS name of the cluster.

It uses no DNS, and accepts only certificates of the cluster's own CA.
API: OpenBao 2.4.0 (sys/health, auth/jwt, sys/storage/raft).
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
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
from managers.bao.exchange import Exchange, Reply, ServerRequest
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
"""Mount of the login for the ServiceAccounts of the operator and of its jobs."""
LOGIN_SETTINGS = f"auth/{OPERATOR_MOUNT}/config"
REMOVAL = 60.0
MOUNTED = "path is already in use"
NO_SHARES = "no backed-up keys found"
# Answers of sys/health: active, standby, uninitialised, sealed. Each has a body.
HEALTH_CODES = frozenset({200, 429, 501, 503})


@dataclass(frozen=True, slots=True)
class JoinOrder:
    """The leader that a server joins, and how it verifies it."""

    leader: str
    """URL, as the leader reports it."""
    authority: str = ""
    """PEM; without it `server_name` is ignored."""
    server_name: str = ""
    non_voter: bool = True

    def payload(self) -> Mapping[str, Any]:
        """Return the body of the request."""
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
        """`guard` is called before a write and when its bytes are sent.

        managers.bao.login opens the sessions of the operator, with the guard of its client; a
        process without a lease passes `allow_writes`. `plain`: without TLS, for a server in the
        same pod that listens only on loopback.
        """
        self._exchange = Exchange(authority, server_name, port, guard=guard, plain=plain)

    @property
    def unusable(self) -> str:
        """Why an answer was rejected: it exceeds a limit or has another format; "" if none was."""
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
        """Read the health of a server. Raises BaoError when it does not answer."""
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
        """Read the leader's view of its followers. Raises Denied, BaoError."""
        path = "sys/storage/raft/autopilot/state"
        code, body = await self._call("GET", address, path, token=token)
        data = data_of(granted(code, body, path))
        return self._exchange.read(AutopilotState, data, path, address)

    async def autopilot_settings(self, address: str, token: str) -> Mapping[str, Any]:
        """Read the settings of the autopilot, by the server's names. Raises Denied, BaoError."""
        code, body = await self._call("GET", address, AUTOPILOT_SETTINGS, token=token)
        return settings_of(granted(code, body, AUTOPILOT_SETTINGS))

    async def set_autopilot(self, address: str, token: str, settings: Mapping[str, Any]) -> None:
        """Write settings of the autopilot and keep the others. Raises Denied, BaoError."""
        path = AUTOPILOT_SETTINGS
        code, body = await self._call("POST", address, path, token=token, payload=settings)
        granted(code, body, path)

    async def recovery_shares(self, address: str, token: str) -> RecoveryShares | None:
        """Read the copy of the encrypted recovery shares; None when the server has none.

        Raises Denied, BaoError.
        """
        path = "sys/rotate/recovery/backup"
        code, body = await self._call("GET", address, path, token=token, bound=SHARES)
        if code == 400 and any(NO_SHARES in error for error in errors_of(body)):
            return None
        data = data_of(granted(code, body, path))
        return self._exchange.read(RecoveryShares, data, path, address)

    async def login_settings(self, address: str, token: str) -> Mapping[str, Any]:
        """Read the settings of the JWT login. Raises Denied, BaoError."""
        code, body = await self._call("GET", address, LOGIN_SETTINGS, token=token)
        return data_of(granted(code, body, LOGIN_SETTINGS))

    async def set_login_settings(
        self, address: str, token: str, settings: Mapping[str, Any]
    ) -> None:
        """Replace the settings of the JWT login; omitted ones are removed.

        Raises Denied, BaoError.
        """
        path = LOGIN_SETTINGS
        code, body = await self._call("POST", address, path, token=token, payload=settings)
        granted(code, body, path)

    async def enable_login(self, address: str, token: str) -> None:
        """Enable the JWT login, unless its path is in use. Raises Denied, BaoError."""
        path = f"sys/auth/{OPERATOR_MOUNT}"
        code, body = await self._call("POST", address, path, token=token, payload={"type": "jwt"})
        if code == 400 and any(MOUNTED in error for error in errors_of(body)):
            return
        granted(code, body, path)

    async def write(self, address: str, token: str, path: str, payload: Mapping[str, Any]) -> None:
        """Write to any path. Raises Denied, BaoError."""
        code, body = await self._call("POST", address, path, token=token, payload=payload)
        granted(code, body, path)

    async def delete(self, address: str, token: str, path: str) -> None:
        """Delete any path; a path without content is not an error. Raises Denied, BaoError.

        An engine is deleted with all its data, which may take REMOVAL seconds.
        """
        request = ServerRequest("DELETE", address, path, token, None, OWN)
        code, body = await self._exchange.send(request, REMOVAL)
        granted(code, body, path)

    async def capabilities(
        self, address: str, token: str, paths: Sequence[str]
    ) -> Mapping[str, Any]:
        """Read the capabilities of a token, by path. Raises Denied, BaoError."""
        path, payload = "sys/capabilities-self", {"paths": list(paths)}
        code, body = await self._call("POST", address, path, token=token, payload=payload)
        return data_of(granted(code, body, path))

    async def applied_index(self, address: str) -> int:
        """Read the applied index of a server, 0 if it reports none; needs no token.

        Raises BaoError, and Denied for an answer that is a refusal.
        """
        return (await self._leader(address)).raft_applied_index

    async def log_index(self, address: str) -> int:
        """Read the last index of the log of a server, 0 if it reports none; needs no token.

        Raises BaoError, and Denied for an answer that is a refusal.
        """
        return (await self._leader(address)).raft_committed_index

    async def leader_address(self, address: str) -> str:
        """Read the leader address that a server reports, "" without a leader; needs no token.

        Raises BaoError, and Denied for an answer that is a refusal.
        """
        return (await self._leader(address)).leader_address

    async def _leader(self, address: str) -> LeaderAnswer:
        path = "sys/leader"
        code, body = await self._call("GET", address, path)
        return self._exchange.read(LeaderAnswer, granted(code, body, path), path, address)

    async def rotate_root_key(self, address: str, token: str) -> None:
        """Make the leader generate a new root key and wrap it with the current key of its seal.

        Raises Denied, BaoError.
        """
        path = "sys/rotate/root"
        code, body = await self._call("POST", address, path, token=token)
        granted(code, body, path)

    async def initialize(self, address: str) -> str:
        """Initialize a cluster on a server without data and return its root token.

        For ephemeral servers only: without recovery shares, a lost root token cannot be replaced.
        Raises Denied, BaoError.
        """
        path = "sys/init"
        payload = {"recovery_shares": 0, "recovery_threshold": 0}
        code, body = await self._call("PUT", address, path, payload=payload)
        token = granted(code, body, path).get("root_token")
        if not isinstance(token, str) or not token:
            raise BaoError(f"{path} returned no token")
        return token

    async def step_down(self, address: str, token: str) -> None:
        """Ask the leader to step down. Raises Denied, BaoError.

        The answer arrives before another server becomes leader.
        """
        code, body = await self._call("PUT", address, "sys/step-down", token=token)
        granted(code, body, "sys/step-down")

    async def remove_peer(self, address: str, token: str, node_id: str) -> None:
        """Make the leader remove a raft peer. Raises Denied, BaoError.

        In OpenBao 2.4.0 the removal of a server that is not a member succeeds. A removed server
        keeps its data and is not notified: the caller must also stop it.
        """
        await self._to_peer(REMOVE_PEER, address, token, node_id)

    async def join(self, address: str, order: JoinOrder) -> bool:
        """Make a server without data join; needs no token. False: it already has data.

        Raises Denied, BaoError. The server becomes a member some time later.
        """
        code, body = await self._call("PUT", address, JOIN, payload=order.payload())
        answer = granted(code, body, JOIN)
        return self._exchange.read(JoinAnswer, data_of(answer) or answer, JOIN, address).joined

    async def promote(self, address: str, token: str, node_id: str) -> None:
        """Make the leader give a member a vote. Raises Denied, BaoError."""
        await self._to_peer(PROMOTE, address, token, node_id)

    async def demote(self, address: str, token: str, node_id: str) -> None:
        """Make the leader remove the vote of a member permanently. Raises Denied, BaoError."""
        await self._to_peer(DEMOTE, address, token, node_id)

    async def _to_peer(self, path: str, address: str, token: str, node_id: str) -> None:
        payload = {"server_id": node_id}
        code, body = await self._call("POST", address, path, token=token, payload=payload)
        granted(code, body, path)

    async def read(self, address: str, token: str, path: str) -> Mapping[str, Any]:
        """Read `data` of any path. Raises Denied, BaoError."""
        code, body = await self._call("GET", address, path, token=token, bound=CONTENT)
        return data_of(granted(code, body, path))

    @asynccontextmanager
    async def snapshot(self, address: str, token: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open the stream of a snapshot, in pieces of up to TRANSFER_BUFFER bytes.

        Opening raises Denied and BaoError, and so does the stream when it breaks. An incomplete
        stream may end without an error: only the snapshot itself shows whether it is complete.
        """
        async with self._exchange.download(address, SNAPSHOT, token) as pieces:
            yield pieces

    async def restore(
        self, address: str, token: str, body: AsyncIterable[bytes], *, force: bool
    ) -> None:
        """Send a snapshot that replaces all data. Raises Denied, BaoError.

        Without force the server refuses a snapshot that its own seal cannot open. After Denied or
        NotSentError the snapshot was not accepted; after another BaoError the result is unknown,
        because the answer may be lost. A return means that the server accepted the snapshot, not
        that it has applied it. Never retried here.
        """
        path = SNAPSHOT_FORCE if force else SNAPSHOT
        code, answer = await self._exchange.upload(address, path, token, body)
        if code == 500:
            # For a broken snapshot the errors of the answer contain the reason.
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
