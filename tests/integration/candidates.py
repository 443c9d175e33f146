"""Candidates for a real Lease in this process, and readers of that Lease.

Called by the tests of leader election and of outages.
"""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable

from e2e.rig import Rig
from runtime.builtin_kinds import LEASE
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.errors import LeaseLost
from runtime.events import Reporter
from runtime.leader.leader import LeaderOptions, LeaseLock
from runtime.leader.shard import Shard
from runtime.types import Object, ObjectKey
from tests.integration.leader_process import ALONE, LEASE_NAME, OPTIONS, elector_of

PATIENCE = 60.0
"""The timeout of waits, in seconds; for a busy machine."""

REPORTER = Reporter("example.org/itest", "itest")


async def until(condition: Callable[[], bool], goal: str = "it") -> float:
    """Seconds until the condition held."""
    clock = SystemClock()
    start = clock.monotonic()
    while not condition():
        assert clock.monotonic() < start + PATIENCE, f"timeout: {goal}"
        await clock.sleep(0.01)
    return clock.monotonic() - start


class Candidate:
    """An elector in this process; its guarded work runs until `end` is set."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        identity: str,
        *,
        lease: str = LEASE_NAME,
        options: LeaderOptions = OPTIONS,
        shard: Shard = ALONE,
    ) -> None:
        self.shard = shard
        lock = LeaseLock(namespace, lease, identity, REPORTER)
        self.elector = elector_of(client, lock, shard, options)
        self.end = asyncio.Event()
        self.task: asyncio.Task[None] = asyncio.create_task(self.elector.run(self.work))

    async def work(self) -> None:
        await self.end.wait()

    def may_write(self) -> bool:
        try:
            self.elector.guard()
        except LeaseLost:
            return False
        return True

    def lost(self) -> bool:
        return self.task.done() and isinstance(self.task.exception(), LeaseLost)


@contextlib.asynccontextmanager
async def run_candidate(candidate: Candidate) -> AsyncIterator[Candidate]:
    """Cancel the candidate at the end of the context, in any state."""
    try:
        yield candidate
    finally:
        candidate.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, LeaseLost):
            await candidate.task


@contextlib.asynccontextmanager
async def watch_writes(*candidates: Candidate) -> AsyncIterator[None]:
    """Fail if two candidates may write to one object at the same time. Only different shards of
    the same number of shards may write concurrently."""
    clock = SystemClock()
    together: list[float] = []

    async def watch() -> None:
        while True:
            writers = [candidate.shard for candidate in candidates if candidate.may_write()]
            if len(set(writers)) < len(writers) or len({writer.count for writer in writers}) > 1:
                together.append(clock.monotonic())
            await clock.sleep(0.002)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    assert together == []


async def lease_spec(client: Client, namespace: str, name: str = LEASE_NAME) -> Object:
    """The spec of the Lease."""
    spec: Object = (await client.get(LEASE, ObjectKey(namespace, name)))["spec"]
    return spec


async def renewals(client: Client, namespace: str, count: int) -> None:
    """Wait until the holder has renewed the Lease `count` times."""
    clock = SystemClock()
    end = clock.monotonic() + PATIENCE
    renew_times = {(await lease_spec(client, namespace))["renewTime"]}
    while len(renew_times) <= count:
        assert clock.monotonic() < end, "the Lease is not renewed"
        await clock.sleep(0.01)
        renew_times.add((await lease_spec(client, namespace))["renewTime"])


@contextlib.asynccontextmanager
async def leader_process(
    rig: Rig, namespace: str, identity: str, *shard: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A candidate in a separate process, which a test may stop and resume."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.leader_process",
        str(rig.kubeconfig),
        namespace,
        identity,
        *shard,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        # A stopped process does not read the end of its input.
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def next_line(process: asyncio.subprocess.Process) -> str:
    """Return the next line that the process prints."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return (await process.stdout.readline()).decode().strip()
