"""T31: budgets that can be counted: bytes per object, tasks and iterations of the loop per
reconcile.

`python -m e2e.bench` measures times.
"""

import asyncio
import gc
import random
import tracemalloc
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

import orjson
import pytest

from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner, OwnershipKeys
from runtime.builtin_kinds import CONFIG_MAP, POD
from runtime.cache.informer import Informer, InformerOptions, Selection
from runtime.cache.store import Store
from runtime.client.codec import PageReader, decode_event
from runtime.clock import SystemClock, yield_to_loop
from runtime.controller.controller import Controller
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.wait import eventually
from runtime.types import Object, Request

KIB = 1024
OBJECTS = 500
PASSES = 2000
BURST = 64
"""Most objects that are stored before other tasks run."""

T = TypeVar("T")


def pod(number: int, owned: bool = True) -> Object:
    """About 11 KB as the server sends it, half of it managedFields."""
    name = f"web-{number:05d}"
    env = [{"name": f"SETTING_{n}", "value": f"value {n} of {name}"} for n in range(40)]
    container = {"name": "server", "image": "registry.example.com/web:1.2.3", "env": env}
    fields: Object = {f"f:field-{n}": {"f:inner": {}} for n in range(200)}
    metadata: Object = {
        "name": name,
        "namespace": "shop",
        "uid": f"00000000-0000-4000-8000-{number:012d}",
        "resourceVersion": str(1000 + number),
        "creationTimestamp": "2030-01-01T00:00:00Z",
        "generation": 1,
        "labels": {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": name},
        "annotations": {"example.com/digest": f"{number:064x}"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "name": "web",
                "uid": "00000000-0000-4000-8000-aaaaaaaaaaaa",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": fields}],
    }
    if not owned:
        del metadata["ownerReferences"]
    spec = {"nodeName": "node", "containers": [container, {**container, "name": "sidecar"}]}
    status = {"phase": "Running", "podIP": "10.0.0.1"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": status}


def body(selection: Selection, owned: bool) -> bytes:
    """The page that the server sends for that selection."""
    items = [pod(number, owned) for number in range(OBJECTS)]
    if selection.metadata_only:
        items = [
            {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": item["metadata"],
            }
            for item in items
        ]
    return orjson.dumps({"kind": "List", "metadata": {"resourceVersion": "9"}, "items": items})


def bytes_per_object(selection: Selection, owned: bool) -> float:
    """The bytes that Python has allocated per object after a list."""
    page = body(selection, owned)
    store = Store()
    reduce = selection.reducer()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [reduce(item) for piece in PageReader(page, POD) for item in piece]
        store.replace(kept, "9")
        del kept
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / OBJECTS
    finally:
        tracemalloc.stop()


METADATA, PROJECTED = Selection(POD, metadata_only=True), Selection(POD, fields=("status.phase",))


@pytest.mark.parametrize(
    ("selection", "owned", "budget"),
    [
        pytest.param(METADATA, False, 3.0 * KIB, id="metadata"),
        pytest.param(METADATA, True, 3.5 * KIB, id="metadata of a child"),
        pytest.param(PROJECTED, True, 4.0 * KIB, id="projected"),
    ],
)
def test_t31_an_object_is_stored_in_few_bytes(
    selection: Selection, owned: bool, budget: float
) -> None:
    whole = bytes_per_object(Selection(POD), owned)
    kept = bytes_per_object(selection, owned)
    assert 0.5 * KIB < kept < budget
    assert kept < whole / 4


class CountingLoop(asyncio.SelectorEventLoop):
    """Counts callbacks and tasks."""

    def __init__(self) -> None:
        super().__init__()
        self.callbacks = 0
        self.tasks = 0
        self.set_task_factory(self._task)

    def call_soon(  # type: ignore[override]  # the stubs have type variables of 3.11+ here
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        self.callbacks += 1
        return super().call_soon(callback, *args, context=context)

    def _task(self, loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> "asyncio.Task[Any]":
        self.tasks += 1
        return asyncio.Task(coro, loop=loop, **more)

    @property
    def counts(self) -> tuple[int, int]:
        return self.callbacks, self.tasks


def count_requests(work: Callable[[CountingLoop], Coroutine[Any, Any, T]]) -> T:
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, CountingLoop)
        return runner.run(work(loop))


def test_t31_an_empty_reconcile_needs_no_task_and_hardly_an_iteration() -> None:
    async def work(loop: CountingLoop) -> tuple[int, int]:
        calls, ended = 0, asyncio.Event()

        async def reconcile(request: Request) -> Outcome:
            nonlocal calls
            calls += 1
            if calls == PASSES:
                ended.set()
            return Done()

        controller = Controller("bench", reconcile, clock=SystemClock(), metrics=Metrics())
        running = asyncio.create_task(controller.run())
        await yield_to_loop()
        for number in range(PASSES):
            controller.enqueue(Request("shop", f"web-{number}"))
        before = loop.counts
        await ended.wait()
        after = loop.counts
        controller.stop()
        await running
        return after[0] - before[0], after[1] - before[1]

    callbacks, tasks = count_requests(work)
    # One of each per slice, not per reconcile.
    assert tasks <= PASSES / 8
    assert callbacks <= PASSES / 2


class Fed:
    """An informer with a server in memory, and how many objects it stored between two
    iterations."""

    def __init__(self, objects: int, *, watch_list: bool) -> None:
        clock, rng, metrics = SystemClock(), random.Random(1), Metrics()
        self.server = FakeApiServer(clock, rng)
        self.wire = FakeWire(self.server, rng, latency=(0.0, 0.0))
        self.client = client_of(self.wire)
        self.count = self.most = 0
        self.informer = Informer(
            self.client,
            Selection(CONFIG_MAP, transform=self._take),
            clock=clock,
            rng=rng,
            metrics=metrics,
            options=InformerOptions(watch_list=watch_list),
        )
        self.objects = objects

    def _take(self, obj: Object) -> Object:
        self.count += 1
        self.most = max(self.most, self.count)
        return obj

    async def fill(self) -> None:
        for number in range(self.objects):
            manifest: Object = {"metadata": {"namespace": "shop", "name": f"web-{number:04d}"}}
            manifest |= {"apiVersion": "v1", "kind": "ConfigMap"}
            await self.client.create(CONFIG_MAP, manifest, field_manager="test")

    async def turns(self) -> None:
        """Another task of the loop."""
        while True:
            self.count = 0
            await yield_to_loop()


@pytest.mark.parametrize("watch_list", [False, True], ids=["pages", "stream"])
async def test_t31_other_tasks_run_during_a_long_list(watch_list: bool) -> None:
    fed = Fed(1000, watch_list=watch_list)
    await fed.fill()
    other = asyncio.create_task(fed.turns())
    running = asyncio.create_task(fed.informer.run())
    try:
        await eventually(lambda: fed.informer.synced, goal="the informer is synced")
    finally:
        for task in (running, other):
            task.cancel()
        await asyncio.wait([running, other])
    assert len(fed.informer.list()) == fed.objects
    assert 0 < fed.most <= BURST


def test_t31_a_reconcile_with_unchanged_children_needs_no_task_and_no_request() -> None:
    async def work(loop: CountingLoop) -> tuple[int, int, int]:
        fed = Fed(0, watch_list=True)
        settled = ApplyCache(SystemClock(), random.Random(1))
        owned = OwnedApply(
            fed.client,
            {CONFIG_MAP: fed.informer},
            field_manager="test",
            marks=OwnershipKeys("example.com/owner", "example.com/intent", "example.com/adopt"),
            metrics=Metrics(),
            apply_cache=settled,
        )
        running = asyncio.create_task(fed.informer.run())
        await eventually(lambda: fed.informer.synced, goal="the informer is synced")
        owner = Owner("example.com/v1", "Shop", "shop", "web", "u-1")
        intents = [
            Intent(
                CONFIG_MAP,
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"namespace": "shop", "name": f"web-{number}"},
                    "data": {"a": "1"},
                },
            )
            for number in range(6)
        ]
        await owned.ensure_all(owner, intents)
        await owned.ensure_all(owner, intents)
        requests, before = len(fed.server.requests), loop.counts
        for _ in range(100):
            await owned.ensure_all(owner, intents)
        after = loop.counts
        sent = len(fed.server.requests) - requests
        running.cancel()
        await asyncio.wait([running])
        return after[0] - before[0], after[1] - before[1], sent

    callbacks, tasks, sent = count_requests(work)
    assert (tasks, sent) == (0, 0)
    assert callbacks <= 200


def test_t31_an_event_is_reduced_before_it_is_kept() -> None:
    """The same for watch events."""
    selection = Selection(POD, fields=("status.phase",))
    line = orjson.dumps({"type": "ADDED", "object": pod(1)})
    kind, obj = decode_event(line, POD)
    kept = selection.reducer()(obj)
    assert kind == "ADDED"
    assert len(orjson.dumps(kept)) < len(line) / 8
