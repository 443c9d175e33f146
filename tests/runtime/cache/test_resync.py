"""runtime.cache.resync: which objects a handler gets, and when."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from runtime.cache.informer import InformerOptions
from runtime.cache.resync import JITTER, Resync
from runtime.cache.store import Store
from runtime.testing.clock import ManualClock
from runtime.testing.scripted import event
from runtime.types import Object, key_of
from tests.runtime.informing import IN_PAGES, Recorder, informing
from tests.runtime.serving import config_map

PERIOD = 100.0


class Notes:
    """A listener that records the objects and times."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.resyncs: list[tuple[float, str]] = []

    def on_resync(self, obj: Object) -> None:
        self.resyncs.append((self.clock.monotonic(), key_of(obj).name))


def store_of(count: int) -> Store:
    store = Store()
    store.replace([config_map(f"n{number}", "5") for number in range(count)], "10")
    return store


@asynccontextmanager
async def resyncing(store: Store, period: float = PERIOD) -> AsyncIterator[Notes]:
    clock = ManualClock()
    notes = Notes(clock)
    resync = Resync(store, notes, period, clock=clock, rng=random.Random(3))
    task = asyncio.create_task(resync.run())
    try:
        yield notes
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_each_round_delivers_every_object_once_evenly_over_its_period() -> None:
    async with resyncing(store_of(50)) as notes:
        await notes.clock.advance(PERIOD * (1 + JITTER))
        first = notes.resyncs[:50]
        assert Counter(name for _, name in first) == {f"n{n}": 1 for n in range(50)}
        gaps = {round(b - a, 6) for (a, _), (b, _) in pairwise(first)}
        [gap] = gaps
        assert PERIOD * (1 - JITTER) <= 50 * gap <= PERIOD * (1 + JITTER)


async def test_rounds_differ_in_length() -> None:
    async with resyncing(store_of(1)) as notes:
        await notes.clock.advance(20 * PERIOD)
        moments = [when for when, _ in notes.resyncs]
        gaps = [b - a for a, b in zip([0.0, *moments], moments, strict=False)]
        assert len(set(gaps)) == len(gaps) >= 18
        assert all(PERIOD * (1 - JITTER) <= gap <= PERIOD * (1 + JITTER) for gap in gaps)


async def test_many_objects_in_a_short_period_are_delivered_in_groups() -> None:
    async with resyncing(store_of(1000), period=1.0) as notes:
        await notes.clock.advance(1.0 + JITTER)
        sizes = Counter(when for when, _ in notes.resyncs[:1000])
        assert set(sizes.values()) <= {1000 // len(sizes), 1000 // len(sizes) + 1}
        assert len(sizes) >= 9


async def test_the_current_state_is_delivered_and_no_deleted_object() -> None:
    store = store_of(2)
    async with resyncing(store) as notes:
        await notes.clock.settle()
        store.remove(config_map("n1", "11"))
        store.upsert(config_map("n2", "12"))
        await notes.clock.advance(PERIOD * (1 + JITTER))
        assert [name for _, name in notes.resyncs] == ["n0"]
        await notes.clock.advance(PERIOD * (1 + JITTER))
        assert {name for _, name in notes.resyncs[1:3]} == {"n0", "n2"}


async def test_an_empty_store_causes_no_busy_loop() -> None:
    async with resyncing(store_of(0)) as notes:
        await notes.clock.advance(10 * PERIOD)
        assert notes.resyncs == []
        assert notes.clock.sleeping == 1


def test_a_period_below_a_second_is_refused() -> None:
    with pytest.raises(ValueError, match="resync"):
        Resync(Store(), Recorder(), 0.5, clock=ManualClock(), rng=random.Random(1))


async def test_an_informer_replays_its_store_without_a_request() -> None:
    """Each handler has its own period, by default that of the options; also a late one."""
    options = InformerOptions(watch_list=False, resync=60.0)
    async with informing(config_map("a", "90"), options=options) as run:
        hasty = Recorder()
        run.informer.add_handler(hasty, resync=20.0)
        await run.clock.advance(66.0)
        run.lines.put_nowait(event("MODIFIED", config_map("a", "101")))
        await run.hears("!a@90", "a@90>101")
        assert run.recorder.resyncs == ["a@90"]
        assert hasty.resyncs == ["a@90"] * 3
        assert len(run.server.requests) == 2
        await run.clock.advance(66.0)
        assert run.recorder.resyncs == ["a@90", "a@101"]


async def test_without_a_period_nothing_is_replayed() -> None:
    async with informing(config_map("a", "90"), options=IN_PAGES) as run:
        await run.clock.advance(90.0)
        assert run.recorder.resyncs == []
