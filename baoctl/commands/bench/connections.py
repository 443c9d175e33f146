"""The connections of a measurement, and the token of its requests.

Uses managers.bao.client and baoctl.commands.login.connection. Called by baoctl.commands.bench.run.
"""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.bench.options import BenchOptions
from baoctl.commands.bench.readiness import token_obstacle
from baoctl.commands.bench.workload import Worker
from baoctl.commands.login import processes
from baoctl.commands.login.connection import (
    ServerAddress,
    active_server,
    forward_port,
    log_in,
    response_error,
)
from baoctl.commands.login.reads import account_token
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.models import LoginToken, ServerHealth
from runtime.types import Object

TOKEN: Final = "BAO_TOKEN"  # noqa: S105  the name of a variable
MARGIN_SECONDS: Final = 180.0
"""Time for which a token must be valid in addition to the load, to create and remove the keys."""
SPARE_SECONDS: Final = 900.0
"""Time for which the token of a killed run stays valid after the load."""
LOOKUP: Final = "auth/token/lookup-self"
RENEWAL: Final = "auth/token/renew-self"


@dataclass(frozen=True, slots=True)
class WorkerConnections:
    """The workers of a run, and the servers to which they are connected."""

    target: ServerAddress
    workers: tuple[Worker, ...]
    version: str
    standbys: int
    """Number of connections to a standby."""


@asynccontextmanager
async def connect_workers(
    api: Session, options: BenchOptions, access: Access, live: Object
) -> AsyncIterator[WorkerConnections]:
    """Connect all workers. The end of the block closes the connections and revokes the login.

    Raises RequestError.
    """
    async with AsyncExitStack() as stack:
        target = await stack.enter_async_context(_target(api, options, access, live))
        bao = await stack.enter_async_context(target.session())
        token = await stack.enter_async_context(_token(api, options, bao, target.address))
        workers, health_responses = [], []
        for index in range(options.workers):
            session = await stack.enter_async_context(target.session())
            workers.append(Worker(index, session, target.address, token, api.clock))
            health_responses.append(await _health(session, target.address))
        standbys = sum(health.standby for health in health_responses)
        yield WorkerConnections(target, tuple(workers), health_responses[0].version, standbys)


@asynccontextmanager
async def _target(
    api: Session, options: BenchOptions, access: Access, live: Object
) -> AsyncIterator[ServerAddress]:
    server = await active_server(api, options.login, live)
    if options.address is not None:
        host, port = options.address
        yield ServerAddress(server, await _resolve_host(host, port), port)
        return
    with tempfile.TemporaryDirectory(prefix="baoctl-") as folder:
        async with forward_port(api, access, server, Path(folder)) as target:
            yield target


async def _resolve_host(host: str, port: int) -> str:
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )
    except OSError as error:
        raise RequestError(
            f"--address: {host} cannot be resolved: {error.strerror}; the names of Services "
            "resolve only in the cluster"
        ) from None
    return str(addresses[0][4][0])


async def _health(bao: Bao, address: str) -> ServerHealth:
    """Read the health of a server; the request also opens the connection of the session."""
    try:
        health = await bao.health(address)
    except BaoError as error:
        raise RequestError(
            f"{error}; check --address and --ca-file, then see kubectl bao doctor"
        ) from None
    if health.sealed:
        raise RequestError(
            "a server is sealed; kubectl bao doctor names the cause", ExitCode.NOT_READY
        )
    return health


@asynccontextmanager
async def _token(api: Session, options: BenchOptions, bao: Bao, address: str) -> AsyncIterator[str]:
    token = environment_token()
    if token:
        await _check_validity(bao, address, options, token)
        yield token
        return
    jwt = await account_token(api, options.login)
    async with log_in(bao, address, options.login, jwt) as login_token:
        await _check_validity(bao, address, options, login_token.client_token)
        await limit_ttl(bao, address, login_token, options.load_seconds + SPARE_SECONDS)
        yield login_token.client_token


def environment_token() -> str:
    """Return the token in BAO_TOKEN; "" if there is none."""
    return processes.process_environment().get(TOKEN, "")


async def limit_ttl(bao: Bao, address: str, login_token: LoginToken, seconds: float) -> None:
    """Limit the validity of a token, if its policies allow it to renew itself.

    A run that receives SIGKILL does not revoke its token, which without token_ttl in the role is
    valid for 32 days.
    """
    if login_token.lease_duration <= seconds:
        return
    body = {"increment": f"{seconds:.0f}s"}
    # The default policy of OpenBao grants this. Otherwise the token keeps the TTL of its role.
    with suppress(Denied, BaoError):
        await bao.write(address, login_token.client_token, RENEWAL, body)


async def _check_validity(bao: Bao, address: str, options: BenchOptions, token: str) -> None:
    """Raise RequestError if a token may expire before the keys are removed."""
    try:
        data = await bao.read(address, token, LOOKUP)
    except Denied:
        # A policy may deny the lookup of a valid token. An invalid token fails at its first use.
        return
    except BaoError as error:
        raise response_error(error) from None
    obstacle = token_obstacle(data, options.load_seconds + MARGIN_SECONDS)
    if obstacle:
        raise RequestError(obstacle, ExitCode.REFUSED)
