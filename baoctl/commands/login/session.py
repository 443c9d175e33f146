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
from baoctl.commands.login.reads import LoginOptions, account_token
from baoctl.commands.login.target import Connection, environment_of
from baoctl.exit_codes import ExitCode
from baoctl.options import Access


def login(options: LoginOptions, access: Access) -> int:
    """Run the command or the shell; return its exit status. Raises RequestError."""
    processes.check_kubectl()
    if options.command and not shutil.which(options.command[0]):
        raise RequestError(
            f"there is no command {options.command[0][:80]!r}; check PATH", ExitCode.USAGE
        )

    async def run(api: Session) -> int:
        with processes.termination_signals() as received:
            try:
                return await _session(api, options, access)
            except asyncio.CancelledError:
                if not received:
                    raise
                return processes.SIGNAL_STATUS + received[0]

    return run_in_session("login", run, access)


async def _session(api: Session, options: LoginOptions, access: Access) -> int:
    live = await read_cluster(api, options.cluster)
    # Imported after the first request, because it imports the client of OpenBao and its models.
    from baoctl.commands.login.connection import active_server, forward_port, log_in

    server = await active_server(api, options, live)
    jwt = await account_token(api, options)
    async with AsyncExitStack() as stack:
        # tempfile creates the directory with mode 0700.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="baoctl-")))
        ca_file = folder / "ca.crt"
        if server.authority:
            ca_file.write_text(server.authority, encoding="ascii")
        target = await stack.enter_async_context(forward_port(api, access, server, folder))
        bao = await stack.enter_async_context(target.session())
        token = await stack.enter_async_context(log_in(bao, target.address, options, jwt))
        connection = Connection(
            target.port,
            server.server_name,
            str(ca_file) if server.authority else None,
            token.client_token,
        )
        return await _run(api, options, connection)


async def _run(api: Session, options: LoginOptions, connection: Connection) -> int:
    user_environment = processes.process_environment()
    environment = environment_of(user_environment, connection)
    if options.command:
        end_signal: int = signal.SIGTERM
        arguments = options.command
    else:
        # An interactive shell ignores SIGTERM.
        end_signal = signal.SIGHUP
        arguments = (processes.user_shell(user_environment),)
        processes.warn(
            f"Logged in to {api.namespace}/{options.cluster} as {options.service_account}; the "
            "token is revoked when this shell ends."
        )
    # The terminal also sends SIGINT to the command, which handles it.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
    return await processes.run(arguments, environment, api.clock, end_signal=end_signal)
