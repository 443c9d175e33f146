"""The processes of a session: the port-forward of kubectl, and the command of the user.

Uses asyncio and the environment of the process. Called by baoctl.commands.login.connection,
baoctl.commands.login.session and baoctl.commands.bench. Each process ends with the block that
started it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from baoctl.commands.api_client import RequestError
from baoctl.commands.login.target import LOOPBACK, forward_error, forwarded_port
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from runtime.clock import Clock, Deadline

START_SECONDS: Final = 30.0
END_SECONDS: Final = 5.0
OUTPUT_MAX: Final = 16 << 10
"""Maximum bytes of the output of kubectl that are read."""
POLL_SECONDS: Final = 0.05
SHELL: Final = "/bin/sh"
SIGNAL_STATUS: Final = 128
"""Added to the number of the signal that ended a process, as shells do."""


def check_kubectl() -> None:
    """Raise RequestError if kubectl, which forwards the port, is missing."""
    if not shutil.which("kubectl"):
        raise RequestError("kubectl is not on PATH; install it to forward the port")


@contextmanager
def termination_signals() -> Iterator[list[int]]:
    """Cancel this task on the first SIGTERM, SIGHUP or SIGINT.

    The list that it yields receives the number of the signal.
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


def process_environment() -> Mapping[str, str]:
    """Return the environment of this process."""
    return dict(os.environ)


def user_shell(environ: Mapping[str, str]) -> str:
    """Return the shell of the user, by default /bin/sh."""
    return environ.get("SHELL") or SHELL


def kubectl_arguments(access: Access, namespace: str, pod: str, port: int) -> list[str]:
    """Return the command that forwards a free local port to a pod."""
    flags = {"--kubeconfig": access.kubeconfig, "--context": access.context}
    options = [word for name, value in flags.items() if value for word in (name, value)]
    return [
        "kubectl", *options, "--namespace", namespace, "port-forward", "--address", LOOPBACK,
        f"pod/{pod}", f":{port}",
    ]  # fmt: skip


@asynccontextmanager
async def port_forward(
    arguments: Sequence[str], pod: str, folder: Path, clock: Clock
) -> AsyncIterator[int]:
    """Forward a port until the end of the block; yield the local port. Raises RequestError."""
    log = folder / "port-forward.log"
    with log.open("wb") as output:
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Ctrl-C in the shell of the user must not reach kubectl.
                start_new_session=True,
            )
        except OSError as error:
            raise RequestError(
                f"kubectl cannot be started: {error.strerror}; install it, and put it on PATH"
            ) from None
    try:
        port = await _local_port(process, log, pod, clock)
        watch = asyncio.create_task(_report_end(process, pod))
        try:
            yield port
        finally:
            watch.cancel()
    finally:
        await end(process, signal.SIGTERM, clock)


async def _report_end(process: asyncio.subprocess.Process, pod: str) -> None:
    await process.wait()
    warn(f"The port-forward to {pod} ended; start a new session.")


async def _local_port(
    process: asyncio.subprocess.Process, log: Path, pod: str, clock: Clock
) -> int:
    try:
        async with Deadline(clock, START_SECONDS):
            while True:
                has_ended = process.returncode is not None
                with log.open("rb") as file:
                    output = file.read(OUTPUT_MAX).decode(errors="replace")
                port = forwarded_port(output)
                if has_ended:
                    raise forward_error(pod, output)
                if port is not None:
                    return port
                await clock.sleep(POLL_SECONDS)
    except TimeoutError:
        raise RequestError(
            f"port-forward to {pod}: kubectl was not ready in {START_SECONDS:g} s; check the "
            "connection to the API server",
            ExitCode.NO_ACCESS,
        ) from None


async def run(
    arguments: Sequence[str], environment: Mapping[str, str], clock: Clock, *, end_signal: int
) -> int:
    """Run a command of the user in this terminal; return its exit status as a shell does.

    If the task is cancelled, the command receives `end_signal`, and SIGKILL if it still runs after
    END_SECONDS. Raises RequestError if the command cannot be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(*arguments, env=dict(environment))
    except OSError as error:
        raise RequestError(f"{arguments[0]}: {error.strerror}; check the command") from None
    try:
        status = await process.wait()
    finally:
        await end(process, end_signal, clock)
    return status if status >= 0 else SIGNAL_STATUS - status


async def end(process: asyncio.subprocess.Process, end_signal: int, clock: Clock) -> None:
    """Send `end_signal` to a process that still runs, and SIGKILL after END_SECONDS."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.send_signal(end_signal)
    try:
        async with Deadline(clock, END_SECONDS):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def warn(line: str) -> None:
    """Print a line for the user to standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
