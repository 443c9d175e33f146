"""Operators that crash at one exact write, as with `kill -9`.

    python -m e2e.harness.crashing_operator --kubeconfig FILE --port 0 PLANS RESULTS

PLANS is a JSON list of plans, RESULTS gets one JSON line per plan. The code of the operator is
loaded once; each plan then runs in its own process (a fork), so that it starts immediately. The
crash is `os._exit`: no handlers, no flush, no responses, and the kernel closes the sockets.
"""

import argparse
import asyncio
import dataclasses
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

from baoctl.api_server_settings import ApiServerSettings
from baoctl.process.run import run_operator
from baoctl.settings import from_environment
from e2e.harness.write_key import WriteKey, of_request
from runtime.client.transport import HttpRequest, HttpResponse, Transport

CRASHED = 137
SIDE_BY_SIDE = 3
# Seconds without a write after which an operator will not reach its planned write: while a server
# starts, and once the status reports that all servers are ready.
NEXT_WRITE = 40
LAST_WRITES = 5


Position = Literal["before", "at", "after"]
# Seconds in which a request leaves this process, and no response is read.
_SENDING = 0.002


@dataclass(frozen=True, slots=True)
class Plan:
    """The write at which one operator crashes.

    `occurrence` counts writes of the same key from 1. "before": the request is not
    sent; "at": it is sent, and the process does not wait for the response; "after": the
    response has arrived and is not used.
    """

    namespace: str
    write: WriteKey
    occurrence: int
    position: Position
    last_writes: int = LAST_WRITES
    """Seconds without a write after which no further one is expected, once all are ready."""


@dataclass(frozen=True, slots=True)
class Result:
    """How one operator ended: its exit status (negative for a signal), and when."""

    namespace: str
    status: int
    seconds: float

    @property
    def crashed(self) -> bool:
        """Whether it reached its write."""
        return self.status == CRASHED


def read_plans(path: Path) -> list[Plan]:
    """Read the plans of `write_plans`."""
    return [
        Plan(**{**plan, "write": WriteKey(**plan["write"])})
        for plan in orjson.loads(path.read_bytes())
    ]


def write_plans(path: Path, plans: list[Plan]) -> None:
    """Write the plans file for a process."""
    path.write_bytes(orjson.dumps([dataclasses.asdict(plan) for plan in plans]))


def read_results(path: Path) -> dict[str, Result]:
    """Read the results so far, by namespace."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    results = (Result(**orjson.loads(line)) for line in lines)
    return {result.namespace: result for result in results}


def set_trap(plan: Plan) -> None:
    """Make this process exit at the write of the plan, or when there are no further writes."""
    original = Transport.request
    count, left = 0, NEXT_WRITE

    async def request_with_trap(
        self: Transport, call: HttpRequest, *, seconds: float | None = None
    ) -> HttpResponse:
        nonlocal count, left
        if not call.writes:
            return await original(self, call, seconds=seconds)
        if b'"AllReplicasReady"' in (call.body or b""):
            left = plan.last_writes
        # There is no handler, so SIGALRM kills this process.
        signal.alarm(left)
        here = of_request(call.method, call.target, call.body) == plan.write
        count += here
        if not here or count != plan.occurrence:
            return await original(self, call, seconds=seconds)
        if plan.position == "at":
            sent = asyncio.ensure_future(original(self, call, seconds=seconds))
            await asyncio.wait((sent,), timeout=_SENDING)
        if plan.position == "after":
            try:
                await original(self, call, seconds=seconds)
            finally:
                os._exit(CRASHED)
        os._exit(CRASHED)

    Transport.request = request_with_trap  # type: ignore[method-assign]  # the trap is the point
    signal.alarm(left)


def _run(plan: Plan, kubeconfig: str, port: int, log: Path) -> None:
    with log.open("wb") as output:
        os.dup2(output.fileno(), sys.stdout.fileno())
        os.dup2(output.fileno(), sys.stderr.fileno())
    set_trap(plan)
    run_operator(
        dataclasses.replace(
            from_environment(watch_namespace=plan.namespace),
            api_server=ApiServerSettings(None, kubeconfig),
            port=port,
            leader_election=False,
        )
    )


def main() -> None:
    """Run all plans, a few in parallel."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("plans", type=Path)
    parser.add_argument("results", type=Path)
    arguments = parser.parse_args()
    waiting = read_plans(arguments.plans)
    running: dict[int, tuple[Plan, float]] = {}
    with arguments.results.open("ab", buffering=0) as results:
        while waiting or running:
            while waiting and len(running) < SIDE_BY_SIDE:
                plan = waiting.pop(0)
                log = arguments.results.with_name(f"{plan.namespace}.log")
                pid = os.fork()
                if pid == 0:
                    try:
                        _run(plan, arguments.kubeconfig, arguments.port, log)
                    finally:
                        os._exit(1)
                running[pid] = plan, time.monotonic()
            pid, status = os.wait()
            plan, started = running.pop(pid)
            age = time.monotonic() - started
            result = Result(plan.namespace, os.waitstatus_to_exitcode(status), age)
            results.write(orjson.dumps(result) + b"\n")


if __name__ == "__main__":
    main()
