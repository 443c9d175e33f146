"""Leader election on a real Lease: handing over, taking over, and a process that was stopped."""

import asyncio
import contextlib
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable

import pytest

from e2e.rig import Rig
from runtime.client import Client
from runtime.clock import SystemClock
from runtime.errors import LeaseLost
from runtime.leader import LeaderElector, LeaseLock
from runtime.metrics import Metrics
from runtime.resources import CONFIG_MAP, LEASE
from runtime.types import Object, ObjectKey
from tests.integration.leader_process import LEASE_NAME, OPTIONS, TARGET_NAME

PATIENCE = 15.0


async def until(condition: Callable[[], bool]) -> float:
    """Seconds until the condition held."""
    clock = SystemClock()
    start = clock.monotonic()
    while not condition():
        assert clock.monotonic() < start + PATIENCE, "it never came to pass"
        await clock.sleep(0.01)
    return clock.monotonic() - start


class Candidate:
    """An elector in this process whose guarded work lasts until it is told to end."""

    def __init__(self, client: Client, namespace: str, identity: str) -> None:
        self.elector = LeaderElector(
            client,
            LeaseLock(namespace, LEASE_NAME, identity),
            clock=SystemClock(),
            rng=random.Random(2),
            metrics=Metrics(),
            options=OPTIONS,
        )
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


@contextlib.asynccontextmanager
async def candidate(client: Client, namespace: str, identity: str) -> AsyncIterator[Candidate]:
    made = Candidate(client, namespace, identity)
    try:
        yield made
    finally:
        made.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, LeaseLost):
            await made.task


async def lease_spec(client: Client, namespace: str) -> Object:
    spec: Object = (await client.get(LEASE, ObjectKey(namespace, LEASE_NAME)))["spec"]
    return spec


async def renewals(client: Client, namespace: str, count: int) -> None:
    """Return when the holder has renewed the lease that often."""
    clock = SystemClock()
    end = clock.monotonic() + PATIENCE
    seen = {(await lease_spec(client, namespace))["renewTime"]}
    while len(seen) <= count:
        assert clock.monotonic() < end, "nobody renews"
        await clock.sleep(0.01)
        seen.add((await lease_spec(client, namespace))["renewTime"])


async def test_a_clean_stop_hands_over_within_a_retry_and_the_record_says_so(
    client: Client, namespace: str
) -> None:
    async with candidate(client, namespace, "first") as first:
        await until(first.may_write)
        held = await lease_spec(client, namespace)
        assert held["holderIdentity"] == "first"
        assert held["leaseDurationSeconds"] == OPTIONS.lease_duration
        async with candidate(client, namespace, "second") as second:
            await renewals(client, namespace, 3)
            assert not second.may_write()
            await until(first.may_write)
            first.end.set()
            await first.task
            assert not first.may_write()
            waited = await until(second.may_write)
            assert waited < OPTIONS.lease_duration / 2, "it did not wait for the lease to run out"
            taken = await lease_spec(client, namespace)
    assert taken["holderIdentity"] == "second"
    assert taken["leaseTransitions"] == held["leaseTransitions"] + 1
    released = await lease_spec(client, namespace)
    assert (released["holderIdentity"], released["leaseDurationSeconds"]) == ("", 1)


async def test_many_candidates_at_once_make_one_leader(client: Client, namespace: str) -> None:
    async with contextlib.AsyncExitStack() as stack:
        crowd = [
            await stack.enter_async_context(candidate(client, namespace, f"c{n}")) for n in range(8)
        ]
        await until(lambda: any(one.may_write() for one in crowd))
        await renewals(client, namespace, 3)
        await until(lambda: any(one.may_write() for one in crowd))
        assert sum(one.may_write() for one in crowd) == 1
        assert (await lease_spec(client, namespace))["leaseTransitions"] == 0


@pytest.fixture
async def other_process(
    control_plane: Rig, namespace: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.leader_process",
        str(control_plane.kubeconfig),
        namespace,
        "paused",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        # A stopped process would not even notice that its input has ended.
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def heard(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return (await process.stdout.readline()).decode().strip()


async def test_a_stopped_process_wakes_up_and_its_first_write_is_refused(
    client: Client, namespace: str, other_process: asyncio.subprocess.Process
) -> None:
    assert other_process.stdin is not None
    target = ObjectKey(namespace, TARGET_NAME)
    assert await heard(other_process) == "leading"
    other_process.stdin.write(b"write\n")
    assert await heard(other_process) == "written"
    os.kill(other_process.pid, signal.SIGSTOP)
    async with candidate(client, namespace, "standby") as standby:
        await until(standby.may_write)
        before = await client.get(CONFIG_MAP, target)
        assert before["data"] == {"writer": "paused"}
        # The order to write waits for it in the pipe: it is the first thing it may do.
        other_process.stdin.write(b"write\n")
        await other_process.stdin.drain()
        os.kill(other_process.pid, signal.SIGCONT)
        assert {await heard(other_process), await heard(other_process)} == {"refused", "lost"}
        after = await client.get(CONFIG_MAP, target)
        assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        await until(standby.may_write)
        assert (await lease_spec(client, namespace))["holderIdentity"] == "standby"
