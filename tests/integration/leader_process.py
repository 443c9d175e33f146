"""A leader election candidate in a separate process, which tests stop and continue.

Run as `python -m tests.integration.leader_process KUBECONFIG NAMESPACE IDENTITY [SHARD]` by the
tests of leader election. It prints "leading" when it becomes the leader and "lost" when it loses
leadership. For each input line it writes a ConfigMap through a guarded client and prints "written"
or "refused"; it exits at the end of its input.
"""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.client.credentials import from_kubeconfig
from runtime.clock import SystemClock
from runtime.errors import LeaseLost
from runtime.leader.leader import LeaderElector, LeaderOptions, LeaseLock
from runtime.leader.shard import Shard
from runtime.leader.shard_elector import (
    Election,
    GroupElector,
    ShardElector,
    group_lock,
    shard_lock,
)
from runtime.metrics.metrics import Metrics
from runtime.process.logs import configure

LEASE_NAME = "operator"
TARGET_NAME = "written-by-the-leader"
OPTIONS = LeaderOptions(
    lease_duration=5.0, renew_deadline=4.0, retry_period=0.25, write_timeout=1.0
)
GROUP_OPTIONS = LeaderOptions(
    lease_duration=8.0, renew_deadline=6.0, retry_period=0.5, write_timeout=1.0
)
ALONE = Shard()


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def elector_of(
    client: Client, lock: LeaseLock, shard: Shard, options: LeaderOptions = OPTIONS
) -> LeaderElector | ShardElector:
    """The elector of a shard, or one without shards."""
    clock, rng, metrics = SystemClock(), random.Random(1), Metrics()

    def leader(of: LeaseLock) -> LeaderElector:
        return LeaderElector(client, of, clock=clock, rng=rng, metrics=metrics, options=options)

    if shard.is_only:
        return leader(lock)

    def candidacies() -> tuple[GroupElector, LeaderElector]:
        group = GroupElector(
            client,
            group_lock(lock, shard),
            clock=clock,
            rng=rng,
            metrics=metrics,
            options=GROUP_OPTIONS,
        )
        return group, leader(shard_lock(lock, shard))

    return ShardElector(candidacies)


async def lead(elector: Election) -> None:
    async def started() -> None:
        say("leading")
        await asyncio.Event().wait()

    try:
        await elector.run(started)
    except LeaseLost:
        say("lost")


async def answer(client: Client, namespace: str, identity: str) -> None:
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    target = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": TARGET_NAME},
        "data": {"writer": identity},
    }
    while await lines.readline():
        try:
            await client.apply(CONFIG_MAP, target, field_manager=identity, force=True)
            say("written")
        except LeaseLost:
            say("refused")


@asynccontextmanager
async def candidacy(
    kubeconfig: str, namespace: str, identity: str, shard: Shard = ALONE
) -> AsyncIterator[tuple[LeaderElector | ShardElector, Client]]:
    """An elector with its own client, and a client with its write guard."""
    clock = SystemClock()
    # Standard output is only for the protocol of the process.
    configure(clock)
    credentials = await from_kubeconfig(kubeconfig, None, clock)
    lease_client = Client(credentials, user_agent="itest-lease", clock=clock)
    elector = elector_of(lease_client, LeaseLock(namespace, LEASE_NAME, identity), shard)
    client = Client(
        credentials,
        user_agent="itest",
        clock=clock,
        guard=elector.guard,
        timeout=OPTIONS.write_timeout,
    )
    try:
        yield elector, client
    finally:
        await client.close()
        await lease_client.close()


async def main(kubeconfig: str, namespace: str, identity: str, shard: str = "0/1") -> None:
    async with candidacy(kubeconfig, namespace, identity, Shard.parse(shard)) as (elector, client):
        leading = asyncio.create_task(lead(elector))
        try:
            await answer(client, namespace, identity)
        finally:
            leading.cancel()
            await asyncio.wait([leading])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
