"""A leader election candidate in a separate process, which tests stop and continue.

Run as `python -m tests.integration.leader_process KUBECONFIG NAMESPACE IDENTITY` by the tests of
leader election. It says "leading" once it leads and "lost" when it no longer does. On each line it
reads it writes a ConfigMap through a guarded client and says "written" or "refused"; at the end of
its input it ends.
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
from runtime.metrics.metrics import Metrics
from runtime.process.logs import configure

LEASE_NAME = "operator"
TARGET_NAME = "written-by-the-leader"
OPTIONS = LeaderOptions(
    lease_duration=5.0, renew_deadline=4.0, retry_period=0.25, write_timeout=1.0
)


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


async def lead(elector: LeaderElector) -> None:
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
    kubeconfig: str, namespace: str, identity: str
) -> AsyncIterator[tuple[LeaderElector, Client]]:
    """An elector with a client of its own, and a client that its guard watches over."""
    clock = SystemClock()
    # Standard output is for the words of the process alone.
    configure(clock)
    credentials = await from_kubeconfig(kubeconfig, None, clock)
    lease_client = Client(credentials, user_agent="itest-lease", clock=clock)
    elector = LeaderElector(
        lease_client,
        LeaseLock(namespace, LEASE_NAME, identity),
        clock=clock,
        rng=random.Random(1),
        metrics=Metrics(),
        options=OPTIONS,
    )
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


async def main(kubeconfig: str, namespace: str, identity: str) -> None:
    async with candidacy(kubeconfig, namespace, identity) as (elector, client):
        leading = asyncio.create_task(lead(elector))
        try:
            await answer(client, namespace, identity)
        finally:
            leading.cancel()
            await asyncio.wait([leading])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
