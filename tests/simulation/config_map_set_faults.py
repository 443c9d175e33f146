"""Random edits and faults for the operator of tests/simulation/config_map_sets.py."""

import random

from runtime.builtin_kinds import CONFIG_MAP
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.faults import RandomFaults
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.simulation import Simulation
from runtime.types import Object, key_of, labels_of
from tests.simulation.config_map_sets import (
    CONFIG_MAP_SET,
    CONFIG_MAP_SET_KIND,
    LABELS,
    Process,
    RestartedProcess,
    config_map_set,
    expected_children,
)


class SetSimulation:
    """The operator, users who edit sets and ConfigMaps, and a network with faults.

    `crashes` is the share of actions after which the process is killed.
    """

    def __init__(self, simulation: Simulation, *, crashes: float = 0.15) -> None:
        self.simulation = simulation
        self.crashes = crashes
        self.rng = simulation.rng
        self.server = FakeApiServer(simulation.clock, self.rng)
        self.server.serve(CONFIG_MAP_SET_KIND)
        self.server.list_end_seconds = self.rng.choice((0.0, 0.5))
        self.faults = RandomFaults(self.rng, self.rng.choice((0.0, 0.2, 0.5)))
        self.runner = RestartedProcess(self._start)
        self.history: list[str] = []

    async def run(self, actions: int) -> None:
        for _ in range(actions):
            choice = self.rng.choice(
                (
                    self._edit,
                    self._edit,
                    self._edit_child,
                    self._delete_child,
                    self._break_watches,
                    self._change_error_rate,
                )
            )
            choice()
            if self.rng.random() < self.crashes:
                self._record("crash")
                await self.runner.crash()
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
        value = self.rng.choice(("first", "second"))
        self._record(f"set {name}: {size} {value}")
        self.server.put(CONFIG_MAP_SET, config_map_set("sets", name, size, value))

    def _edit_child(self) -> None:
        for live in self._children():
            data = {**live["data"], "value": "other", "theirs": "x"}
            self._record(f"tamper with {key_of(live)}")
            self.server.put(CONFIG_MAP, {**live, "data": data}, manager="somebody")
            return

    def _delete_child(self) -> None:
        for live in self._children():
            self._record(f"delete {key_of(live)}")
            self.server.remove(CONFIG_MAP, key_of(live))
            return

    def _break_watches(self) -> None:
        for watch in tuple(self.server.watches):
            fault = self.rng.choice((watch.end, watch.reset, watch.fail, watch.freeze, watch.tear))
            self._record(f"watch: {fault.__name__}")
            fault()
        if self.rng.random() < 0.3:
            self._record("restart of the server")
            self.server.restart()

    def _change_error_rate(self) -> None:
        self.faults.rate = self.rng.choice((0.0, 0.2, 0.5, 0.9))
        self._record(f"calls fail at a rate of {self.faults.rate}")

    def _children(self) -> list[Object]:
        objects = [obj for obj in self.server.objects(CONFIG_MAP) if labels_of(obj) == LABELS]
        self.rng.shuffle(objects)
        return objects

    def _record(self, what: str) -> None:
        self.history.append(f"{self.simulation.clock.monotonic():9.3f} {what}")

    def expect_convergence(self) -> None:
        """Exactly the expected ConfigMaps exist, with the expected data."""
        data_by_key = {key_of(obj): obj["data"] for obj in self._children()}
        expected = expected_children(self.server.objects(CONFIG_MAP_SET))
        assert data_by_key.keys() == expected.keys()
        for key, data in expected.items():
            # Additional fields belong to other clients.
            assert {name: data_by_key[key][name] for name in data} == data, key
