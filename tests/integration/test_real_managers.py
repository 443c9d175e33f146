"""Two managers as processes, frozen and resumed alternately; every write is audited.

The audit is the history of one object: in the order of its versions, the epochs of the writers
never decrease, and an epoch has one writer.
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
    """The writes, in the order of the server: epoch, writer, number."""

    writes: list[tuple[int, str, int]] = field(default_factory=list)

    def of(self, writer: str) -> int:
        return sum(who == writer for _, who, _ in self.writes)

    def last(self) -> str:
        return self.writes[-1][1] if self.writes else ""

    def writers(self) -> list[str]:
        """The writers in order, with one entry for each takeover."""
        names = [who for _, who, _ in self.writes]
        return [who for at, who in enumerate(names) if at == 0 or names[at - 1] != who]


@contextlib.asynccontextmanager
async def record_writes(client: Client, namespace: str) -> AsyncIterator[History]:
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
    """Managers that this test starts, freezes and kills."""

    def __init__(self, rig: Rig, namespace: str) -> None:
        self.rig = rig
        self.namespace = namespace
        self.started = 0
        self.running: dict[str, asyncio.subprocess.Process] = {}

    async def start(self) -> str:
        """Start a manager; returns its identity once it is a candidate."""
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
        """Wait until it exits by itself; return the exit status and its output."""
        process = self.running.pop(identity)
        try:
            async with asyncio.timeout(PATIENCE):
                output, _ = await process.communicate()
        except TimeoutError:
            self.running[identity] = process
            raise
        assert process.returncode is not None
        return process.returncode, output.decode().split()

    async def bury(self) -> None:
        for process in self.running.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def test_t20_frozen_and_resumed_managers_never_overwrite_their_successor(
    control_plane: Rig, client: Client, namespace: str
) -> None:
    dice = random.Random(11)
    processes = Processes(control_plane, namespace)
    frozen: list[str] = []
    try:
        async with record_writes(client, namespace) as history:
            await asyncio.gather(processes.start(), processes.start())
            await until(lambda: history.last() != "", "a manager writes")
            for _ in range(ROUNDS):
                leader = history.last()
                await progress(history, leader, dice.randrange(1, 40))
                processes.running[leader].send_signal(signal.SIGUSR1)
                # It starts while the others wait for the Lease to expire.
                await processes.start()
                await successor_of(history, leader)
                successor = history.last()
                await progress(history, successor, 5)
                processes.running[leader].send_signal(signal.SIGCONT)
                status, lines = await processes.end(leader)
                assert status == LOST, lines
                frozen.append(leader)
                await progress(history, successor, 20)
            last = history.last()
            processes.running[last].send_signal(signal.SIGTERM)
            status, lines = await processes.end(last)
            assert (status, "refused" in lines) == (0, False)
            waited = await successor_of(history, last)
        assert waited < OPTIONS.lease_duration / 2, "a released Lease must be taken immediately"
    finally:
        await processes.bury()
    expect_no_overlap(history)
    assert history.writers()[: ROUNDS + 1] == [*frozen, last]


async def successor_of(history: History, writer: str) -> float:
    """Wait until another manager writes; return the seconds."""
    return await until(lambda: history.last() != writer, f"another manager than {writer} writes")


async def progress(history: History, writer: str, count: int) -> None:
    """Wait for `count` further writes of a writer."""
    goal = history.of(writer) + count
    await until(lambda: history.of(writer) >= goal, f"{writer} has {count} writes")


def expect_no_overlap(history: History) -> None:
    epochs = [epoch for epoch, _, _ in history.writes]
    assert epochs == sorted(epochs), history.writers()
    assert len({who for _, who, _ in history.writes}) == len(set(epochs)), "one writer per epoch"
    by_writer: dict[str, list[int]] = {}
    for _, who, number in history.writes:
        by_writer.setdefault(who, []).append(number)
    for numbers in by_writer.values():
        assert numbers == sorted(set(numbers)), "no write is sent twice"
