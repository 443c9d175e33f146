"""Provisioners that each crash before their second write, as with `kill -9`.

    python -m e2e.harness.crashing_provisioner --kubeconfig FILE --port 0

Each continues where the one before it stopped, until one has nothing to write for some seconds.
The code is loaded once; each process is a fork, so that it starts immediately.
"""

import argparse
import asyncio
import dataclasses
import os
import signal
import sys

from baoctl.api_server_settings import ApiServerSettings
from baoctl.process.provisioner import provision
from baoctl.settings import provisioner_from_environment
from e2e.harness.crashing_operator import CRASHED
from e2e.harness.installation import Identity
from e2e.harness.operator import Launcher, Operator
from runtime.client.kubeconfig_library import import_kubeconfig_loader
from runtime.client.transport import HttpRequest, HttpResponse, Transport
from runtime.clock import SystemClock

FIRST_WRITE = 40
NOTHING_LEFT = 6
"""Seconds without a write after which a process has nothing to do. Each has at least one write: the
one before which the last process crashed."""
MOST = 40


@dataclasses.dataclass(frozen=True, slots=True)
class CrashingProvisioner:
    """A sequence of provisioners."""

    process: Operator

    def await_end(self, seconds: float) -> int:
        """Wait until one has nothing to do; return how many crashed before."""
        assert self.process.wait(seconds) == 0, self.process.tail()
        ends = [line["msg"] for line in self.process.lines() if line["level"] == "raw"]
        assert ends[-1:] == ["end: quiet"], self.process.tail()
        return ends.count("end: died")


def start_crashing(launcher: Launcher, account: Identity, controller: str) -> CrashingProvisioner:
    """Start them; `controller` is the account that gets the permissions."""
    process = launcher.start(
        account,
        module=("e2e.harness.crashing_provisioner",),
        environment={"OPERATOR_SERVICE_ACCOUNT_NAME": controller},
    )
    process.faults_expected = True
    return CrashingProvisioner(process)


def set_trap() -> None:
    """Make this process exit before its second write, or when there is no write."""
    original = Transport.request
    begun = 0

    async def request_with_trap(
        self: Transport, call: HttpRequest, *, seconds: float | None = None
    ) -> HttpResponse:
        nonlocal begun
        begun += call.writes
        if begun > 1 and call.writes:
            os._exit(CRASHED)
        try:
            return await original(self, call, seconds=seconds)
        finally:
            if call.writes:
                signal.alarm(NOTHING_LEFT)

    Transport.request = request_with_trap  # type: ignore[method-assign]  # the trap is the point
    # There is no handler, so SIGALRM kills this process.
    signal.alarm(FIRST_WRITE)


def _run(kubeconfig: str, port: int) -> None:
    set_trap()
    settings = provisioner_from_environment()
    process = dataclasses.replace(
        settings.process,
        api_server=ApiServerSettings(None, kubeconfig),
        port=port,
        leader_election=False,
    )
    asyncio.run(provision(dataclasses.replace(settings, process=process), SystemClock()))


def main() -> int:
    """Start one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    # Once, instead of in each child.
    import_kubeconfig_loader()
    for _ in range(MOST):
        pid = os.fork()
        if pid == 0:
            try:
                _run(arguments.kubeconfig, arguments.port)
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == -signal.SIGALRM:
            print("end: quiet", flush=True)
            return 0
        print("end: died" if status == CRASHED else f"end: {status}", flush=True)
        if status != CRASHED:
            return 1
    return 1


if __name__ == "__main__":
    sys.exit(main())
