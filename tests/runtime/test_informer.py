"""runtime.informer: store and handlers behind a scripted server, and convergence under faults."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from runtime.client import Client
from runtime.informer import Informer, InformerSet, Selection
from runtime.metrics import Metrics
from runtime.resources import CONFIG_MAP, SECRET
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
    trickle,
)
from runtime.testing.wait import eventually
from runtime.types import Object, ObjectKey, key_of, resource_version_of, uid_of
from tests.runtime.serving import config_map, scripted

A = ObjectKey("shop", "a")


class Recorder:
    """A handler that keeps words, and a copy of the world as the events tell it."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.world: dict[ObjectKey, Object] = {}

    def on_add(self, obj: Object, initial: bool) -> None:
        assert key_of(obj) not in self.world
        self.world[key_of(obj)] = obj
        self.words.append(f"{'!' if initial else '+'}{_name(obj)}")

    def on_update(self, old: Object, new: Object) -> None:
        assert self.world[key_of(new)] is old
        assert uid_of(old) == uid_of(new)
        self.world[key_of(new)] = new
        self.words.append(f"{_name(old)}>{resource_version_of(new)}")

    def on_delete(self, obj: Object) -> None:
        assert uid_of(self.world.pop(key_of(obj))) == uid_of(obj)
        self.words.append(f"-{_name(obj)}")


def _name(obj: Object) -> str:
    return f"{key_of(obj).name}@{resource_version_of(obj)}"


class Running:
    """An informer at work, its recorder, and the queue that feeds its watch."""

    def __init__(self, client: Client, selection: Selection, clock: ManualClock) -> None:
        self.clock = clock
        self.metrics = Metrics()
        self.lines = asyncio.Queue[bytes]()
        self.recorder = Recorder()
        self.informer = Informer(
            client, selection, clock=clock, rng=random.Random(1), metrics=self.metrics
        )
        self.informer.add_handler(self.recorder)

    async def hears(self, *words: str) -> None:
        await eventually(
            lambda: self.recorder.words == list(words),
            seconds=3.0,
            say=f"{self.recorder.words} is {list(words)}",
        )


@asynccontextmanager
async def informing(
    *items: Object, selection: Selection | None = None, then: tuple[Answer, ...] = ()
) -> AsyncIterator[Running]:
    """An informer that listed items at version 100 and whose watch the test feeds."""
    clock = ManualClock()
    async with scripted(listing(list(items)), clock=clock) as (server, client):
        run = Running(client, selection or Selection(CONFIG_MAP, "shop"), clock)
        server.extend(*(then or (trickle(run.lines),)))
        task = asyncio.create_task(run.informer.run())
        try:
            await run.informer.wait_synced(5.0)
            yield run
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_the_first_list_is_initial_and_the_watch_is_not() -> None:
    async with informing(config_map("a", "90"), config_map("b", "91")) as run:
        run.lines.put_nowait(event("ADDED", config_map("c", "101")))
        run.lines.put_nowait(event("MODIFIED", config_map("a", "102")))
        run.lines.put_nowait(event("DELETED", config_map("b", "103")))
        await run.hears("!a@90", "!b@91", "+c@101", "a@90>102", "-b@103")
        assert run.recorder.world == {key_of(obj): obj for obj in run.informer.list()}
        assert [_name(obj) for obj in run.informer.list("shop")] == ["a@102", "c@101"]
        assert run.informer.list("bank") == []
        found = run.informer.get(A)
        assert found is not None
        assert "managedFields" not in found["metadata"]


async def test_handlers_see_the_store_as_it_is_after_the_change() -> None:
    seen: list[int] = []

    class Reader(Recorder):
        def on_add(self, obj: Object, initial: bool) -> None:
            seen.append(len(run.informer.list()))

    async with informing(config_map("a"), then=(stream(then="silence"),)) as run:
        run.informer.add_handler(Reader())
        run.informer.observe(config_map("b", "101"))
        assert seen == [1, 2]


async def test_a_late_handler_hears_of_each_object_exactly_once_as_initial() -> None:
    async with informing(config_map("a", "90")) as run:
        run.lines.put_nowait(event("ADDED", config_map("b", "101")))
        await run.hears("!a@90", "+b@101")
        late = Recorder()
        run.informer.add_handler(late)
        assert late.words == ["!a@90", "!b@101"]
        run.lines.put_nowait(event("DELETED", config_map("a", "102")))
        await run.hears("!a@90", "+b@101", "-a@102")
        assert late.words == ["!a@90", "!b@101", "-a@102"]


