"""Processes of a fork server, used like those of `subprocess`.

Called by e2e.harness.operator.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import orjson

from e2e.harness.fork_server import StartRequest

LOADED = (
    "runtime",
    "contracts",
    "managers",
    "baoctl.controllers",
    "baoctl.process",
    "baoctl.verbs.process",
)
"""The packages that an operator imports."""
_STATUS_MAX = 32
_LOADS_WITHIN = 120.0


class Process(Protocol):
    """The part of `subprocess.Popen` that operators use."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit status. Raises subprocess.TimeoutExpired."""

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has exited."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


@dataclass(slots=True)
class ForkedProcess:
    """One process of a fork server. Implements Process."""

    module: str
    channel: socket.socket
    pid: int
    pidfd: int
    returncode: int | None = field(default=None)

    def poll(self) -> int | None:
        """Return the exit status; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0.0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit status. Raises subprocess.TimeoutExpired."""
        if self.returncode is not None:
            return self.returncode
        if not select.select([self.channel], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.module, timeout or 0.0)
        status = self.channel.recv(_STATUS_MAX)
        # If the server has exited, so have its processes.
        self.returncode = int(status) if status else -signal.SIGKILL
        self.channel.close()
        os.close(self.pidfd)
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has exited."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, sig)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


@dataclass(slots=True)
class ForkedProcesses:
    """Starts processes from one fork server, which is started with the first process.

    `inside` makes a command run in a network namespace; the server runs there, and so do its
    processes. `folder` is their working directory.
    """

    inside: Callable[..., list[str]]
    folder: Path
    packages: Sequence[str] = LOADED
    _control: socket.socket | None = field(default=None, init=False)
    _server: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def start(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> Process:
        """Start `python -m ARGV`; its output goes to the log."""
        module, *arguments = argv
        control = self._control or self._begin()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = orjson.dumps(StartRequest(module, arguments, environment))
        with log.open("wb") as output, theirs:
            socket.send_fds(control, [request], [output.fileno(), theirs.fileno()])
        ours.settimeout(_LOADS_WITHIN)
        pid, (pidfd,), *_ = socket.recv_fds(ours, _STATUS_MAX, 1)
        ours.settimeout(None)
        return ForkedProcess(module, ours, int(pid), pidfd)

    def close(self) -> None:
        """Stop the server, and all of its running processes."""
        if self._control is not None and self._server is not None:
            self._control.close()
            self._server.wait()
            self._control = self._server = None

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            module = ("-m", "e2e.harness.fork_server", str(theirs.fileno()), *self.packages)
            self._server = subprocess.Popen(
                self.inside("setpriv", "--pdeathsig", "KILL", "--", sys.executable, *module),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._control = ours
        return ours
