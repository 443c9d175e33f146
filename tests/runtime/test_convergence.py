"""runtime.cache.informer.

Store and handlers converge to the state of the server, whatever faults occur.
"""

import asyncio
import random

import pytest
from aiohttp import web

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import InformerOptions, Selection
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import (
    Answer,
    ScriptedServer,
    bookmark,
    drop,
    event,
    listing,
    status,
    status_body,
    stream,
)
from runtime.types import Object, key_of, uid_of
from tests.runtime.informing import Running, name_of
from tests.runtime.reflecting import end_of_list
from tests.runtime.serving import config_map, run_scripted_server


class Story:
    """A small API server: a history of ConfigMaps, sent with random faults."""

    def __init__(self, dice: random.Random, *, streams_lists: bool = True) -> None:
        self.dice = dice
        self.streams_lists = streams_lists
        self.faults = True
        self.version = 100
        self.oldest = 100
        self.alive: dict[str, Object] = {}
        self.history: list[tuple[int, str, Object]] = []

    def act(self) -> Object:
        """Change or delete one object; return its new state."""
        self.version += 1
        name = self.dice.choice("abcdef")
        known = self.alive.pop(name, None)
        uid = uid_of(known) if known else f"{name}-{self.version}"
        obj = config_map(name, str(self.version), uid=uid)
        kind = "ADDED" if known is None else self.dice.choice(("MODIFIED", "MODIFIED", "DELETED"))
        if kind != "DELETED":
            self.alive[name] = obj
        self.history.append((self.version, kind, obj))
        if self.dice.random() < 0.05:
            self.oldest = self.version
        return obj

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if "sendInitialEvents" in request.query and not self.streams_lists:
            return await status(422, "Invalid")(request)
        since = request.query.get("resourceVersion")
        return await self._answer(since, listed="watch" not in request.query)(request)

    def _answer(self, since: str | None, *, listed: bool) -> Answer:
        fault = self.dice.random() if self.faults else 1.0
        if fault < 0.2:
            broken = (
                drop,
                status(500, "InternalError"),
                status(429, "TooManyRequests", retryAfterSeconds=3),
                status(503, "ServiceUnavailable"),
            )
            return self.dice.choice(broken)
        if listed:
            return listing(list(self.alive.values()), str(self.version))
        if since is None:
            return self._streamed_list(fault)
        if int(since) < self.oldest:
            gone = status_body(410, "Expired")
            return self.dice.choice((status(410, "Expired"), stream(event("ERROR", gone))))
        lines = [event(kind, obj) for version, kind, obj in self.history if version > int(since)]
        events = lines[: self.dice.randint(0, len(lines))] if fault < 0.8 else lines
        if fault < 0.4:
            return stream(*events, b'{"type":"ADDED","obj', then=self.dice.choice(("end", "cut")))
        if fault < 0.6:
            return stream(*events, then="cut")
        return stream(*events, *([bookmark(str(self.version))] if events == lines else []))

    def _streamed_list(self, fault: float) -> Answer:
        """All objects in any order, the bookmark at the end, and nothing more."""
        lines = [event("ADDED", obj) for obj in self.alive.values()]
        self.dice.shuffle(lines)
        lines.append(end_of_list(str(self.version)))
        if fault < 0.6:
            return stream(*lines[: self.dice.randint(0, len(lines))], then="cut")
        return stream(*lines)


async def _play(story: Story, run: Running, server: ScriptedServer) -> None:
    for _ in range(30):
        for _ in range(story.dice.randint(0, 4)):
            written = story.act()
            # Half of the changes are our own writes, whose responses are observed immediately.
            if story.dice.random() < 0.5 and key_of(written).name in story.alive:
                run.informer.observe(written)
        await run.clock.advance(story.dice.uniform(0.1, 4.0))
    story.faults = False
    count = len(server.requests)

    def caught_up() -> bool:
        return {key_of(obj).name: name_of(obj) for obj in run.informer.list()} == {
            name: name_of(obj) for name, obj in story.alive.items()
        }

    while not caught_up():
        assert len(server.requests) < count + 40
        await run.clock.advance(5.0)


@pytest.mark.parametrize("watch_list", [True, False], ids=["streamed", "in pages"])
@pytest.mark.parametrize("seed", range(12))
async def test_t08_store_and_handlers_converge_under_faults(seed: int, watch_list: bool) -> None:
    story = Story(random.Random(seed), streams_lists=seed % 4 > 0)
    clock, options = ManualClock(), InformerOptions(watch_list=watch_list)
    async with run_scripted_server(otherwise=story, clock=clock) as (server, client):
        run = Running(client, Selection(CONFIG_MAP, "shop"), clock, options)
        task = asyncio.create_task(run.informer.run())
        await _play(story, run, server)
        assert not task.done()
        assert run.recorder.world == {key_of(obj): obj for obj in run.informer.list()}
        task.cancel()
        await asyncio.wait([task])
