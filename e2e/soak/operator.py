"""The website example in a process that reports its resource usage.

Run as `python -m e2e.soak.operator KUBECONFIG PORT SECONDS`; every SECONDS one line of JSON.
"""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from examples.website.__main__ import run
from runtime.clock import SystemClock
from runtime.leader.leader import LeaderOptions
from runtime.process.logs import configure

PATIENT = LeaderOptions(lease_duration=90.0, renew_deadline=60.0, retry_period=2.0)
"""A leader that cannot renew its Lease exits; this Lease is longer than all faults."""


def usage() -> dict[str, float]:
    """Return the tasks, sockets, open files and resident bytes of this process."""
    links = list(_links())
    resident = Path("/proc/self/statm").read_text().split()[1]
    return {
        "tasks": len(asyncio.all_tasks()),
        "sockets": sum(link.startswith("socket:") for link in links),
        "files": len(links),
        "resident": int(resident) * os.sysconf("SC_PAGE_SIZE"),
    }


def _links() -> Iterator[str]:
    """Yield the target of each open file descriptor, without the one of the listing itself."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(f"/proc/self/fd/{name}")


async def report(seconds: float) -> None:
    """Print the usage at a fixed interval."""
    due = time.monotonic()
    while True:
        sys.stdout.write(orjson.dumps(usage()).decode() + "\n")
        sys.stdout.flush()
        due += seconds
        await asyncio.sleep(max(due - time.monotonic(), 0.0))


async def main(kubeconfig: str, port: str, seconds: str) -> None:
    async with asyncio.TaskGroup() as group:
        reporter = group.create_task(report(float(seconds)))
        await run(kubeconfig, "default", int(port), PATIENT)
        reporter.cancel()


if __name__ == "__main__":
    configure(SystemClock())
    asyncio.run(main(*sys.argv[1:]))
