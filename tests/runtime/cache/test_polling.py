"""runtime.cache.polling.

Objects are read by name from a server in memory; every request is counted.
"""

import asyncio
import random
from typing import Any

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.polling import PolledMirror
from runtime.cache.polling_by_name import PERIOD, RETRY, PolledNames
from runtime.cache.selection import Selection
from runtime.errors import ServerError
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.testing.wait import eventually
from runtime.types import Object, ObjectKey, key_of
from tests.gen.api import FakeApi, api_error
from tests.runtime.informing import Recorder

OURS = {"app": "ours"}
A, B = ObjectKey("shop", "a"), ObjectKey("shop", "b")


def config(name: str = "a", version: str = "5", **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": "shop",
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": version,
            "labels": OURS,
            **metadata,
        },
        "data": {},
    }


class Bench:
    def __init__(self, *objects: Object) -> None:
        self.api = FakeApi()
        self.holds(*objects)
        self.clock = ManualClock()
        self.mirror = PolledMirror(
            self.api,
            Selection(CONFIG_MAP, label_selector="app=ours"),
            clock=self.clock,
            rng=random.Random(1),
            metrics=Metrics(),
        )
        self.recorder = Recorder()
        self.mirror.add_handler(self.recorder)

    def holds(self, *objects: Object) -> None:
        """Replace the objects of the server by these."""
        self.api.objects |= {(CONFIG_MAP, key_of(obj)): obj for obj in objects}

    async def asks(self, *keys: ObjectKey, max_age: float = 10.0) -> int:
        """The number of requests of a refresh."""
        before = len(self.api.calls)
        await self.mirror.refresh(keys, max_age)
        return len(self.api.calls) - before


async def test_a_name_that_was_never_read_is_absent_and_not_hidden() -> None:
    bench = Bench(config())
    assert bench.mirror.get(A) is None
    assert not bench.mirror.is_known(A)
    assert not bench.mirror.may_hide(A)


async def test_a_name_is_read_once_per_period_and_handlers_get_changes() -> None:
    bench = Bench(config())
    assert await bench.asks(A, B, A) == 2
    assert bench.recorder.words == ["+a@5"]
    assert bench.mirror.list("shop") == [bench.mirror.get(A)]
    assert await bench.asks(A, B) == 0
    await bench.clock.advance(8.9)
    assert await bench.asks(A, B) == 0
    await bench.clock.advance(2.2)
    assert await bench.asks(A, B) == 2
    assert bench.recorder.words == ["+a@5"], "nothing changed"


async def test_a_known_absence_costs_nothing_however_long_it_lasts() -> None:
    bench = Bench()
    assert await bench.asks(A, max_age=float("inf")) == 1
    await bench.clock.advance(1e6)
    assert await bench.asks(A, max_age=float("inf")) == 0
    bench.mirror.invalidate(A)
    assert bench.mirror.may_hide(A)
    assert await bench.asks(A, max_age=float("inf")) == 1
    assert not bench.mirror.may_hide(A)


async def test_a_doubt_about_a_name_that_was_never_read_makes_it_due() -> None:
    bench = Bench(config())
    bench.mirror.invalidate(A)
    assert bench.mirror.is_known(A)
    assert await bench.asks(A, max_age=float("inf")) == 1
    assert bench.mirror.get(A) is not None


async def test_changes_and_deletions_are_delivered_by_a_read() -> None:
    bench = Bench(config())
    await bench.asks(A)
    bench.holds(config(version="6"))
    assert await bench.asks(A, max_age=0.0) == 1
    del bench.api.objects[(CONFIG_MAP, A)]
    assert await bench.asks(A, max_age=0.0) == 1
    assert bench.recorder.words == ["+a@5", "a@5>6", "-a@6"]
    assert bench.mirror.get(A) is None


async def test_an_object_that_is_not_selected_is_hidden() -> None:
    bench = Bench(config(labels={}))
    await bench.asks(A)
    assert bench.mirror.get(A) is None
    assert bench.mirror.may_hide(A)
    bench.holds(config(version="6"))
    await bench.asks(A, max_age=0.0)
    assert not bench.mirror.may_hide(A)
    assert bench.recorder.words == ["+a@6"]


async def test_a_response_to_an_own_write_is_a_read() -> None:
    bench = Bench()
    bench.mirror.observe(config())
    bench.mirror.observe(config("b", labels={}))
    assert bench.recorder.words == ["+a@5"]
    assert await bench.asks(A) == 0
    assert not bench.mirror.is_known(B)


async def test_a_response_from_before_an_own_write_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(config())
    answer = bench.api.get

    async def late(*asked: Any, **options: Any) -> Object:
        before = await answer(*asked, **options)
        bench.mirror.observe(config(version="9"))
        return before

    monkeypatch.setattr(bench.api, "get", late)
    await bench.asks(A)
    assert bench.recorder.words == ["+a@9"]


async def test_concurrent_reads_share_one_request() -> None:
    bench = Bench(config())
    await asyncio.gather(bench.mirror.refresh([A], 0.0), bench.mirror.refresh([A], 0.0))
    assert len(bench.api.calls) == 1


async def test_an_error_is_raised_after_all_responses_and_changes_nothing() -> None:
    bench = Bench(config(), config("b"))
    await bench.asks(A)
    bench.api.refuse("get ConfigMap a", api_error(500))
    with pytest.raises(ServerError):
        await bench.mirror.refresh([A, B], 0.0)
    assert bench.recorder.words == ["+a@5", "+b@5"]


async def test_a_forgotten_object_is_deleted_and_read_again() -> None:
    bench = Bench(config())
    await bench.asks(A, B)
    bench.mirror.forget([A, B])
    assert bench.recorder.words == ["+a@5", "-a@5"]
    assert not bench.mirror.is_known(B)
    assert await bench.asks(A, B) == 2
    bench.mirror.disable()
    assert bench.mirror.list() == []


async def test_indexes_and_late_handlers_get_existing_objects() -> None:
    bench = Bench(config())
    await bench.asks(A)
    bench.mirror.add_index("version", lambda obj: [obj["metadata"]["resourceVersion"]])
    assert bench.mirror.by_index("version", "5") == [bench.mirror.get(A)]
    late = Recorder()
    bench.mirror.add_handler(late)
    assert late.words == ["!a@5"]


async def test_followed_names_are_read_periodically() -> None:
    api, clock = FakeApi().with_objects((CONFIG_MAP, config())), ManualClock()
    names = PolledNames(
        api, Selection(CONFIG_MAP), clock=clock, rng=random.Random(1), metrics=Metrics()
    )
    synced: list[int] = []
    names.when_synced(lambda: synced.append(len(api.calls)))
    names.follow(A)
    names.follow(B)
    api.refuse("get ConfigMap a", api_error(500))
    running = asyncio.create_task(names.run())
    await eventually(lambda: len(api.calls) == 2, goal="the names are read")
    assert not names.synced
    await clock.advance(RETRY * 1.1)
    await eventually(lambda: names.synced, goal="the cache is synced")
    assert names.get(A) is not None
    count = len(api.calls)
    await clock.advance(PERIOD * 0.8)
    assert len(api.calls) == count
    assert synced == [count]
    await clock.advance(PERIOD * 0.3)
    await eventually(lambda: len(api.calls) == count + 2, goal="the names are read again")
    assert synced == [count]
    running.cancel()
