"""runtime.cache.informer: store and handlers behind a scripted server."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.cache import as_cached
from runtime.cache.informer import SLICE, InformerOptions, Selection
from runtime.cache.informers import InformerSet
from runtime.cache.watch import Replace
from runtime.clock import yield_to_loop
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import (
    Answer,
    bookmark,
    drop,
    event,
    listing,
    silence,
    status,
    status_body,
    stream,
    trickle,
)
from runtime.testing.wait import eventually
from runtime.types import Object, ObjectKey, key_of
from tests.runtime.informing import IN_PAGES, Recorder, Running, informing, name_of
from tests.runtime.reflecting import end_of_list
from tests.runtime.serving import config_map, run_scripted_server

A = ObjectKey("shop", "a")


async def test_the_first_list_is_initial_and_the_watch_is_not() -> None:
    async with informing(config_map("a", "90"), config_map("b", "91")) as run:
        run.lines.put_nowait(event("ADDED", config_map("c", "101")))
        run.lines.put_nowait(event("MODIFIED", config_map("a", "102")))
        run.lines.put_nowait(event("DELETED", config_map("b", "103")))
        await run.hears("!a@90", "!b@91", "+c@101", "a@90>102", "-b@103")
        assert run.recorder.world == {key_of(obj): obj for obj in run.informer.list()}
        assert [name_of(obj) for obj in run.informer.list("shop")] == ["a@102", "c@101"]
        assert run.informer.list("bank") == []
        assert run.informer.resource_version == "103"
        live = run.informer.get(A)
        assert live is not None
        assert "managedFields" not in live["metadata"]


async def test_handlers_see_the_store_as_it_is_after_the_change() -> None:
    seen: list[int] = []

    class Reader(Recorder):
        def on_add(self, obj: Object, initial: bool) -> None:
            seen.append(len(run.informer.list()))

    async with informing(config_map("a"), then=(stream(then="silence"),)) as run:
        run.informer.add_handler(Reader())
        run.informer.observe(config_map("b", "101"))
        assert seen == [1, 2]


EXPIRED = event("ERROR", status_body(410, "Expired"))
FIRST = [config_map(name, "90") for name in "abc"]
ANEW = [config_map("a", "90"), config_map("b", "150", uid="other"), config_map("d", "160")]


def list_stream(items: list[Object], version: str, *more: bytes, then: str = "silence") -> Answer:
    lines = (event("ADDED", obj) for obj in items)
    return stream(*lines, end_of_list(version), *more, then=then)


RELISTS: dict[str, tuple[Answer, ...]] = {
    "in pages": (
        status(422, "Invalid"),
        listing(FIRST, "100"),
        stream(bookmark("101"), EXPIRED),
        listing(ANEW, "200"),
        stream(then="silence"),
    ),
    "streamed": (list_stream(FIRST, "100", bookmark("101"), EXPIRED), list_stream(ANEW, "200")),
}


@pytest.mark.parametrize("script", RELISTS.values(), ids=RELISTS)
async def test_t11_a_new_list_delivers_only_the_differences(
    script: tuple[Answer, ...],
) -> None:
    """Deletions come first; an unchanged version causes no event; a new uid is a new object."""
    async with run_scripted_server(*script) as (_, client):
        run = Running(client, Selection(CONFIG_MAP, "shop"), ManualClock(), InformerOptions())
        task = asyncio.create_task(run.informer.run())
        await run.hears("!a@90", "!b@90", "!c@90", "-c@90", "-b@90", "+b@150", "+d@160")
        task.cancel()
        await asyncio.wait([task])


async def test_t31_a_long_list_is_delivered_in_slices_and_later_changes_after_it() -> None:
    """The store gets the list in one step; other tasks run while handlers get the events."""
    many = [config_map(f"n{number}", "90") for number in range(4 * SLICE)]
    async with informing(config_map("a", "90"), then=(trickle(asyncio.Queue()),)) as run:
        run.informer._mirror(Replace(many, "200", "test"))
        telling = asyncio.create_task(run.informer._settle())
        heard = [len(run.recorder.words)]
        while not telling.done():
            await yield_to_loop()
            heard.append(len(run.recorder.words))
            assert len(run.informer.list()) >= len(many)
            if len(heard) == 2:
                run.informer.observe(config_map("n0", "300"))
        assert max(b - a for a, b in pairwise(heard)) <= SLICE
        assert run.recorder.words[-1] == "n0@90>300"
        assert run.recorder.world == {key_of(obj): obj for obj in run.informer.list()}


async def test_an_error_in_the_stream_is_reported_until_the_next_data() -> None:
    """In the error of wait_synced."""
    broken = event("ERROR", status_body(500, "InternalError", "etcd is away"))
    async with run_scripted_server(stream(broken), otherwise=silence) as (_, client):
        clock = ManualClock()
        run = Running(client, Selection(CONFIG_MAP, "shop"), clock, InformerOptions())
        task = asyncio.create_task(run.informer.run())
        waiting = asyncio.create_task(run.informer.wait_synced(1.0))
        await eventually(lambda: clock.sleeping == 2)
        await clock.advance(1.0)
        with pytest.raises(TimeoutError, match="etcd is away"):
            await waiting
        task.cancel()
        await asyncio.wait([task])


async def test_t12_an_object_recreated_between_two_events_is_a_delete_and_an_add() -> None:
    async with informing(config_map("a", "90", uid="old")) as run:
        run.lines.put_nowait(event("MODIFIED", config_map("a", "105", uid="new")))
        await run.hears("!a@90", "-a@90", "+a@105")


async def test_t28_own_writes_can_be_read_immediately_and_are_delivered_once() -> None:
    async with informing(config_map("a", "90")) as run:
        answer = config_map("a", "105")
        run.informer.observe(answer)
        assert run.recorder.words == ["!a@90", "a@90>105"]
        live = run.informer.get(A)
        assert live is not None
        # The stored copy is reduced; the object of the caller is not changed.
        assert "managedFields" not in live["metadata"]
        assert "managedFields" in answer["metadata"]
        for kind, version in (("MODIFIED", "101"), ("MODIFIED", "105"), ("MODIFIED", "107")):
            run.lines.put_nowait(event(kind, config_map("a", version)))
        await run.hears("!a@90", "a@90>105", "a@105>107")


async def test_t28_an_own_write_is_reduced_once_like_all_objects() -> None:
    shaped: list[str] = []

    def count(obj: Object) -> Object:
        shaped.append(name_of(obj))
        return obj

    async with informing(
        config_map("a", "90"), selection=Selection(CONFIG_MAP, "shop", transform=count)
    ) as run:
        run.informer.observe(config_map("b", "105"))
        stored = run.informer.get(ObjectKey("shop", "b"))
        for kind, version in (("ADDED", "105"), ("MODIFIED", "107")):
            run.lines.put_nowait(event(kind, config_map("b", version)))
        await run.hears("!a@90", "+b@105", "b@105>107")
        assert shaped == ["a@90", "b@105", "b@107"]
        first, last = run.informer.list()
        assert stored is not None
        assert first["metadata"]["namespace"] is stored["metadata"]["namespace"]
        assert first["metadata"]["namespace"] is last["metadata"]["namespace"]


async def test_t28_a_response_is_replaced_by_the_cached_copy() -> None:
    async with informing(config_map("a", "90")) as run:
        answer, older = config_map("a", "105"), config_map("a", "80")
        assert as_cached(run.informer, answer) is run.informer.get(A)
        assert as_cached(run.informer, older) is older
        elsewhere = config_map("a", "106")
        elsewhere["metadata"]["namespace"] = "bank"
        assert as_cached(run.informer, elsewhere) is elsewhere


async def test_a_response_that_is_not_selected_is_ignored() -> None:
    selection = Selection(CONFIG_MAP, "shop", label_selector="app=web")
    async with informing(selection=selection) as run:
        run.informer.observe(config_map("a", "105"))
        labeled = config_map("b", "106")
        labeled["metadata"]["labels"] = {"app": "web"}
        run.informer.observe(labeled)
        await run.hears("+b@106")


async def test_a_response_before_the_first_list_is_ignored() -> None:
    async with run_scripted_server() as (_, client):
        run = Running(client, Selection(CONFIG_MAP, "shop"), ManualClock())
        run.informer.observe(config_map("a", "105"))
        assert run.informer.list() == []
        assert not run.informer.synced


async def test_t16_a_projection_applies_to_listed_watched_and_observed_objects() -> None:
    selection = Selection(CONFIG_MAP, "shop", fields=("data.kept",))
    async with informing(config_map("a", "90", kept="1", more="2"), selection=selection) as run:
        run.lines.put_nowait(event("ADDED", config_map("b", "101", kept="1", more="2")))
        await run.hears("!a@90", "+b@101")
        run.informer.observe(config_map("c", "105", kept="1", more="2"))
        for obj in run.informer.list():
            assert set(obj) == {"apiVersion", "kind", "metadata", "data"}
            assert obj["data"] == {"kept": "1"}
            assert "managedFields" not in obj["metadata"]
        assert len(run.informer.list()) == 3


async def test_t16_metadata_only_keeps_metadata_of_watched_and_observed_objects() -> None:
    selection = Selection(CONFIG_MAP, "shop", metadata_only=True)
    partial = {**config_map("a", "90"), "kind": "PartialObjectMetadata"}
    del partial["data"]
    async with informing(partial, selection=selection) as run:
        run.informer.observe(config_map("b", "105", key="value"))
        assert [(obj["kind"], "data" in obj) for obj in run.informer.list()] == [
            ("ConfigMap", False),
            ("ConfigMap", False),
        ]


async def test_wait_synced_reports_an_error_of_the_server() -> None:
    clock = ManualClock()
    denied = status(403, "Forbidden", "configmaps is forbidden")
    async with run_scripted_server(otherwise=denied, clock=clock) as (_, client):
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

    async with run_scripted_server(listing([config_map("a")])) as (_, client):
        run = Running(client, Selection(CONFIG_MAP, "shop"), ManualClock())
        run.informer.add_handler(Broken())
        with pytest.raises(KeyError, match="a bug in a handler"):
            await run.informer.run()


class TestInformerSet:
    """One informer per selection; they run together and fail together."""

    @staticmethod
    @asynccontextmanager
    async def running(
        *script: Answer, otherwise: Answer | None = None
    ) -> AsyncIterator[tuple[InformerSet, ManualClock, Metrics, asyncio.Task[None]]]:
        clock, metrics = ManualClock(), Metrics()
        async with run_scripted_server(*script, otherwise=otherwise, clock=clock) as (_, client):
            informer_set = InformerSet(
                client, clock=clock, rng=random.Random(1), metrics=metrics, options=IN_PAGES
            )
            task = asyncio.create_task(informer_set.run())
            try:
                yield informer_set, clock, metrics, task
            finally:
                task.cancel()
                await asyncio.wait([task])

    async def test_equal_selections_share_an_informer_that_starts_immediately(self) -> None:
        script = (listing([config_map("a")]), stream(then="silence"))
        async with self.running(*script) as (informers, _, _, _):
            await informers.wait_synced(1.0)
            one, two = (informers.informer(Selection(CONFIG_MAP, "shop")) for _ in range(2))
            assert one is two
            await informers.wait_synced(5.0)
            assert one.synced

    async def test_a_crash_of_one_ends_all(self) -> None:
        def broken(obj: Object) -> Object:
            raise KeyError("a bug")

        async with self.running(listing([config_map("a")])) as (informers, _, _, task):
            informers.informer(Selection(CONFIG_MAP, transform=broken))
            with pytest.raises(KeyError, match="a bug"):
                await task

    async def test_t14_silence_shows_in_health_and_metrics(self) -> None:
        script = (listing([config_map("a"), config_map("b")]), stream(then="silence"))
        async with self.running(*script, otherwise=drop) as (informers, clock, metrics, _):
            informers.informer(Selection(CONFIG_MAP, "shop"))
            await informers.wait_synced(5.0)
            assert informers.healthy(60.0) is None
            await clock.advance(61.0)
            assert informers.healthy(60.0) == "no event of configmaps in shop for 61 s"

            def value(name: str, **labels: str) -> float | None:
                return metrics.registry.get_sample_value(name, {"resource": "configmaps", **labels})

            assert value("informer_last_event_age_seconds") == 61.0
            assert value("informer_objects") == 2.0
            assert value("informer_store_resource_version") == 100.0
            assert value("watch_events_total", type="ADDED") == 0.0
