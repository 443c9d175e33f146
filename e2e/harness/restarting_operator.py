"""An operator that crashes after each write, and is restarted until it is stopped.

    python -m e2e.harness.restarting_operator --kubeconfig FILE --port 0 --no-leader-elect WRITES

WRITES gets one JSON line per crash: method and path of the last write. The code of the operator is
loaded once; each run is a separate process (a fork). The crash is `os._exit`: no handlers, no
flush, no responses, and the kernel closes the sockets.
"""

import argparse
import asyncio
import dataclasses
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

import orjson

from baoctl.api_server_settings import ApiServerSettings
from baoctl.process.run import run_operator
from baoctl.settings import from_environment
from runtime.client.transport import HttpRequest, HttpResponse, Transport

# Events are not awaited, and no state depends on them; of a TokenRequest the API server stores
# nothing, so an operator that crashed after each would never log in to a server.
_STATELESS = ("/events", "/token")


def set_trap(writes: Path) -> None:
    """Make this process exit after the response to its first write."""
    original = Transport.request
    # One write at a time: a parallel write would be executed and not recorded.
    turn = asyncio.Lock()

    async def request_with_trap(
        self: Transport, call: HttpRequest, *, seconds: float | None = None
    ) -> HttpResponse:
        if not call.writes or call.path.endswith(_STATELESS):
            return await original(self, call, seconds=seconds)
        async with turn:
            await original(self, call, seconds=seconds)
            with writes.open("ab", buffering=0) as log:
                log.write(orjson.dumps({"method": call.method, "path": call.path}) + b"\n")
            os._exit(0)

    Transport.request = request_with_trap  # type: ignore[method-assign]  # the trap is the point


def _live(kubeconfig: str, port: int, writes: Path) -> NoReturn:
    set_trap(writes)
    settings = dataclasses.replace(
        from_environment(),
        api_server=ApiServerSettings(None, kubeconfig),
        port=port,
        leader_election=False,
    )
    try:
        run_operator(settings)
    finally:
        os._exit(1)


def main() -> None:
    """Start the operator again after each crash."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--no-leader-elect", action="store_true")
    parser.add_argument("writes", type=Path)
    arguments = parser.parse_args()
    life = 0

    def end(*_: object) -> None:
        if life:
            os.kill(life, signal.SIGKILL)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    while True:
        life = os.fork()
        if life == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _live(arguments.kubeconfig, arguments.port, arguments.writes)
        os.waitpid(life, 0)


if __name__ == "__main__":
    main()
