"""T8: whatever faults occur, the store of an informer converges to the state of the server.

Each seed is one schedule of writes and faults with one selection, in its own event loop, where
the seed also determines which callback runs next. SIMULATION_SEED=1234 replays one schedule and
prints its history; SIMULATION_SEED=5000:9000 runs a range.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import Informer, InformerOptions
from runtime.cache.selection import Selection
from runtime.client.transport import HttpRequest, HttpResponse
from runtime.errors import ApiError, TransportError
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.faults import Faults, RandomFaults
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.simulation import Simulation, simulate
from runtime.types import Object, ObjectKey, key_of
from tests.simulation.chaos import Chaos
from tests.simulation.seeds import chunks, name_of
from tests.simulation.store_checker import StoreChecker

SCHEDULES = 2000
CHUNK = 50

RECOVERY_SECONDS = 180.0
"""From the last fault to a store that is right: the idle timeout (100 s), the
longest backoff (30 s), and a reserve."""

PROPAGATION_SECONDS = 2.0
"""From a write to the store without faults."""

WINDOW_SECONDS, WINDOW_CALLS = 30.0, 60
"""The maximum number of calls in that time, including retries of the transport."""

SELECTIONS = (
    Selection(CONFIG_MAP),
    Selection(CONFIG_MAP, "shop"),
    Selection(CONFIG_MAP, label_selector="app=web"),
    Selection(CONFIG_MAP, "shop", "app in (web,db),!tier"),
    Selection(CONFIG_MAP, field_selector="metadata.name=a"),
    Selection(CONFIG_MAP, metadata_only=True),
    Selection(CONFIG_MAP, "yard", "app", metadata_only=True),
)

_METRICS = Metrics()


class TimedWire(FakeWire):
    """Records each call and its time; `requests` has those of the informer."""

    def __init__(self, server: FakeApiServer, rng: random.Random, *, faults: Faults) -> None:
        super().__init__(server, rng, faults=faults)
        self.requests: list[tuple[float, HttpRequest]] = []

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        if call.method == "GET":
            self.requests.append((self.server.clock.monotonic(), call))
        return await super().request(call)

    def stream(self, call: HttpRequest, /) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        self.requests.append((self.server.clock.monotonic(), call))
        return super().stream(call)


@dataclass(frozen=True, slots=True)
class InformerScenario:
    """One informer of one server, with random faults."""

    simulation: Simulation
    server: FakeApiServer
    wire: TimedWire
    chaos: Chaos
    informer: Informer
    checkers: list[StoreChecker]

    def expected(self) -> dict[ObjectKey, Object]:
        selection = self.informer.selection
        return {
            key_of(obj): selection.shape(obj)
            for obj in self.server.objects(CONFIG_MAP)
            if selection.matches(obj)
        }

    def expect_convergence(self) -> None:
        """The store and the state of each handler equal the server."""
        expected = self.expected()
        assert {key_of(obj): obj for obj in self.informer.list()} == expected
        for checker in self.checkers:
            assert checker.known == expected

    async def write(self) -> None:
        """Write as the process of the informer, and let it observe the response."""
        rng, chaos = self.simulation.rng, self.chaos
        key = chaos.key()
        body = {"apiVersion": "v1", "kind": "ConfigMap", **chaos.body(key)}
        wire = FakeWire(self.server, rng, faults=chaos.faults, latency=(0.0, 2.0))
        client = client_of(wire)
        # Another client writes the same object before our request or our response arrives.
        if rng.random() < 0.5:
            self.simulation.loop.call_later(rng.uniform(0.0, 4.0), chaos.mutate, key)
        with suppress(ApiError, TransportError):
            answer = await client.apply(CONFIG_MAP, body, field_manager="me", force=True)
            self.informer.observe(answer.object)


@asynccontextmanager
async def scene(simulation: Simulation) -> AsyncIterator[InformerScenario]:
    rng = simulation.rng
    server = FakeApiServer(simulation.clock, rng)
    server.watch_list = rng.random() < 0.8
    faults = RandomFaults(rng, rng.choice((0.0, 0.0, 0.3)))
    wire = TimedWire(server, random.Random(rng.random()), faults=faults)
    informer = Informer(
        client_of(wire, metrics=_METRICS),
        rng.choice(SELECTIONS),
        clock=simulation.clock,
        rng=random.Random(rng.random()),
        metrics=_METRICS,
        options=InformerOptions(
            watch_list=rng.random() < 0.7, resync=rng.choice((None, None, 45.0))
        ),
    )
    checker = StoreChecker()
    informer.add_handler(checker)
    chaos = Chaos(server, wire, faults, rng, simulation.clock)
    chaos.slow_down()
    for _ in range(rng.randint(0, 6)):
        chaos.mutate()
    running = asyncio.create_task(informer.run(), name="informer")
    try:
        yield InformerScenario(simulation, server, wire, chaos, informer, [checker])
        assert not running.done(), running
    except BaseException as error:
        error.add_note("\n".join((str(informer.selection), *chaos.history)))
        raise
    finally:
        running.cancel()
        await asyncio.wait([running])


async def converge(simulation: Simulation) -> None:
    """One schedule."""
    async with scene(simulation) as here:
        rng, chaos = simulation.rng, here.chaos
        writer = asyncio.create_task(_write_sometimes(here), name="writer")
        await chaos.run(rng.randint(3, 30))
        late = StoreChecker()
        here.informer.add_handler(late)
        here.checkers.append(late)
        await chaos.run(rng.randint(3, 30))
        chaos.end_faults()
        if rng.random() < 0.5:
            # Later lists would correct errors of earlier ones, so this is the last list.
            here.server.restart()
            for number in range(8):
                chaos.mutate()
                await simulation.clock.sleep(rng.uniform(0.0, 1.5))
                for watch in tuple(here.server.watches) if number in (1, 2) else ():
                    watch.reset()
        await writer
        await simulation.clock.sleep(RECOVERY_SECONDS)
        here.expect_convergence()
        # A store may be correct by chance although its watch is broken.
        for _ in range(3):
            chaos.mutate()
        here.server.put(CONFIG_MAP, chaos.body(ObjectKey("shop", "a")))
        await simulation.clock.sleep(PROPAGATION_SECONDS)
        here.expect_convergence()
        assert here.informer.synced
        assert here.wire.streams == 1
        assert len(here.server.watches) == 1
        _expect_versions_never_regress(call for _, call in here.wire.requests)
        _expect_selectors(here)
        _expect_request_rate(here)
    assert here.wire.streams == 0


async def _write_sometimes(here: InformerScenario) -> None:
    rng = random.Random(here.simulation.rng.random())
    for _ in range(rng.randint(0, 15)):
        await here.simulation.clock.sleep(rng.uniform(0.0, 10.0))
        await here.write()


def _expect_versions_never_regress(requests: Iterable[HttpRequest]) -> None:
    last = 0
    for call in requests:
        version = int(call.query.get("resourceVersion") or 0)
        if version:
            assert version >= last, f"{call.target} after version {last}"
            last = version


def _expect_request_rate(here: InformerScenario) -> None:
    """Even with faults, the number of requests is limited."""
    moments = [at for at, _ in here.wire.requests]
    for first, at in enumerate(moments):
        busy = moments[first : first + WINDOW_CALLS + 1]
        assert len(busy) <= WINDOW_CALLS or busy[-1] - at > WINDOW_SECONDS, f"busy from {at:g} on"


def _expect_selectors(here: InformerScenario) -> None:
    """All requests have the selectors of the selection."""
    selection = here.informer.selection
    for _, call in here.wire.requests:
        assert call.query.get("labelSelector", "") == selection.label_selector
        assert call.query.get("fieldSelector", "") == selection.field_selector
        assert ("as=PartialObjectMetadata" in call.accept) is selection.metadata_only


@pytest.mark.parametrize("seeds", chunks(SCHEDULES, CHUNK), ids=name_of)
@pytest.mark.usefixtures("quiet", "small_pages")
def test_t08_store_converges_after_any_schedule(seeds: range) -> None:
    for seed in seeds:
        simulate(converge, seed=seed)
