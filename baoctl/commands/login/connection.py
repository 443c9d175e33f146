"""Connects this machine to a server of a cluster, and logs in until the end of a block.

Uses runtime.client.client, managers.bao.client and baoctl.commands.login.processes. Called by
baoctl.commands.login.session and baoctl.commands.bench.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.login import processes
from baoctl.commands.login.reads import LoginOptions, read_authority
from baoctl.commands.login.target import LOOPBACK, leader_of, trust_of
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.conditions.message import clean_message
from contracts.naming import labels
from contracts.naming.ports import API
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.models import LoginToken
from managers.context.sensitive import SensitiveString
from runtime.builtin_kinds import POD
from runtime.client.listing import ListOptions
from runtime.client.write_guard import allow_writes
from runtime.types import Object

REVOKE: Final = "auth/token/revoke-self"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ActiveServer:
    """The active server of a cluster, and the name and CA to verify its certificate."""

    pod: str
    server_name: str
    authority: str
    """CA certificates in PEM; "" for the CAs of this machine."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a server as seen from this machine."""

    server: ActiveServer
    address: str
    port: int

    def session(self) -> Bao:
        """Return a session with this server. Use as an async context manager."""
        server = self.server
        return Bao(server.authority, server.server_name, self.port, guard=allow_writes)


async def active_server(api: Session, options: LoginOptions, live: Object) -> ActiveServer:
    """Return the active server of a cluster. Raises RequestError with the reason for none."""
    trust = trust_of(live)
    servers = ListOptions(label_selector=labels.selector_text(labels.servers(options.cluster)))
    pods = await api.client.list(POD, api.namespace, options=servers)
    pod = leader_of(options.cluster, pods.items)
    return ActiveServer(pod, trust.server_name, await read_authority(api, options, trust, live))


@asynccontextmanager
async def forward_port(
    api: Session, access: Access, server: ActiveServer, folder: Path
) -> AsyncIterator[ServerAddress]:
    """Forward a local port to a server until the end of the block. Raises RequestError."""
    arguments = processes.kubectl_arguments(access, api.namespace, server.pod, API.number)
    async with processes.port_forward(arguments, server.pod, folder, api.clock) as port:
        yield ServerAddress(server, LOOPBACK, port)


@asynccontextmanager
async def log_in(
    bao: Bao, address: str, options: LoginOptions, jwt: SensitiveString
) -> AsyncIterator[LoginToken]:
    """Log in, and revoke the token at the end of the block. Raises RequestError."""
    role = options.role or options.service_account
    try:
        health = await bao.health(address)
        if health.sealed:
            raise RequestError(
                f"{options.cluster} is sealed; kubectl bao doctor names the cause",
                ExitCode.NOT_READY,
            )
        # Complete it even if the task is cancelled: an issued token must be revoked.
        login_token = await run_to_completion(
            bao.login(address, options.auth_path, role, jwt.reveal())
        )
    except Denied as error:
        raise RequestError(
            f"role {role} of ServiceAccount {options.service_account}: {error}; check --role, "
            "--auth-path and --audience against the role",
            ExitCode.REFUSED,
        ) from None
    except BaoError as error:
        raise response_error(error) from None
    try:
        raise_if_cancelled()
        yield login_token
    finally:
        await _revoke(bao, address, login_token)


def response_error(error: BaoError) -> RequestError:
    """Return the error of a verb for a failed request to a server."""
    return RequestError(f"{error}; try again, then see kubectl bao doctor")


async def run_to_completion(request: Awaitable[T]) -> T:
    """Complete a request and return its response, even if this task is cancelled meanwhile.

    Call raise_if_cancelled once the response is handled.
    """
    task = asyncio.ensure_future(request)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        # This wait is bounded, because a request to a server has its own deadline.
        return await task


def raise_if_cancelled() -> None:
    """Raise CancelledError if run_to_completion has deferred a cancellation."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _revoke(bao: Bao, address: str, login_token: LoginToken) -> None:
    try:
        await bao.write(address, login_token.client_token, REVOKE, {})
    except (BaoError, Denied) as error:
        processes.warn(
            clean_message(
                f"The token was not revoked: {error}; it expires {login_token.lease_duration} s "
                "after the login."
            )
        )
