"""`baoctl login`: a shell or a command with a login at one cluster, which ends with it.

Uses runtime.client.client, managers.bao.client and baoctl.commands.login.processes. Called by
baoctl.verbs.login. Everything that it makes is in one stack: the folder, the port-forward and the
token are gone when the block ends, however it ends.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from baoctl.commands.api_client import AskError, Session, ask
from baoctl.commands.cluster.fetch import read_cluster
from baoctl.commands.login import processes
from baoctl.commands.login.reads import LoginOrder, account_token, read_authority
from baoctl.commands.login.target import (
    LOOPBACK,
    Connection,
    environment_of,
    leader_of,
    trust_of,
)
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
from runtime.client.write_guard import unguarded

REVOKE: Final = "auth/token/revoke-self"


def login(order: LoginOrder, access: Access) -> int:
    """Run the command or the shell; return its exit status. Raises AskError."""
    if not shutil.which("kubectl"):
        raise AskError("there is no kubectl on PATH, which forwards the port; install it")
    if order.command and not shutil.which(order.command[0]):
        raise AskError(f"there is no command {order.command[0][:80]!r}; check PATH", ExitCode.USAGE)

    async def question(api: Session) -> int:
        with _ending_signals() as ended:
            try:
                return await _session(api, order, access)
            except asyncio.CancelledError:
                if not ended:
                    raise
                return processes.SIGNALLED + ended[0]

    return ask("login", question, access)


@contextmanager
def _ending_signals() -> Iterator[list[int]]:
    """Let the first signal that ends a process cancel this task instead; the value is its number.

    The terminal sends SIGINT to the command of the user as well, which decides about it.
    """
    loop, task, received = asyncio.get_running_loop(), asyncio.current_task(), list[int]()

    def cancel(number: int) -> None:
        if not received and task is not None:
            received.append(number)
            task.cancel()

    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, cancel, number)
    try:
        yield received
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def _session(api: Session, order: LoginOrder, access: Access) -> int:
    live = await read_cluster(api, order.cluster)
    trust = trust_of(live)
    servers = ListOptions(label_selector=labels.selector_text(labels.servers(order.cluster)))
    pod = leader_of(
        order.cluster, (await api.client.list(POD, api.namespace, options=servers)).items
    )
    authority = await read_authority(api, order, trust, live)
    jwt = await account_token(api, order)
    async with AsyncExitStack() as stack:
        # Mode 0700.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="baoctl-")))
        ca_file = folder / "ca.crt"
        if authority:
            ca_file.write_text(authority, encoding="ascii")
        arguments = processes.kubectl_arguments(access, api.namespace, pod, API.number)
        port = await stack.enter_async_context(
            processes.port_forward(arguments, pod, folder, api.clock)
        )
        bao = await stack.enter_async_context(
            Bao(authority, trust.server_name, port, guard=unguarded)
        )
        token = await stack.enter_async_context(_logged_in(bao, order, jwt))
        connection = Connection(
            port, trust.server_name, str(ca_file) if authority else None, token.reveal()
        )
        return await _run(api, order, connection)


async def _run(api: Session, order: LoginOrder, connection: Connection) -> int:
    inherited = processes.inherited_environment()
    environment = environment_of(inherited, connection)
    if order.command:
        ending: int = signal.SIGTERM
        arguments = order.command
    else:
        # An interactive shell ignores SIGTERM.
        ending = signal.SIGHUP
        arguments = (processes.user_shell(inherited),)
        processes.warn(
            f"Logged in at {api.namespace}/{order.cluster} as {order.service_account}; the token "
            "is revoked when this shell ends."
        )
    # The terminal sends it to the command, too, and that decides about it.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
    return await processes.run(arguments, environment, api.clock, ending=ending)


@asynccontextmanager
async def _logged_in(
    bao: Bao, order: LoginOrder, jwt: SensitiveString
) -> AsyncIterator[SensitiveString]:
    """Log in; the token is revoked at the end of the block. Raises AskError."""
    role = order.role or order.service_account
    try:
        health = await bao.health(LOOPBACK)
        if health.sealed:
            raise AskError(
                f"{order.cluster} is sealed; kubectl bao doctor names the cause", ExitCode.NOT_READY
            )
        # Also when it is cancelled: what the server has issued has to be revoked.
        issued = await _to_its_end(bao.login(LOOPBACK, order.auth_path, role, jwt.reveal()))
    except Denied as error:
        raise AskError(
            f"role {role} of ServiceAccount {order.service_account}: {error}; check --role, "
            "--auth-path and --audience against the role",
            ExitCode.REFUSED,
        ) from None
    except BaoError as error:
        raise AskError(f"{error}; try again, then see kubectl bao doctor") from None
    try:
        _stay_cancelled()
        yield SensitiveString(issued.client_token)
    finally:
        await _revoke(bao, issued)


async def _to_its_end(request: Awaitable[LoginToken]) -> LoginToken:
    task = asyncio.ensure_future(request)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        # A request to a server has a deadline of its own.
        return await task


def _stay_cancelled() -> None:
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _revoke(bao: Bao, issued: LoginToken) -> None:
    try:
        await bao.write(LOOPBACK, issued.client_token, REVOKE, {})
    except (BaoError, Denied) as error:
        processes.warn(
            clean_message(
                f"The token was not revoked: {error}; it expires {issued.lease_duration} s after "
                "the login."
            )
        )
