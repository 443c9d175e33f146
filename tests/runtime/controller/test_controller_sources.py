"""From a source to the queue of a controller: start, predicates, handlers, priorities."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from structlog.testing import capture_logs

from runtime.controller.controller import Feed
from runtime.controller.event import Event, any_of, generation_changed, resynced, terminating
from runtime.controller.handler import enqueue_object
from runtime.controller.workqueue import LOW, NORMAL
from runtime.outcome import Wait
from runtime.types import Request
from tests.runtime.controller_rig import KEY, FakeSource, Rig, thing


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig().running() as rig:
        yield rig


async def test_t18_workers_start_only_after_every_source_is_synced() -> None:
    rig = Rig()
    sources = [FakeSource(rig.clock), FakeSource(rig.clock)]
    for source in sources:
        rig.controller.watch(source, enqueue_object)
    task = asyncio.create_task(rig.controller.run())
    sources[0].feeds[0].on_add(thing(), True)
    for source in sources:
        assert rig.calls == []
        source.sync.set()
        await rig.clock.settle()
    assert rig.calls == [(0.0, KEY)]
    rig.controller.stop()
    await task


async def test_t18_stop_while_waiting_for_sources_ends_run_immediately() -> None:
    rig = Rig()
    rig.controller.watch(FakeSource(rig.clock), enqueue_object)
    task = asyncio.create_task(rig.controller.run())
    await rig.clock.settle()
    rig.controller.stop()
    await task


async def test_t18_sources_share_one_sync_timeout() -> None:
    rig = Rig()
    first, second = FakeSource(rig.clock), FakeSource(rig.clock)
    for source in (first, second):
        rig.controller.watch(source, enqueue_object)
    task = asyncio.create_task(rig.controller.run())
    await rig.clock.advance(100.0)
    first.sync.set()
    await rig.clock.advance(19.9)
    assert not task.done()
    await rig.clock.advance(0.1)
    with pytest.raises(TimeoutError):
        await task
    assert rig.calls == []


async def test_t18_a_source_whose_kind_appears_late_but_in_time_is_waited_for() -> None:
    rig = Rig()
    source = FakeSource(rig.clock)
    rig.controller.watch(source, enqueue_object)
    async with rig.running():
        await rig.clock.advance(119.0)
        source.feeds[0].on_add(thing(), True)
        source.sync.set()
        await rig.clock.settle()
        assert rig.calls == [(119.0, KEY)]


async def test_t18_without_sources_work_starts_immediately() -> None:
    async with Rig().running() as rig:
        rig.controller.enqueue(KEY)
        await rig.clock.settle()
        assert rig.calls == [(0.0, KEY)]


async def test_t19_predicates_filter_and_a_failing_handler_does_not_affect_others(rig: Rig) -> None:
    def picky(event: Event) -> list[Request]:
        return [Request("ns", event.object["metadata"]["name"])]

    source = FakeSource(rig.clock)
    rig.controller.watch(source, picky, generation_changed)
    (feed,) = source.feeds
    with capture_logs() as logs:
        feed.on_update(thing("same"), thing("same"))
        feed.on_delete({"metadata": {}})
        feed.on_update(thing("changed"), thing("changed", generation=2, version="2"))
        feed.on_delete(thing("gone"))
        await rig.clock.settle()
    assert [request.name for _, request in rig.calls] == ["changed", "gone"]
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("event handler failed", "error")
    ]


async def test_t19_each_source_has_its_own_predicates(rig: Rig) -> None:
    picky, easy = FakeSource(rig.clock), FakeSource(rig.clock)
    rig.controller.watch(picky, enqueue_object, generation_changed)
    rig.controller.watch(easy, enqueue_object)
    for source, name in ((picky, "same"), (easy, "told")):
        source.feeds[0].on_update(thing(name), thing(name, version="2"))
    await rig.clock.settle()
    assert [request.name for _, request in rig.calls] == ["told"]


async def test_t19_all_predicates_of_a_source_must_agree(rig: Rig) -> None:
    source = FakeSource(rig.clock)
    rig.controller.watch(source, enqueue_object, generation_changed, terminating)
    source.feeds[0].on_update(thing(), thing(generation=2, version="2"))
    await rig.clock.settle()
    assert rig.calls == []


EVENTS: dict[str, tuple[Callable[[Feed], None], int]] = {
    "an add has normal priority": (lambda feed: feed.on_add(thing(), False), NORMAL),
    "an initial add has low priority": (lambda feed: feed.on_add(thing(), True), LOW),
    "an update has normal priority": (
        lambda feed: feed.on_update(thing(), thing(version="2")),
        NORMAL,
    ),
    "an update to the same version has low priority": (
        lambda feed: feed.on_update(thing(), thing()),
        LOW,
    ),
    "a resync has low priority": (lambda feed: feed.on_resync(thing()), LOW),
    "a delete has normal priority": (lambda feed: feed.on_delete(thing()), NORMAL),
}


@pytest.mark.parametrize(("event", "priority"), EVENTS.values(), ids=EVENTS.keys())
async def test_t19_replays_have_low_priority(event: Callable[[Feed], None], priority: int) -> None:
    rig = Rig()
    source = FakeSource(rig.clock)
    rig.controller.watch(source, enqueue_object)
    event(source.feeds[0])
    assert [rig.depth(p) for p in (NORMAL, LOW)] == [priority == NORMAL, priority == LOW]


async def test_t19_a_resync_passes_only_resynced(rig: Rig) -> None:
    source = FakeSource(rig.clock)
    rig.controller.watch(source, enqueue_object, generation_changed)
    rig.controller.watch(source, enqueue_object, any_of(generation_changed, resynced))
    deaf, keen = source.feeds
    deaf.on_resync(thing("a"))
    keen.on_resync(thing("b"))
    await rig.clock.settle()
    assert [request.name for _, request in rig.calls] == ["b"]


async def test_requests_of_others_are_neither_enqueued_nor_reconciled() -> None:
    rig = Rig(owns=lambda request: request == KEY)
    source, other = FakeSource(rig.clock), Request("ns", "other")
    source.sync.set()
    rig.controller.watch(source, enqueue_object)
    source.feeds[0].on_add(thing("other"), True)
    source.feeds[0].on_update(thing("other"), thing("other", 2))
    source.feeds[0].on_resync(thing("other"))
    source.feeds[0].on_delete(thing("other"))
    rig.controller.enqueue(other)
    rig.controller.enqueue(other, 5.0)
    assert (rig.depth(LOW), rig.depth()) == (0, 0)
    source.feeds[0].on_add(thing(), False)
    assert rig.depth() == 1
    async with rig.running():
        rig.controller.enqueue(KEY, 7.0)
        await rig.clock.advance(10.0)
    assert rig.calls == [(0.0, KEY), (7.0, KEY)]


async def test_a_request_that_is_no_longer_for_this_process_is_not_reconciled() -> None:
    owned = {KEY}
    rig = Rig(owns=lambda request: request in owned)
    rig.answers.append(Wait("Later", "there is more to do", 3.0))
    async with rig.running():
        rig.controller.enqueue(KEY)
        await rig.clock.settle()
        assert rig.calls == [(0.0, KEY)]
        owned.clear()
        await rig.clock.advance(10.0)
        assert rig.calls == [(0.0, KEY)], "its next look came"
        assert rig.results() == {"requeue_after": 1.0, "success": 1.0}
