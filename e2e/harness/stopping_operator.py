"""An operator that is paused right after it marked the volume of a removed server.

    python -m e2e.harness.stopping_operator --kubeconfig FILE --port 0

It has the response to that write, and has not yet requested the removal of the raft peer. SIGCONT
lets it continue there.
"""

import argparse
import dataclasses
import os
import signal

from baoctl.api_server_settings import ApiServerSettings
from baoctl.process.run import run_operator
from baoctl.settings import from_environment
from contracts.naming import labels
from runtime.client.transport import HttpRequest, HttpResponse, Transport

_MARK = labels.REMOVED_PEER.replace("/", "~1").encode()


def set_trap() -> None:
    """Make this process stop once, after the response to its first mark of a volume."""
    original = Transport.request
    stopped = False

    async def request_with_trap(
        self: Transport, call: HttpRequest, *, seconds: float | None = None
    ) -> HttpResponse:
        nonlocal stopped
        answer = await original(self, call, seconds=seconds)
        marks = call.method == "PATCH" and "/persistentvolumeclaims/" in call.path
        if marks and _MARK in (call.body or b"") and not stopped:
            stopped = True
            os.kill(os.getpid(), signal.SIGSTOP)
        return answer

    Transport.request = request_with_trap  # type: ignore[method-assign]  # the trap is the point


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    set_trap()
    run_operator(
        dataclasses.replace(
            from_environment(),
            api_server=ApiServerSettings(None, arguments.kubeconfig),
            port=arguments.port,
        )
    )


if __name__ == "__main__":
    main()
