"""Two managers as processes, frozen and resumed in turn; every write is audited.

The audit is the history of one object: in the order of its versions, the epochs of its writers
may never fall, and an epoch has one writer.
"""

import asyncio
import contextlib
import random
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client, WatchOptions
from runtime.client.codec import decode_event
from tests.integration.candidates import PATIENCE, until
from tests.integration.leader_process import OPTIONS
from tests.integration.manager_process import LOST, TARGET

ROUNDS = 3


@dataclass
class History:
    """Who wrote, in the order of the server."""

    writes: list[tuple[int, str, int]] = field(default_factory=list)

    def of(self, writer: str) -> int:
        return sum(who == writer for _, who, _ in self.writes)

    def last(self) -> str:
        return self.writes[-1][1] if self.writes else ""

    def writers(self) -> list[str]:
        """Each writer once for every time that it took over from another."""
        names = [who for _, who, _ in self.writes]
        return [who for at, who in enumerate(names) if at == 0 or names[at - 1] != who]


@contextlib.asynccontextmanager
async def audited(client: Client, namespace: str) -> AsyncIterator[History]:
    start = (await client.list(CONFIG_MAP, namespace)).resource_version
    history = History()
    options = WatchOptions(start, 600, field_selector=f"metadata.name={TARGET}")

    async def read() -> None:
        async with client.watch(CONFIG_MAP, namespace, options) as lines:
            async for line in lines:
                kind, obj = decode_event(line, CONFIG_MAP)
                if kind in ("ADDED", "MODIFIED"):
                    data = obj["data"]
                    entry = (int(data["epoch"]), data["writer"], int(data["number"]))
                    history.writes.append(entry)

    task = asyncio.create_task(read())
    try:
        yield history
        assert not task.done(), "the audit ended early"
    finally:
        task.cancel()
        await asyncio.wait([task])


class Processes:
    """Managers that are started, frozen and buried by this test."""

    def __init__(self, rig: Rig, namespace: str) -> None:
        self.rig = rig
        self.namespace = namespace
        self.started = 0
        self.running: dict[str, asyncio.subprocess.Process] = {}

    async def start(self) -> str:
        """Return when it runs for the lease."""
        self.started += 1
        identity = f"manager-{self.started}"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.integration.manager_process",
            str(self.rig.kubeconfig),
            self.namespace,
            identity,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self.running[identity] = process
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            assert await process.stdout.readline() == b"running\n"
        return identity

    async def end(self, identity: str) -> tuple[int, list[str]]:
        """Its exit status and its words; it has to end by itself."""
        process = self.running.pop(identity)
        try:
            async with asyncio.timeout(PATIENCE):
                said, _ = await process.communicate()
        except TimeoutError:
            self.running[identity] = process
            raise
        assert process.returncode is not None
        return process.returncode, said.decode().split()

    async def bury(self) -> None:
        for process in self.running.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def test_t20_frozen_and_resumed_managers_never_write_over_their_successor(
    control_plane: Rig, client: Client, namespace: str
) -> None:
    dice = random.Random(11)
    processes = Processes(control_plane, namespace)
    frozen: list[str] = []
    try:
        async with audited(client, namespace) as history:
            await asyncio.gather(processes.start(), processes.start())
            await until(lambda: history.last() != "", "the first write")
            for _ in range(ROUNDS):
                leader = history.last()
                await progress(history, leader, dice.randrange(1, 40))
                processes.running[leader].send_signal(signal.SIGUSR1)
                # It comes up while the others wait for the lease to run out.
                await processes.start()
                await successor_of(history, leader)
                successor = history.last()
                await progress(history, successor, 5)
                processes.running[leader].send_signal(signal.SIGCONT)
                status, said = await processes.end(leader)
                assert status == LOST, said
                frozen.append(leader)
                await progress(history, successor, 20)
            last = history.last()
            processes.running[last].send_signal(signal.SIGTERM)
            status, said = await processes.end(last)
            assert (status, "refused" in said) == (0, False)
            waited = await successor_of(history, last)
        assert waited < OPTIONS.lease_duration / 2, "a lease that was released is not waited for"
    finally:
        await processes.bury()
    expect_no_overlap(history)
    assert history.writers()[: ROUNDS + 1] == [*frozen, last]


async def successor_of(history: History, writer: str) -> float:
    """Seconds until somebody else writes."""
    return await until(lambda: history.last() != writer, f"a successor of {writer}")


async def progress(history: History, writer: str, count: int) -> None:
    """Return when that writer has written that often again."""
    goal = history.of(writer) + count
    await until(lambda: history.of(writer) >= goal, f"{count} writes of {writer}")


def expect_no_overlap(history: History) -> None:
    epochs = [epoch for epoch, _, _ in history.writes]
    assert epochs == sorted(epochs), history.writers()
    assert len({who for _, who, _ in history.writes}) == len(set(epochs)), "one writer per epoch"
    by_writer: dict[str, list[int]] = {}
    for _, who, number in history.writes:
        by_writer.setdefault(who, []).append(number)
    for numbers in by_writer.values():
        assert numbers == sorted(set(numbers)), "no write is sent twice"
