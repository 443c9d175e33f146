"""The connections of a measurement, and the token that its requests carry.

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

from baoctl.commands.api_client import AskError, Session
from baoctl.commands.bench.order import BenchOrder
from baoctl.commands.bench.readiness import token_obstacle
from baoctl.commands.bench.workload import Worker
from baoctl.commands.login import processes
from baoctl.commands.login.connection import (
    ServerAddress,
    active_server,
    forwarded,
    logged_in,
    unanswered,
)
from baoctl.commands.login.reads import account_token
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.models import LoginToken, ServerHealth
from runtime.types import Object

TOKEN: Final = "BAO_TOKEN"  # noqa: S105  the name of a variable
MARGIN_SECONDS: Final = 180.0
"""How much longer than the load a token has to live, for the keys and their removal."""
SPARE_SECONDS: Final = 900.0
"""How long the token of a run lives beyond the load, if the run is killed."""
LOOKUP: Final = "auth/token/lookup-self"
RENEWAL: Final = "auth/token/renew-self"


@dataclass(frozen=True, slots=True)
class WorkerConnections:
    """The workers of a run, and what answers them."""

    target: ServerAddress
    workers: tuple[Worker, ...]
    version: str
    standbys: int
    """Connections to a server that does not lead."""


@asynccontextmanager
async def connected(
    api: Session, order: BenchOrder, access: Access, live: Object
) -> AsyncIterator[WorkerConnections]:
    """Connect each worker; all connections and the login end with the block. Raises AskError."""
    async with AsyncExitStack() as stack:
        target = await stack.enter_async_context(_target(api, order, access, live))
        bao = await stack.enter_async_context(target.session())
        token = await stack.enter_async_context(_token(api, order, bao, target.address))
        workers, healths = [], []
        for index in range(order.workers):
            own = await stack.enter_async_context(target.session())
            workers.append(Worker(index, own, target.address, token, api.clock))
            healths.append(await _health(own, target.address))
        standbys = sum(one.standby for one in healths)
        yield WorkerConnections(target, tuple(workers), healths[0].version, standbys)


@asynccontextmanager
async def _target(
    api: Session, order: BenchOrder, access: Access, live: Object
) -> AsyncIterator[ServerAddress]:
    server = await active_server(api, order.login, live)
    if order.address is not None:
        host, port = order.address
        yield ServerAddress(server, await _resolved(host, port), port)
        return
    with tempfile.TemporaryDirectory(prefix="baoctl-") as folder:
        async with forwarded(api, access, server, Path(folder)) as target:
            yield target


async def _resolved(host: str, port: int) -> str:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise AskError(
            f"--address: {host} has no address here: {error.strerror}; the names of Services are "
            "known in the cluster alone"
        ) from None
    return str(found[0][4][0])


async def _health(bao: Bao, address: str) -> ServerHealth:
    """Read the health, by which the connection of the session is made, too."""
    try:
        health = await bao.health(address)
    except BaoError as error:
        raise AskError(
            f"{error}; check --address and --ca-file, then see kubectl bao doctor"
        ) from None
    if health.sealed:
        raise AskError("a server is sealed; kubectl bao doctor names the cause", ExitCode.NOT_READY)
    return health


@asynccontextmanager
async def _token(api: Session, order: BenchOrder, bao: Bao, address: str) -> AsyncIterator[str]:
    given = given_token()
    if given:
        await _check_life(bao, address, order, given)
        yield given
        return
    jwt = await account_token(api, order.login)
    async with logged_in(bao, address, order.login, jwt) as issued:
        await _check_life(bao, address, order, issued.client_token)
        await shorten(bao, address, issued, order.load_seconds + SPARE_SECONDS)
        yield issued.client_token


def given_token() -> str:
    """Return the token of the environment; "" for none."""
    return processes.inherited_environment().get(TOKEN, "")


async def shorten(bao: Bao, address: str, issued: LoginToken, seconds: float) -> None:
    """Let a token live no longer than that from now on, if its policies let it renew itself.

    SIGKILL leaves it, and a role without token_ttl gives it 32 days.
    """
    if issued.lease_duration <= seconds:
        return
    body = {"increment": f"{seconds:.0f}s"}
    # The default policy of OpenBao grants it; without it the token lives as the role says.
    with suppress(Denied, BaoError):
        await bao.write(address, issued.client_token, RENEWAL, body)


async def _check_life(bao: Bao, address: str, order: BenchOrder, token: str) -> None:
    """Raise AskError for a token that ends before the keys can be removed."""
    try:
        data = await bao.read(address, token, LOOKUP)
    except Denied:
        # A policy may hide this; what the token cannot do is seen when it is used.
        return
    except BaoError as error:
        raise unanswered(error) from None
    found = token_obstacle(data, order.load_seconds + MARGIN_SECONDS)
    if found:
        raise AskError(found, ExitCode.REFUSED)