async def test_a_new_list_tells_the_difference_and_nothing_else() -> None:
    anew = [config_map("a", "90"), config_map("b", "150", uid="other"), config_map("d", "160")]
    expired = (status(410, "Expired"), listing(anew, "200"), stream(then="silence"))
    first = [config_map(name, "90") for name in "abc"]
    async with informing(*first, then=(stream(bookmark("101")), *expired)) as run:
        await run.hears("!a@90", "!b@90", "!c@90", "-c@90", "-b@90", "+b@150", "+d@160")


async def test_own_writes_are_read_at_once_and_told_once() -> None:
    async with informing(config_map("a", "90")) as run:
        answer = config_map("a", "105")
        run.informer.observe(answer)
        assert run.recorder.words == ["!a@90", "a@90>105"]
        found = run.informer.get(A)
        assert found is not None
        # The stored copy is shaped; the caller's own object is left as it was.
        assert "managedFields" not in found["metadata"]
        assert "managedFields" in answer["metadata"]
        for kind, version in (("MODIFIED", "101"), ("MODIFIED", "105"), ("MODIFIED", "107")):
            run.lines.put_nowait(event(kind, config_map("a", version)))
        await run.hears("!a@90", "a@90>105", "a@105>107")


async def test_an_answer_that_this_selection_would_not_contain_is_not_taken() -> None:
    selection = Selection(CONFIG_MAP, "shop", label_selector="app=web")
    async with informing(selection=selection) as run:
        run.informer.observe(config_map("a", "105"))
        labelled = config_map("b", "106")
        labelled["metadata"]["labels"] = {"app": "web"}
        run.informer.observe(labelled)
        await run.hears("+b@106")


async def test_an_answer_before_the_first_list_is_left_to_the_list() -> None:
    async with scripted() as (_, client):
        run = Running(client, Selection(CONFIG_MAP, "shop"), ManualClock())
        run.informer.observe(config_map("a", "105"))
        assert run.informer.list() == []
        assert not run.informer.synced


async def test_metadata_only_keeps_metadata_of_watched_and_observed_objects() -> None:
    selection = Selection(CONFIG_MAP, "shop", metadata_only=True)
    partial = {**config_map("a", "90"), "kind": "PartialObjectMetadata"}
    del partial["data"]
    async with informing(partial, selection=selection) as run:
        run.informer.observe(config_map("b", "105", key="value"))
        assert [(obj["kind"], "data" in obj) for obj in run.informer.list()] == [
            ("ConfigMap", False),
            ("ConfigMap", False),
        ]


async def test_indexes_are_kept() -> None:
    async with informing(config_map("a", "90", colour="red")) as run:
        run.informer.add_index("colour", lambda obj: obj["data"].values())
        run.lines.put_nowait(event("ADDED", config_map("b", "101", colour="red")))
        await run.hears("!a@90", "+b@101")
        names = [key_of(obj).name for obj in run.informer.by_index("colour", "red")]
        assert names == ["a", "b"]


async def test_waiting_for_a_server_that_denies_us_says_so() -> None:
    clock = ManualClock()
    denied = status(403, "Forbidden", "configmaps is forbidden")
    async with scripted(otherwise=denied, clock=clock) as (_, client):
        run = Running(client, Selection(CONFIG_MAP, "shop"), clock)
        task = asyncio.create_task(run.informer.run())
        waiting = asyncio.create_task(run.informer.wait_synced(30.0))
        while not waiting.done():
            await clock.advance(1.0)
        with pytest.raises(TimeoutError, match=r"configmaps in shop .* 30 s: 403 .*is forbidden"):
            await waiting
        task.cancel()
        await asyncio.wait([task])


async def test_a_handler_that_raises_ends_the_informer() -> None:
    class Broken(Recorder):
        def on_add(self, obj: Object, initial: bool) -> None:
            raise KeyError("a bug in a handler")

    async with scripted(listing([config_map("a")])) as (_, client):
        run = Running(client, Selection(CONFIG_MAP, "shop"), ManualClock())
        run.informer.add_handler(Broken())
        with pytest.raises(KeyError, match="a bug in a handler"):
            await run.informer.run()


