"""A world for the operator of tests/simulation/farm.py, in which everything may go wrong."""

import random

from runtime.builtin_kinds import CONFIG_MAP
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.faults import RandomFaults
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.simulation import Simulation
from runtime.types import Object, key_of, labels_of
from tests.simulation.farm import (
    FLOCK,
    FLOCK_KIND,
    LABELS,
    Process,
    Shepherd,
    expected_sheep,
    flock,
)


class Farmyard:
    """The world of the operator: people who edit flocks and sheep, a network that fails.

    crashes is the share of actions after which the process is killed.
    """

    def __init__(self, simulation: Simulation, *, crashes: float = 0.15) -> None:
        self.simulation = simulation
        self.crashes = crashes
        self.rng = simulation.rng
        self.server = FakeApiServer(simulation.clock, self.rng)
        self.server.serve(FLOCK_KIND)
        self.server.list_end_seconds = self.rng.choice((0.0, 0.5))
        self.faults = RandomFaults(self.rng, self.rng.choice((0.0, 0.2, 0.5)))
        self.shepherd = Shepherd(self._start)
        self.story: list[str] = []

    async def rage(self, actions: int) -> None:
        for _ in range(actions):
            choice = self.rng.choice(
                (self._edit, self._edit, self._tamper, self._steal, self._disturb, self._weather)
            )
            choice()
            if self.rng.random() < self.crashes:
                self._tell("crash")
                await self.shepherd.crash()
            await self.simulation.clock.sleep(self.rng.choice((0.0, 0.01, 0.2, 3.0, 30.0)))

    def _start(self) -> Process:
        wire = FakeWire(self.server, self.rng, faults=self.faults)
        return Process(
            client_of(wire),
            clock=self.simulation.clock,
            rng=random.Random(self.rng.random()),
            metrics=Metrics(),
        )

    def _edit(self) -> None:
        name, size = self.rng.choice("ab"), self.rng.randint(0, 4)
        wool = self.rng.choice(("white", "black"))
        self._tell(f"flock {name}: {size} {wool}")
        self.server.put(FLOCK, flock("farm", name, size, wool))

    def _tamper(self) -> None:
        for live in self._sheep():
            data = {**live["data"], "wool": "pink", "theirs": "x"}
            self._tell(f"tamper with {key_of(live)}")
            self.server.put(CONFIG_MAP, {**live, "data": data}, manager="somebody")
            return

    def _steal(self) -> None:
        for live in self._sheep():
            self._tell(f"delete {key_of(live)}")
            self.server.remove(CONFIG_MAP, key_of(live))
            return

    def _disturb(self) -> None:
        for watch in tuple(self.server.watches):
            harm = self.rng.choice((watch.end, watch.reset, watch.fail, watch.freeze, watch.tear))
            self._tell(f"watch: {harm.__name__}")
            harm()
        if self.rng.random() < 0.3:
            self._tell("restart of the server")
            self.server.restart()

    def _weather(self) -> None:
        self.faults.rate = self.rng.choice((0.0, 0.2, 0.5, 0.9))
        self._tell(f"calls fail at a rate of {self.faults.rate}")

    def _sheep(self) -> list[Object]:
        objects = [obj for obj in self.server.objects(CONFIG_MAP) if labels_of(obj) == LABELS]
        self.rng.shuffle(objects)
        return objects

    def _tell(self, what: str) -> None:
        self.story.append(f"{self.simulation.clock.monotonic():9.3f} {what}")

    def expect_order(self) -> None:
        """Exactly the sheep that are wanted, each as it is wanted."""
        data_by_key = {key_of(obj): obj["data"] for obj in self._sheep()}
        expected = expected_sheep(self.server.objects(FLOCK))
        assert data_by_key.keys() == expected.keys()
        for key, data in expected.items():
            # What somebody else put beside our fields is theirs.
            assert {name: data_by_key[key][name] for name in data} == data, key
