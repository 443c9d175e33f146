"""Leader election on a real Lease: release, takeover, and a stopped process."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator

import pytest

from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.types import ObjectKey
from tests.integration.candidates import (
    Candidate,
    leader_process,
    lease_spec,
    next_line,
    renewals,
    run_candidate,
    until,
)
from tests.integration.leader_process import OPTIONS, TARGET_NAME


def candidate(
    client: Client, namespace: str, identity: str
) -> contextlib.AbstractAsyncContextManager[Candidate]:
    return run_candidate(Candidate(client, namespace, identity))


async def test_t22_a_clean_stop_hands_over_within_a_retry_and_the_record_says_so(
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
    assert taken["leaseTransitions"] == held["leaseTransitions"] + 1 == second.elector.epoch
    released = await lease_spec(client, namespace)
    assert (released["holderIdentity"], released["leaseDurationSeconds"]) == ("", 1)


async def test_t20_one_of_many_concurrent_candidates_leads(client: Client, namespace: str) -> None:
    async with contextlib.AsyncExitStack() as stack:
        crowd = [
            await stack.enter_async_context(candidate(client, namespace, f"c{n}")) for n in range(8)
        ]
        await until(lambda: any(election.may_write() for election in crowd))
        await renewals(client, namespace, 3)
        await until(lambda: any(election.may_write() for election in crowd))
        assert sum(election.may_write() for election in crowd) == 1
        assert (await lease_spec(client, namespace))["leaseTransitions"] == 0


@pytest.fixture
async def other_process(
    control_plane: Rig, namespace: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    async with leader_process(control_plane, namespace, "paused") as process:
        yield process


async def test_t20_the_first_write_of_a_resumed_process_is_refused(
    client: Client, namespace: str, other_process: asyncio.subprocess.Process
) -> None:
    assert other_process.stdin is not None
    target = ObjectKey(namespace, TARGET_NAME)
    assert await next_line(other_process) == "leading"
    other_process.stdin.write(b"write\n")
    assert await next_line(other_process) == "written"
    os.kill(other_process.pid, signal.SIGSTOP)
    async with candidate(client, namespace, "standby") as standby:
        await until(standby.may_write)
        before = await client.get(CONFIG_MAP, target)
        assert before["data"] == {"writer": "paused"}
        # The request to write is in the pipe: it is the first work of the resumed process.
        other_process.stdin.write(b"write\n")
        await other_process.stdin.drain()
        os.kill(other_process.pid, signal.SIGCONT)
        assert {await next_line(other_process), await next_line(other_process)} == {
            "refused",
            "lost",
        }
        after = await client.get(CONFIG_MAP, target)
        assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        await until(standby.may_write)
        assert (await lease_spec(client, namespace))["holderIdentity"] == "standby"
