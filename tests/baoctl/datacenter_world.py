"""The datacenter operator as a process, over a fake API server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from baoctl.controllers.components import Parts
from baoctl.process.wiring import build_controllers
from baoctl.settings import from_environment
from contracts.api.group import BACKUPS, RESTORES
from runtime.builtin_kinds import EVENT, INGRESS
from runtime.cache.informers import InformerSet
from runtime.cache.optional import DEFINITION
from runtime.controller.loop_slice import LoopSlice
from runtime.events import EventRecorder, Reporter
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.kinds import Kind, custom
from runtime.testing.api_server.wire import client_of
from runtime.testing.simulation import Simulation, simulate
from tests.managers.datacenter.kubernetes_bench import CountingWire, Objects

SOON = 2.0
"""Seconds in which all reconciles after an event complete; every timer is longer."""
ENVIRONMENT = {
    "POD_NAMESPACE": "operators",
    "OPERATOR_IMAGE": "registry.example.com/operator:1",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "DATACENTERS": "true",
}


class World(Objects):
    """An API server, and operators in virtual time."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation.clock)
        self.simulation = simulation
        for resource in (BACKUPS, RESTORES, DEFINITION):
            self.api.serve(custom(resource))
        self.api.serve(Kind(INGRESS, status=True))
        self.wire = CountingWire(self.api, simulation.rng)

    @asynccontextmanager
    async def operator(self, seed: int = 1) -> AsyncIterator[Parts]:
        """One process with all of its controllers."""
        client = client_of(self.wire)
        metrics, rng = Metrics(), random.Random(seed)
        clock = self.simulation.clock
        parts = Parts(
            settings=from_environment(ENVIRONMENT),
            clock=clock,
            rng=rng,
            metrics=metrics,
            client=client,
            lease_client=client,
            elector=None,
            informers=InformerSet(client, clock=clock, rng=rng, metrics=metrics),
            events=EventRecorder(client, Reporter("t.example.com/op", "1"), clock=clock),
            loop_slice=LoopSlice(clock),
        )
        controllers = build_controllers(parts)
        async with asyncio.TaskGroup() as group:
            runs = (
                parts.informers.run,
                parts.events.run,
                *(controller.run for controller in controllers),
            )
            tasks = [group.create_task(run()) for run in runs]
            try:
                yield parts
            finally:
                for controller in controllers:
                    controller.stop()
                for task in tasks:
                    task.cancel()

    async def soon(self) -> None:
        """Let time pass, but less than the shortest timer."""
        await self.simulation.clock.sleep(SOON)

    async def well(self) -> None:
        """Act as the controllers of the workloads, and let the operator process the events."""
        self.controllers()
        await self.soon()

    async def rest(self, seconds: float) -> None:
        """Let idle time pass."""
        await self.simulation.clock.sleep(seconds)

    @property
    def requests(self) -> list[str]:
        """The requests since the last call, without watches."""
        sent, self.wire.requests = self.wire.requests, []
        return sent

    @property
    def writes(self) -> list[str]:
        """The writes since the last call, without events."""
        return [
            word
            for word in self.requests
            if not word.startswith("GET") and EVENT.plural not in word
        ]

    @property
    def reported(self) -> list[str]:
        """Kind, name and reason of the events on the server."""
        return sorted(
            f"{obj['regarding']['kind']} {obj['regarding']['name']} {obj['reason']}"
            for obj in self.api.objects(EVENT)
        )


Play = Callable[["World"], Coroutine[Any, Any, None]]


def play(main: Play) -> None:
    """Run a test in virtual time."""

    async def run(simulation: Simulation) -> None:
        await main(World(simulation))

    simulate(run, seed=1)
