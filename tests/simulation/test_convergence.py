"""T8: whatever happens between an informer and its server, the store becomes what the server has.

Each seed is one schedule of writes and faults with one selection, in its own event loop, where a
seeded choice decides who runs next. SIMULATION_SEED=1234 replays one schedule and prints its
story; SIMULATION_SEED=5000:9000 runs others than the usual ones.
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
"""From the last fault to a store that is right: the longest silence that is borne (100 s), the
longest pauses of the ladders (30 s), and some."""

PROPAGATION_SECONDS = 2.0
"""From a write to the store while nothing is wrong."""

WINDOW_SECONDS, WINDOW_CALLS = 30.0, 60
"""The most calls in that time, second tries of the transport included."""

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
    """Notes when each call was sent, and which; `sent` is of the informer alone."""

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
class Scene:
    """One informer of one server, with everything that may go wrong in between."""

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
        """The store and what each handler was told are what the server has."""
        expected = self.expected()
        assert {key_of(obj): obj for obj in self.informer.list()} == expected
        for checker in self.checkers:
            assert checker.known == expected

    async def write(self) -> None:
        """Write as the owner of the informer does, and tell it of the answer."""
        rng, chaos = self.simulation.rng, self.chaos
        key = chaos.key()
        body = {"apiVersion": "v1", "kind": "ConfigMap", **chaos.body(key)}
        wire = FakeWire(self.server, rng, faults=chaos.faults, latency=(0.0, 2.0))
        client = client_of(wire)
        # Somebody else is at the same object, before our call arrives or before its answer does.
        if rng.random() < 0.5:
            self.simulation.loop.call_later(rng.uniform(0.0, 4.0), chaos.mutate, key)
        with suppress(ApiError, TransportError):
            answer = await client.apply(CONFIG_MAP, body, field_manager="me", force=True)
            self.informer.observe(answer.object)


@asynccontextmanager
async def scene(simulation: Simulation) -> AsyncIterator[Scene]:
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
        yield Scene(simulation, server, wire, chaos, informer, [checker])
        assert not running.done(), running
    except BaseException as error:
        error.add_note("\n".join((str(informer.selection), *chaos.story)))
        raise
    finally:
        running.cancel()
        await asyncio.wait([running])


async def converge(simulation: Simulation) -> None:
    """One schedule."""
    async with scene(simulation) as here:
        rng, chaos = simulation.rng, here.chaos
        writer = asyncio.create_task(_write_now_and_then(here), name="writer")
        await chaos.rage(rng.randint(3, 30))
        late = StoreChecker()
        here.informer.add_handler(late)
        here.checkers.append(late)
        await chaos.rage(rng.randint(3, 30))
        chaos.calm()
        if rng.random() < 0.5:
            # Each later list would repair what an earlier one did wrong: this is the last.
            here.server.restart()
            for number in range(8):
                chaos.mutate()
                await simulation.clock.sleep(rng.uniform(0.0, 1.5))
                for watch in tuple(here.server.watches) if number in (1, 2) else ():
                    watch.reset()
        await writer
        await simulation.clock.sleep(RECOVERY_SECONDS)
        here.expect_convergence()
        # A store may be right by chance, with a watch that is dead.
        for _ in range(3):
            chaos.mutate()
        here.server.put(CONFIG_MAP, chaos.body(ObjectKey("shop", "a")))
        await simulation.clock.sleep(PROPAGATION_SECONDS)
        here.expect_convergence()
        assert here.informer.synced
        assert here.wire.streams == 1
        assert len(here.server.watches) == 1
        _expect_versions_never_regress(call for _, call in here.wire.requests)
        _expect_the_right_question(here)
        _expect_patience(here)
    assert here.wire.streams == 0


async def _write_now_and_then(here: Scene) -> None:
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


def _expect_patience(here: Scene) -> None:
    """However bad it gets, the server is not asked more often than that."""
    moments = [at for at, _ in here.wire.requests]
    for first, at in enumerate(moments):
        busy = moments[first : first + WINDOW_CALLS + 1]
        assert len(busy) <= WINDOW_CALLS or busy[-1] - at > WINDOW_SECONDS, f"busy from {at:g} on"


def _expect_the_right_question(here: Scene) -> None:
    """Not more than the selection is ever asked for."""
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
