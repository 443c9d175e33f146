"""A whole process that looks after datacenters, on an API server in memory: events, no timers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import generate_latest

from baoctl.controllers.components import Parts
from baoctl.process.wiring import build_controllers
from baoctl.settings import from_environment
from contracts.api.group import BACKUPS, RESTORES
from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from runtime.builtin_kinds import DAEMON_SET, DEPLOYMENT, EVENT, INGRESS
from runtime.cache.informers import InformerSet
from runtime.cache.optional import DEFINITION
from runtime.events import EventRecorder, Reporter
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.kinds import Kind, custom
from runtime.testing.api_server.wire import client_of
from runtime.testing.simulation import Simulation, simulate
from tests.managers.datacenter.kubernetes_bench import (
    NAMESPACE,
    Counting,
    Objects,
    body,
    datacenter,
    service_set,
)

SOON = 2.0
"""Seconds within which whatever is woken by an event is done; every timer is longer."""
ENVIRONMENT = {
    "POD_NAMESPACE": "operators",
    "OPERATOR_IMAGE": "registry.example.com/operator:1",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "DATACENTERS": "true",
}


class World(Objects):
    """An API server, and operators that look after it in virtual time."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation.clock)
        self.simulation = simulation
        for resource in (BACKUPS, RESTORES, DEFINITION):
            self.api.serve(custom(resource))
        self.api.serve(Kind(INGRESS, status=True))
        self.wire = Counting(self.api, simulation.rng)

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
        )
        controllers = build_controllers(parts)
        async with asyncio.TaskGroup() as group:
            runs = (parts.informers.run, parts.events.run, *(one.run for one in controllers))
            tasks = [group.create_task(run()) for run in runs]
            try:
                yield parts
            finally:
                for one in controllers:
                    one.stop()
                for task in tasks:
                    task.cancel()

    async def soon(self) -> None:
        """Let time pass, but less than any timer takes."""
        await self.simulation.clock.sleep(SOON)

    async def well(self) -> None:
        """Let the controllers of workloads do their part, and the operator hear of it."""
        self.controllers()
        await self.soon()

    async def rest(self, seconds: float) -> None:
        """Let time pass in which nothing happens."""
        await self.simulation.clock.sleep(seconds)

    @property
    def requests(self) -> list[str]:
        """The requests since the last question, without watches."""
        sent, self.wire.sent = self.wire.sent, []
        return sent

    @property
    def writes(self) -> list[str]:
        """The writes since the last question, without events."""
        return [
            word
            for word in self.requests
            if not word.startswith("GET") and EVENT.plural not in word
        ]

    @property
    def reported(self) -> list[str]:
        """What the events on the server are about."""
        return sorted(
            f"{one['regarding']['kind']} {one['regarding']['name']} {one['reason']}"
            for one in self.api.objects(EVENT)
        )


Play = Callable[["World"], Coroutine[Any, Any, None]]


def play(main: Play) -> None:
    """Run a test in virtual time."""

    async def run(simulation: Simulation) -> None:
        await main(World(simulation))

    simulate(run, seed=1)


SHIPPER_BODY, DNS = body("shipper"), body("dns", kind="DaemonSet")
SHOP = body("shop", dependsOn=["dns"])


def test_everything_happens_by_events_and_no_timer() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            await world.soon()
            world.put(DATACENTERS, datacenter(SHIPPER_BODY))
            await world.soon()
            assert world.states == {"fra1.shipper": "Provisioning"}
            world.put(SERVICE_SETS, service_set("net", DNS, SHOP))
            await world.soon()
            assert world.states == {
                "fra1.dns": "Provisioning",
                "fra1.shipper": "Provisioning",
                "fra1.shop": "Pending",
            }
            # What waits hears that what it waits for runs.
            await world.well()
            assert world.states == {
                "fra1.dns": "Running",
                "fra1.shipper": "Running",
                "fra1.shop": "Provisioning",
            }
            await world.well()
            assert world.ready() == ("True", "AllRunning")
            # Pods that end are seen at once, and so is their coming back.
            world.says(DEPLOYMENT, "fra1-shipper", replicas=1, updatedReplicas=1)
            await world.soon()
            assert world.states["fra1.shipper"] == "Provisioning"
            assert world.ready() == ("False", "ServicesNotRunning")
            await world.well()
            assert world.ready() == ("True", "AllRunning")

    play(main)


