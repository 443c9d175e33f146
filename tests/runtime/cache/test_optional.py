"""runtime.cache.optional: kinds that are added, change their version and are removed."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informers import InformerSet
from runtime.cache.optional import DEFINITION, OptionalKinds, outline
from runtime.cache.optional_kind import UNKNOWN, KindAvailability
from runtime.cache.selection import Selection
from runtime.clock import SystemClock, yield_to_loop
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.kinds import Kind, custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.wait import eventually
from runtime.types import Object, ObjectKey, Resource
from tests.runtime.cache.widgets import WIDGET, definition
from tests.runtime.informing import Recorder

FIRST, SECOND = WIDGET.resources
NAME = WIDGET.definition


def widget(name: str, resource: Resource = FIRST) -> Object:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"namespace": "shop", "name": name},
        "spec": {},
    }


class Listener:
    """The events that a controller would get."""

    def __init__(self, kinds: OptionalKinds) -> None:
        self._kinds = kinds
        self.notifications: list[KindAvailability] = []

    def on_add(self, obj: Object, initial: bool) -> None:
        assert not initial
        self.notifications.append(self._kinds.offers[obj["metadata"]["name"]])


class Bench:
    def __init__(self) -> None:
        clock, rng = SystemClock(), random.Random(1)
        self.server = FakeApiServer(clock, rng)
        # Write the status with the spec: there is no controller that writes it.
        self.server.serve(Kind(DEFINITION))
        client = client_of(FakeWire(self.server, rng, latency=(0.0, 0.0)))
        self.informers = InformerSet(client, clock=clock, rng=rng, metrics=Metrics())
        self.kinds = OptionalKinds(self.informers, [WIDGET], lambda kind: Selection(kind, "shop"))
        self.listener = Listener(self.kinds)
        self.kinds.add_handler(self.listener)
        self.recorder = Recorder()
        self.kinds.caches[FIRST].add_handler(self.recorder)

    def define(self, *versions: str, established: str = "True") -> None:
        for resource in WIDGET.resources:
            if resource.version in versions:
                self.server.serve(custom(resource))
        self.server.put(DEFINITION, definition(*versions, established=established))

    async def offers(self, offer: KindAvailability) -> None:
        await eventually(
            lambda: self.kinds.offers[NAME] == offer, goal=f"{self.kinds.offers[NAME]} is {offer}"
        )

    def requests_of(self, resource: Resource) -> int:
        path = resource.path("shop")
        return sum(call.path.startswith(path) for call in self.server.requests)


@asynccontextmanager
async def running(bench: Bench | None = None) -> AsyncIterator[Bench]:
    bench = bench or Bench()
    task = asyncio.create_task(bench.informers.run())
    try:
        yield bench
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task])


ABSENT = KindAvailability(known=True)
USED = KindAvailability(True, ("v1",), FIRST)


async def test_an_absent_kind_is_known_and_never_requested() -> None:
    async with running() as bench:
        assert bench.kinds.offers[NAME] is UNKNOWN
        await bench.offers(ABSENT)
        assert bench.listener.notifications == [ABSENT]
        assert bench.requests_of(FIRST) == bench.requests_of(SECOND) == 0
        # One watch of the definition, and no other request.
        assert [call.path for call in bench.server.requests] == [DEFINITION.path(None)]
        (call,) = bench.server.requests
        assert dict(call.query)["fieldSelector"] == f"metadata.name={NAME}"


async def test_a_new_kind_is_read_before_it_is_available() -> None:
    async with running() as bench:
        await bench.offers(ABSENT)
        bench.server.serve(custom(FIRST))
        bench.server.put(FIRST, widget("a"))
        bench.define("v1")
        await bench.offers(USED)
        assert bench.kinds.caches[FIRST].get(ObjectKey("shop", "a")) is not None
        # It is never available before its objects are in the cache.
        assert bench.listener.notifications == [ABSENT, UNKNOWN, USED]


async def test_a_kind_that_exists_at_the_start_is_available() -> None:
    bench = Bench()
    bench.define("v1")
    bench.server.put(FIRST, widget("a"))
    async with running(bench):
        await bench.offers(USED)
        assert bench.recorder.world


async def test_a_definition_that_is_not_established_is_not_available() -> None:
    async with running() as bench:
        bench.define("v1", established="False")
        await bench.offers(ABSENT)
        bench.define("v1")
        await bench.offers(USED)


async def test_objects_of_a_removed_kind_are_deleted_and_it_may_return() -> None:
    async with running() as bench:
        bench.define("v1")
        bench.server.put(FIRST, widget("a"))
        await bench.offers(USED)
        await eventually(lambda: len(bench.recorder.world) == 1, goal="the cache has the object")
        bench.server.remove(DEFINITION, ObjectKey("", NAME))
        await bench.offers(ABSENT)
        assert bench.recorder.world == {}
        assert bench.kinds.caches[FIRST].list() == []
        count = bench.requests_of(FIRST)
        bench.server.put(FIRST, widget("b"))
        for _ in range(20):
            await yield_to_loop()
        assert bench.requests_of(FIRST) == count
        assert bench.recorder.world == {}
        bench.define("v1")
        await bench.offers(USED)
        assert sorted(key.name for key in bench.recorder.world) == ["a", "b"]


async def test_the_best_version_that_is_served_is_used() -> None:
    async with running() as bench:
        bench.define("v1alpha1")
        await bench.offers(KindAvailability(True, ("v1alpha1",), SECOND))
        assert bench.requests_of(FIRST) == 0
        bench.define("v1", "v1alpha1")
        await bench.offers(KindAvailability(True, ("v1", "v1alpha1"), FIRST))
        assert not bench.kinds.caches[SECOND].synced
        assert bench.kinds.caches[FIRST].synced


async def test_an_unsupported_version_is_reported_and_not_read() -> None:
    async with running() as bench:
        bench.define("v2")
        await bench.offers(KindAvailability(True, ("v2",), None))
        assert bench.requests_of(FIRST) == bench.requests_of(SECOND) == 0


async def test_the_start_and_health_checks_ignore_it() -> None:
    async with running() as bench:
        await bench.kinds.wait_synced(0.0)
        await bench.kinds.caches[FIRST].wait_synced(0.0)
        await bench.informers.wait_synced(0.0)
        assert bench.informers.unsynced() is None
        assert bench.informers.healthy(-1.0) is None


async def test_it_works_without_the_right_to_watch_definitions() -> None:
    bench = Bench()
    bench.server._kinds.clear()
    async with running(bench):
        await eventually(lambda: len(bench.server.requests) > 0, goal="the cache sends a request")
        for _ in range(20):
            await yield_to_loop()
        assert bench.kinds.offers[NAME] is UNKNOWN


def test_only_an_optional_informer_can_be_stopped_and_each_is_created_once() -> None:
    bench = Bench()
    needed = bench.informers.informer(Selection(CONFIG_MAP))
    with pytest.raises(ValueError, match="not optional"):
        bench.informers.disable(needed)
    with pytest.raises(ValueError, match="already"):
        bench.informers.optional(Selection(CONFIG_MAP))


def test_schemas_of_a_definition_are_not_kept() -> None:
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    metadata = {"name": NAME, "annotations": {"a": "b" * 1000}}
    assert outline({"metadata": metadata, "spec": {"versions": versions}}) == {
        "metadata": {"name": NAME},
        "spec": {"versions": [{"name": "v1", "served": True}]},
    }
