"""`baoctl login`: runs a shell or a command with a login to one cluster.

Uses baoctl.commands.login.connection and processes. Called by baoctl.verbs.login. One exit stack
revokes the token, ends the port-forward and deletes the directory, also after an error.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from baoctl.commands.api_client import RequestError, Session, run_in_session
from baoctl.commands.cluster.fetch import read_cluster
from baoctl.commands.login import processes
from baoctl.commands.login.connection import (
    active_server,
    check_kubectl,
    ending_signals,
    forward_port,
    log_in,
)
from baoctl.commands.login.reads import LoginOrder, account_token
from baoctl.commands.login.target import Connection, environment_of
from baoctl.exit_codes import ExitCode
from baoctl.options import Access


def login(order: LoginOrder, access: Access) -> int:
    """Run the command or the shell; return its exit status. Raises RequestError."""
    check_kubectl()
    if order.command and not shutil.which(order.command[0]):
        raise RequestError(
            f"there is no command {order.command[0][:80]!r}; check PATH", ExitCode.USAGE
        )

    async def run(api: Session) -> int:
        with ending_signals() as ended:
            try:
                return await _session(api, order, access)
            except asyncio.CancelledError:
                if not ended:
                    raise
                return processes.SIGNALLED + ended[0]

    return run_in_session("login", run, access)


async def _session(api: Session, order: LoginOrder, access: Access) -> int:
    server = await active_server(api, order, await read_cluster(api, order.cluster))
    jwt = await account_token(api, order)
    async with AsyncExitStack() as stack:
        # tempfile creates the directory with mode 0700.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="baoctl-")))
        ca_file = folder / "ca.crt"
        if server.authority:
            ca_file.write_text(server.authority, encoding="ascii")
        target = await stack.enter_async_context(forward_port(api, access, server, folder))
        bao = await stack.enter_async_context(target.session())
        token = await stack.enter_async_context(log_in(bao, target.address, order, jwt))
        connection = Connection(
            target.port,
            server.server_name,
            str(ca_file) if server.authority else None,
            token.client_token,
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
            f"Logged in to {api.namespace}/{order.cluster} as {order.service_account}; the token "
            "is revoked when this shell ends."
        )
    # The terminal also sends SIGINT to the command, which handles it.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
    return await processes.run(arguments, environment, api.clock, ending=ending)