class TestInformerSet:
    """One informer per selection, run and failing together."""

    @staticmethod
    @asynccontextmanager
    async def running(
        *script: Answer, otherwise: Answer | None = None
    ) -> AsyncIterator[tuple[InformerSet, ManualClock, Metrics, asyncio.Task[None]]]:
        clock, metrics = ManualClock(), Metrics()
        async with scripted(*script, otherwise=otherwise, clock=clock) as (_, client):
            made = InformerSet(client, clock=clock, rng=random.Random(1), metrics=metrics)
            task = asyncio.create_task(made.run())
            try:
                yield made, clock, metrics, task
            finally:
                task.cancel()
                await asyncio.wait([task])

    async def test_equal_selections_share_an_informer_which_starts_at_once(self) -> None:
        script = (listing([config_map("a")]), stream(then="silence"))
        async with self.running(*script) as (informers, _, _, _):
            await informers.wait_synced(1.0)
            one, two = (informers.informer(Selection(CONFIG_MAP, "shop")) for _ in range(2))
            assert one is two
            await informers.wait_synced(5.0)
            assert one.synced

    async def test_informers_made_before_the_start_run_too(self) -> None:
        script = (listing([]), listing([]))
        clock = ManualClock()
        async with scripted(*script, otherwise=stream(then="silence"), clock=clock) as (_, client):
            informers = InformerSet(client, clock=clock, rng=random.Random(1), metrics=Metrics())
            made = [informers.informer(Selection(r, "shop")) for r in (CONFIG_MAP, SECRET)]
            task = asyncio.create_task(informers.run())
            await informers.wait_synced(5.0)
            assert all(informer.synced for informer in made)
            task.cancel()
            await asyncio.wait([task])

    async def test_a_crash_of_one_is_the_end_of_all(self) -> None:
        def broken(obj: Object) -> Object:
            raise KeyError("a bug")

        async with self.running(listing([config_map("a")])) as (informers, _, _, task):
            informers.informer(Selection(CONFIG_MAP, transform=broken))
            with pytest.raises(KeyError, match="a bug"):
                await task

    async def test_silence_shows_in_health_and_metrics(self) -> None:
        script = (listing([config_map("a"), config_map("b")]), stream(then="silence"))
        async with self.running(*script, otherwise=drop) as (informers, clock, metrics, _):
            informers.informer(Selection(CONFIG_MAP, "shop"))
            await informers.wait_synced(5.0)
            assert informers.healthy(60.0) is None
            await clock.advance(61.0)
            assert informers.healthy(60.0) == "nothing heard of configmaps in shop for 61 s"

            def value(name: str, **labels: str) -> float | None:
                return metrics.registry.get_sample_value(name, {"resource": "configmaps", **labels})

            assert value("informer_last_event_age_seconds") == 61.0
            assert value("informer_objects") == 2.0
            assert value("watch_events_total", type="ADDED") == 0.0


class Story:
    """A small API server: a history of config maps, told with faults as the dice fall."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.faults = True
        self.version = 100
        self.oldest = 100
        self.alive: dict[str, Object] = {}
        self.history: list[tuple[int, str, Object]] = []

    def act(self) -> Object:
        """Change one object, or delete it; its new state."""
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
        return await self._answer(request.query.get("resourceVersion"))(request)

    def _answer(self, since: str | None) -> Answer:
        fault = self.dice.random() if self.faults else 1.0
        if fault < 0.2:
            broken = (
                drop,
                status(500, "InternalError"),
                status(429, "TooManyRequests", retryAfterSeconds=3),
                status(503, "ServiceUnavailable"),
            )
            return self.dice.choice(broken)
        if since is None:
            return listing(list(self.alive.values()), str(self.version))
        if int(since) < self.oldest:
            gone = status_body(410, "Expired")
            return self.dice.choice((status(410, "Expired"), stream(event("ERROR", gone))))
        lines = [event(kind, obj) for version, kind, obj in self.history if version > int(since)]
        told = lines[: self.dice.randint(0, len(lines))] if fault < 0.8 else lines
        if fault < 0.4:
            return stream(*told, b'{"type":"ADDED","obj', then=self.dice.choice(("end", "cut")))
        if fault < 0.6:
            return stream(*told, then="cut")
        return stream(*told, *([bookmark(str(self.version))] if told == lines else []))


async def _play(story: Story, run: Running, server: ScriptedServer) -> None:
    for _ in range(30):
        for _ in range(story.dice.randint(0, 4)):
            written = story.act()
            # Half of the changes are our own writes, whose answers we read at once.
            if story.dice.random() < 0.5 and key_of(written).name in story.alive:
                run.informer.observe(written)
        await run.clock.advance(story.dice.uniform(0.1, 4.0))
    story.faults = False
    asked = len(server.requests)

    def caught_up() -> bool:
        return {key_of(obj).name: _name(obj) for obj in run.informer.list()} == {
            name: _name(obj) for name, obj in story.alive.items()
        }

    while not caught_up():
        assert len(server.requests) < asked + 40
        await run.clock.advance(5.0)


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_goes_wrong_store_and_handlers_end_at_the_truth(seed: int) -> None:
    story = Story(random.Random(seed))
    clock = ManualClock()
    async with scripted(otherwise=story, clock=clock) as (server, client):
        run = Running(client, Selection(CONFIG_MAP, "shop"), clock)
        task = asyncio.create_task(run.informer.run())
        await _play(story, run, server)
        assert not task.done()
        assert run.recorder.world == {key_of(obj): obj for obj in run.informer.list()}
        task.cancel()
        await asyncio.wait([task])
