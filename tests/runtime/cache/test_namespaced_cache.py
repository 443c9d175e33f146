"""runtime.cache.namespaced_cache: namespaces that join and leave, on a server in memory."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from runtime.builtin_kinds import CONFIG_MAP, SERVICE
from runtime.cache.informers import InformerSet
from runtime.cache.namespaced_cache import NamespaceSet
from runtime.cache.selection import Selection
from runtime.clock import SystemClock
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.wait import eventually
from runtime.types import Object, ObjectKey, key_of
from tests.runtime.informing import Recorder


def config(namespace: str, name: str = "a") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name},
        "data": {"from": namespace},
    }


def by_origin(obj: Object) -> list[str]:
    return [obj["data"]["from"]]


class Bench:
    def __init__(self) -> None:
        clock, rng = SystemClock(), random.Random(1)
        self.server = FakeApiServer(clock, rng)
        client = client_of(FakeWire(self.server, rng, latency=(0.0, 0.0)))
        self.informers = InformerSet(client, clock=clock, rng=rng, metrics=Metrics())
        self.every = NamespaceSet(self.informers)
        self.configs = self.every.optional(Selection(CONFIG_MAP), enabled=True)
        self.recorder = Recorder()
        self.configs.add_handler(self.recorder)
        self.opened: list[str] = []
        self.every.add_handler(self)

    def on_add(self, obj: Object, initial: bool) -> None:
        assert not initial
        self.opened.append(key_of(obj).name)
        assert self.every.is_ready(key_of(obj).name)

    def names(self, namespace: str | None = None) -> list[str]:
        """The cached objects, as namespace/name."""
        return sorted(str(key_of(obj)) for obj in self.configs.list(namespace))


@asynccontextmanager
async def at_work() -> AsyncIterator[Bench]:
    bench = Bench()
    running = asyncio.create_task(bench.informers.run())
    yield bench
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_only_joined_namespaces_are_read_and_each_is_reported_once() -> None:
    async with at_work() as bench:
        for namespace in ("a", "b", "c"):
            bench.server.put(CONFIG_MAP, config(namespace))
        assert not bench.every.is_ready("a")
        bench.every.join("a")
        bench.every.join("b")
        bench.every.join("a")
        await eventually(
            lambda: sorted(bench.opened) == ["a", "b"], goal="both namespaces are readable"
        )
        assert bench.names() == ["a/a", "b/a"]
        assert bench.names("b") == ["b/a"]
        assert bench.names("c") == []
        assert bench.configs.get(ObjectKey("c", "a")) is None
        assert not bench.every.is_ready("c")
        assert all("/namespaces/c/" not in call.target for call in bench.server.requests)


async def test_a_namespace_that_does_not_exist_is_empty_until_it_does() -> None:
    async with at_work() as bench:
        bench.every.join("later")
        await eventually(lambda: bench.every.is_ready("later"), goal="the namespace is readable")
        bench.server.put(CONFIG_MAP, config("later"))
        await eventually(lambda: bench.names() == ["later/a"], goal="the cache has the object")


async def test_objects_of_a_namespace_that_leaves_are_deleted_and_others_stay() -> None:
    async with at_work() as bench:
        for namespace in ("a", "b"):
            bench.server.put(CONFIG_MAP, config(namespace))
            bench.every.join(namespace)
        await eventually(lambda: len(bench.opened) == 2, goal="both namespaces are readable")
        bench.every.leave("a")
        bench.every.leave("never-joined")
        assert bench.names() == ["b/a"]
        assert bench.recorder.world.keys() == {ObjectKey("b", "a")}
        assert not bench.every.is_ready("a")
        assert bench.every.joined() == ("b",)
        bench.server.put(CONFIG_MAP, config("a", "meanwhile"))
        bench.server.put(CONFIG_MAP, config("b", "more"))
        await eventually(
            lambda: bench.names() == ["b/a", "b/more"], goal="the cache of b has the new object"
        )
        bench.every.join("a")
        await eventually(lambda: bench.opened.count("a") == 2, goal="namespace a is readable again")
        assert bench.names("a") == ["a/a", "a/meanwhile"]


async def test_indexes_and_handlers_apply_to_later_namespaces() -> None:
    async with at_work() as bench:
        bench.configs.add_index("origin", by_origin)
        bench.server.put(CONFIG_MAP, config("a"))
        bench.every.join("a")
        await eventually(lambda: bench.opened == ["a"], goal="namespace a is readable")
        assert [key_of(obj).namespace for obj in bench.configs.by_index("origin", "a")] == ["a"]
        assert bench.configs.by_index("origin", "b") == []
        late = Recorder()
        bench.configs.add_handler(late)
        assert len(late.words) == 1
        with pytest.raises(KeyError):
            bench.configs.by_index("other", "a")


async def test_an_own_write_is_stored_in_its_namespace() -> None:
    async with at_work() as bench:
        bench.every.join("a")
        await eventually(lambda: bench.opened == ["a"], goal="namespace a is readable")
        written = bench.server.put(CONFIG_MAP, config("a"))
        bench.configs.observe(written)
        assert bench.names() == ["a/a"]
        bench.configs.observe({**written, "metadata": {**written["metadata"], "namespace": "b"}})
        assert bench.names() == ["a/a"]
        assert bench.configs.may_hide(ObjectKey("a", "b"))


async def test_a_stopped_kind_is_ready_and_starts_in_every_namespace() -> None:
    async with at_work() as bench:
        services = bench.every.optional(Selection(SERVICE))
        synced: list[int] = []
        services.when_synced(lambda: synced.append(1))
        bench.every.join("a")
        bench.every.join("b")
        await eventually(
            lambda: len(bench.opened) == 2,
            goal="both namespaces are readable without the kind that sleeps",
        )
        services.enable()
        assert not bench.every.is_ready("a")
        await eventually(lambda: len(synced) == 2, goal="both caches are synced")
        assert bench.every.is_ready("a")
        services.disable()
        assert services.list() == []
        assert bench.every.is_ready("a")
