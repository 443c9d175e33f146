"""A process that has loaded the code of the operator, and forks one operator per request.

    python -m e2e.harness.fork_server DESCRIPTOR PACKAGE ...

Loading the code takes most of the processor time of a short scenario. The server loads all modules
of the packages once; an operator then starts as a fork, with its own arguments, environment and
log. DESCRIPTOR is the control socket (SOCK_SEQPACKET, inherited): each message is a `StartRequest`
as JSON, with the log file and a status socket as descriptors. The status socket gets the pid with a
pidfd, and the exit status when the process has ended. The server exits when the control socket is
closed, and the kernel kills its operators with it (PR_SET_PDEATHSIG).

Variables that the interpreter or the C library reads at start, such as MALLOC_ARENA_MAX, have no
effect on a fork: a scenario that measures memory starts its own interpreter. Called by
e2e.harness.forked_process.
"""

import ctypes
import gc
import importlib
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from runtime.client.kubeconfig_library import import_kubeconfig_loader

MESSAGE_MAX = 1 << 20
"""Bytes; an environment fits."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class StartRequest:
    """`python -m MODULE ARGUMENTS`, with this environment and no other variable."""

    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]


@dataclass(slots=True)
class ForkServer:
    """Forks processes, and reports their exit statuses."""

    control: socket.socket
    children: dict[int, tuple[int, socket.socket]] = field(default_factory=dict)
    """pid and status socket, by pidfd."""

    def serve(self) -> StartRequest | None:
        """Answer requests. Returns a request in the process forked for it, None at the end."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.control, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fd != self.control.fileno():
                        selector.unregister(key.fd)
                        self._report(key.fd)
                        continue
                    message, descriptors, *_ = socket.recv_fds(self.control, MESSAGE_MAX, 2)
                    if not message:
                        return None
                    pidfd = self._fork(*descriptors)
                    if pidfd is None:
                        return StartRequest(**orjson.loads(message))
                    selector.register(pidfd, selectors.EVENT_READ)

    def _fork(self, log: int, status: int) -> int | None:
        """Return the pidfd of a new process; None in it."""
        channel = socket.socket(fileno=status)
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._leave(channel, log, server)
            return None
        os.close(log)
        pidfd = os.pidfd_open(pid)
        self.children[pidfd] = pid, channel
        socket.send_fds(channel, [str(pid).encode()], [pidfd])
        return pidfd

    def _leave(self, channel: socket.socket, log: int, server: int) -> None:
        """Close the descriptors of the server in a child."""
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        channel.close()
        self.control.close()
        for pidfd, (_, other) in self.children.items():
            os.close(pidfd)
            other.close()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)

    def _report(self, pidfd: int) -> None:
        pid, channel = self.children.pop(pidfd)
        _, status = os.waitpid(pid, 0)
        os.close(pidfd)
        with channel:
            try:
                channel.send(str(os.waitstatus_to_exitcode(status)).encode())
            except BrokenPipeError:
                # The scenario no longer waits for this process.
                return


def load(packages: Sequence[str]) -> None:
    """Import all modules of the packages and the kubeconfig loader, and freeze their objects."""
    for name in packages:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            if not module.name.endswith(".__main__"):
                importlib.import_module(module.name)
    import_kubeconfig_loader()
    # Otherwise the collector of each fork would write to, and so copy, each page.
    gc.collect()
    gc.freeze()


def become(request: StartRequest) -> None:
    """Run the module in this process as `python -m` does."""
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    # After the working directory, like the interpreter; scenarios use this to add packages.
    sys.path[1:1] = filter(None, request.environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]  # a TextIOWrapper
    sys.argv[1:] = request.arguments
    runpy.run_module(request.module, run_name="__main__", alter_sys=True)


def main() -> None:
    """Load the packages, and serve."""
    descriptor, *packages = sys.argv[1:]
    load(packages)
    request = ForkServer(socket.socket(fileno=int(descriptor))).serve()
    if request is not None:
        become(request)


if __name__ == "__main__":
    main()
