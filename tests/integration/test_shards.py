"""Elections of shards on real Leases: failure, a stopped process, and another number of shards."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator

import pytest

from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.leader.shard import Shard, group_identity, lease_of_shard
from runtime.types import ObjectKey
from tests.integration.candidates import (
    Candidate,
    leader_process,
    lease_spec,
    next_line,
    run_candidate,
    until,
    watch_writes,
)
from tests.integration.leader_process import LEASE_NAME, TARGET_NAME


@contextlib.asynccontextmanager
async def shards(
    client: Client, namespace: str, count: int, name: str = ""
) -> AsyncIterator[list[Candidate]]:
    """Run one candidate for each of `count` shards."""
    async with contextlib.AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                run_candidate(
                    Candidate(
                        client, namespace, f"{name or count}-{index}", shard=Shard(index, count)
                    )
                )
            )
            for index in range(count)
        ]


async def all_write(candidates: list[Candidate]) -> float:
    return await until(
        lambda: all(candidate.may_write() for candidate in candidates), "all candidates may write"
    )


async def test_each_shard_has_a_leader_and_a_standby_takes_over(
    client: Client, namespace: str
) -> None:
    async with shards(client, namespace, 2) as first:
        await all_write(first)
        assert (await lease_spec(client, namespace))["holderIdentity"] == group_identity(2)
        async with shards(client, namespace, 2, "standby") as second, watch_writes(*first, *second):
            first[0].end.set()
            await first[0].task
            await until(second[0].may_write)
            assert first[1].may_write()
            assert not second[1].may_write()
            holders = [
                (await lease_spec(client, namespace, lease_of_shard(LEASE_NAME, index)))
                for index in range(2)
            ]
    assert [holder["holderIdentity"] for holder in holders] == ["standby-0", "2-1"]
    left = await lease_spec(client, namespace)
    assert left["holderIdentity"] == group_identity(2), "the group Lease must not be released"


@pytest.fixture
async def zombie(control_plane: Rig, namespace: str) -> AsyncIterator[asyncio.subprocess.Process]:
    async with leader_process(control_plane, namespace, "zombie", "0/2") as process:
        yield process


async def test_t20_a_resumed_shard_writes_nothing_while_the_group_is_active(
    client: Client, namespace: str, zombie: asyncio.subprocess.Process
) -> None:
    assert zombie.stdin is not None
    target = ObjectKey(namespace, TARGET_NAME)
    assert await next_line(zombie) == "leading"
    zombie.stdin.write(b"write\n")
    assert await next_line(zombie) == "written"
    # The other shard keeps renewing the group Lease, which must not permit writes of the zombie.
    async with run_candidate(Candidate(client, namespace, "other", shard=Shard(1, 2))) as other:
        await until(other.may_write)
        os.kill(zombie.pid, signal.SIGSTOP)
        async with run_candidate(
            Candidate(client, namespace, "standby", shard=Shard(0, 2))
        ) as standby:
            await until(standby.may_write)
            assert other.may_write()
            before = await client.get(CONFIG_MAP, target)
            zombie.stdin.write(b"write\n")
            await zombie.stdin.drain()
            os.kill(zombie.pid, signal.SIGCONT)
            assert {await next_line(zombie), await next_line(zombie)} == {"refused", "lost"}
            after = await client.get(CONFIG_MAP, target)
            assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
            assert standby.may_write()
            assert other.may_write()
