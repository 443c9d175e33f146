"""A running informer in manual time, and a handler that records its events in short form."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import Informer, InformerOptions, Selection
from runtime.client.client import Client
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import Answer, ScriptedServer, listing, trickle
from runtime.testing.wait import eventually
from runtime.types import Object, ObjectKey, key_of, resource_version_of, uid_of
from tests.runtime.serving import run_scripted_server

IN_PAGES = InformerOptions(watch_list=False)


class Recorder:
    """A handler that records events, and the objects according to the events."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.resyncs: list[str] = []
        self.world: dict[ObjectKey, Object] = {}

    def on_add(self, obj: Object, initial: bool) -> None:
        assert key_of(obj) not in self.world
        self.world[key_of(obj)] = obj
        self.words.append(f"{'!' if initial else '+'}{name_of(obj)}")

    def on_update(self, old: Object, new: Object) -> None:
        assert self.world[key_of(new)] is old
        assert uid_of(old) == uid_of(new)
        self.world[key_of(new)] = new
        self.words.append(f"{name_of(old)}>{resource_version_of(new)}")

    def on_delete(self, obj: Object) -> None:
        assert uid_of(self.world.pop(key_of(obj))) == uid_of(obj)
        self.words.append(f"-{name_of(obj)}")

    def on_resync(self, obj: Object) -> None:
        assert self.world[key_of(obj)] is obj
        self.resyncs.append(name_of(obj))


def name_of(obj: Object) -> str:
    return f"{key_of(obj).name}@{resource_version_of(obj)}"


class Running:
    """A running informer, its recorder, and the queue with the lines of its watch."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        clock: ManualClock,
        options: InformerOptions = IN_PAGES,
    ) -> None:
        self.clock = clock
        self.metrics = Metrics()
        self.lines = asyncio.Queue[bytes]()
        self.server: ScriptedServer
        self.recorder = Recorder()
        self.informer = Informer(
            client,
            selection,
            clock=clock,
            rng=random.Random(1),
            metrics=self.metrics,
            options=options,
        )
        self.informer.add_handler(self.recorder)

    async def hears(self, *words: str) -> None:
        await eventually(
            lambda: self.recorder.words == list(words),
            seconds=3.0,
            goal=f"{self.recorder.words} is {list(words)}",
        )


@asynccontextmanager
async def informing(
    *items: Object,
    selection: Selection | None = None,
    then: tuple[Answer, ...] = (),
    options: InformerOptions = IN_PAGES,
) -> AsyncIterator[Running]:
    """An informer that has listed items at version 100; the test sends its watch events."""
    clock = ManualClock()
    async with run_scripted_server(listing(list(items)), clock=clock) as (server, client):
        run = Running(client, selection or Selection(CONFIG_MAP, "shop"), clock, options)
        run.server = server
        server.extend(*(then or (trickle(run.lines),)))
        task = asyncio.create_task(run.informer.run())
        try:
            await run.informer.wait_synced(5.0)
            yield run
        finally:
            task.cancel()
            await asyncio.wait([task])