def test_a_set_reaches_every_datacenter_at_once() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            for name in ("ams1", "fra1", "lon1"):
                world.put(DATACENTERS, datacenter(name=name, namespace=NAMESPACE))
            await world.soon()
            world.put(SERVICE_SETS, service_set("net", DNS))
            await world.soon()
            assert set(world.states) == {"ams1.dns", "fra1.dns", "lon1.dns"}
            world.put(SERVICE_SETS, service_set("net", DNS, labels={"tier": "core"}))
            await world.soon()
            assert set(world.states.values()) == {"Retiring"}
            world.delete(SERVICE_SETS, "net")
            for _ in range(3):
                await world.well()
            assert world.states == {}

    play(main)


def test_a_state_reaches_the_rows_at_once() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            world.put(DATACENTERS, datacenter(SHIPPER_BODY))
            await world.soon()
            await world.well()
            world.edit(state="Offline")
            await world.soon()
            row = world.live(WORKLOADS, "fra1.shipper")["status"]
            assert row["conditions"][0]["status"] == "Unknown"
            assert world.ready() == ("Unknown", "Offline")
            world.edit(state="Active")
            await world.soon()
            assert world.ready() == ("True", "AllRunning")

    play(main)


def test_the_end_of_a_datacenter_leaves_nothing() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            world.put(DATACENTERS, datacenter(SHIPPER_BODY, DNS, SHOP))
            for _ in range(3):
                await world.well()
            assert world.ready() == ("True", "AllRunning")
            world.delete(DATACENTERS, "fra1")
            for _ in range(5):
                await world.well()
            assert world.names(DATACENTERS, WORKLOADS, DEPLOYMENT, DAEMON_SET) == []
            assert world.reported == sorted(
                f"BootstrapWorkload fra1.{name} {reason}"
                for name in ("dns", "shipper", "shop")
                for reason in ("Started", "Succeeded", "Retired")
            )

    play(main)


def test_a_quiet_hour_costs_no_request() -> None:
    async def main(world: World) -> None:
        world.put(DATACENTERS, datacenter(SHIPPER_BODY, DNS, SHOP))
        async with world.operator() as first:
            for _ in range(4):
                await world.well()
            assert world.ready() == ("True", "AllRunning")
            before = world.reported
            world.wire.sent.clear()
            await world.rest(3600.0)
            assert world.requests == []
            text = generate_latest(first.metrics.registry).decode()
            assert 'openbao_datacenter_services{state="Running"} 3.0' in text
            assert 'openbao_datacenter_ready{name="fra1"} 1.0' in text
        async with world.operator(seed=2):
            await world.rest(900.0)
            assert world.writes == []
        # A new process has nothing to say, either.
        assert world.reported == before

    play(main)


def test_two_processes_do_not_fight() -> None:
    """A lease keeps one of them from writing; here both do."""

    async def main(world: World) -> None:
        async with world.operator(seed=1), world.operator(seed=2):
            world.put(DATACENTERS, datacenter(SHIPPER_BODY, DNS, SHOP))
            for _ in range(6):
                await world.well()
            assert world.ready() == ("True", "AllRunning")
            world.edit(bootstrapServices=[body("shipper", replicas=2), DNS])
            for _ in range(6):
                await world.well()
            assert world.ready() == ("True", "AllRunning")
            assert world.states == {"fra1.dns": "Running", "fra1.shipper": "Running"}
            assert len(world.writes) < 120
            await world.rest(3600.0)
            assert world.writes == []

    play(main)
