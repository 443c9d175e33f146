"""A manager in a separate process, which writes as fast as possible while it is the leader.

Run as `python -m tests.integration.manager_process KUBECONFIG NAMESPACE IDENTITY`. Each write puts
its identity, the epoch of its leadership and a number into one ConfigMap, by a forced apply without
preconditions: only the write guard separates two managers. It prints "running" at its start,
"writing" after its first write and "refused" at the first refusal of the guard, and exits with
status LOST when it has lost the Lease.

At SIGUSR1 it stops itself between two callbacks of its event loop. A SIGSTOP from outside may fall
between the last check of the guard and send(2), about 45 microseconds of each write; that one write
arrives late, and no guard can prevent it (runtime.leader.leader).
"""

import asyncio
import itertools
import os
import signal
import sys

from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.clock import Clock, SystemClock
from runtime.errors import ApiError, LeaseLost, TransportError
from runtime.leader.leader import LeaderElector
from runtime.leader.shard_elector import ShardElector
from runtime.process.manager import Group, Manager, Runnable
from tests.integration.leader_process import candidacy, say

TARGET = "audited"
LOST = 3
PAUSE = 0.002


class Writer:
    """The work of the leader."""

    def __init__(self, client: Client, elector: LeaderElector | ShardElector, clock: Clock) -> None:
        self.client = client
        self.elector = elector
        self.clock = clock
        self.words: set[str] = set()

    async def run(self, namespace: str, identity: str) -> None:
        for number in itertools.count():
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"namespace": namespace, "name": TARGET},
                "data": {
                    "writer": identity,
                    "epoch": str(self.elector.epoch),
                    "number": str(number),
                },
            }
            try:
                await self.client.apply(CONFIG_MAP, body, field_manager="itest", force=True)
                self.tell("writing")
            except LeaseLost:
                self.tell("refused")
            except (ApiError, TransportError):
                # The write may have succeeded or not; the next number shows it.
                pass
            await self.clock.sleep(PAUSE)

    def tell(self, word: str) -> None:
        if word not in self.words:
            self.words.add(word)
            say(word)


async def main(kubeconfig: str, namespace: str, identity: str) -> int:
    clock = SystemClock()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, os.kill, os.getpid(), signal.SIGSTOP)
    async with candidacy(kubeconfig, namespace, identity) as (elector, client):
        writer = Writer(client, elector, clock)
        manager = Manager(clock=clock, elector=elector)
        manager.add(Runnable("writer", lambda: writer.run(namespace, identity)), Group.LEADER)
        say("running")
        try:
            await manager.run()
        except LeaseLost:
            return LOST
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
