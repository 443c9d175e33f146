"""The eight behaviours that the Go package `bootstrap` has tests for, each by name.

Each runs twice: embedded, over the store and the provider in memory, and as the operator, from a
Datacenter on an API server in memory to its Deployments. In both places one `run` is one pass; the
operator's lasts until it has nothing more to send.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import pytest

from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from managers.datacenter.sources.hooks import Hook
from runtime.builtin_kinds import DEPLOYMENT
from runtime.testing.api_server.faults import Fault, FaultKind, NoFaults
from runtime.types import Object, key_of
from tests.managers.datacenter.bodies import IMAGE, service
from tests.managers.datacenter.kubernetes_bench import Operator, Server, body, datacenter
from tests.managers.datacenter.provider_bench import Always
from tests.managers.datacenter.service_bench import BUSY, FRA, Bench, Given

SHIPPER, DNS = body("shipper"), body("dns")
RETRY = 6.5
"""Seconds that are longer than the first wait, 5 s and a fifth of chance."""


class Place(Protocol):
    """A datacenter in eu-central, and how its services fare."""

    async def run(self, *declared: Object, region: str = "eu-central") -> None: ...
    def register(self, hook: Hook) -> object: ...
    async def records(self) -> dict[str, tuple[str, str, int]]:
        """State, source and attempts, by name."""
        ...

    def creations(self) -> list[str]:
        """The services for which something was made or changed, once for each time."""
        ...

    async def here(self) -> list[str]:
        """The images that run."""
        ...

    def spoil(self) -> None:
        """Let the next attempt to make something fail, and that one alone."""
        ...

    async def later(self) -> None: ...


class Embedded:
    """managers.datacenter.lifecycle.service over memory."""

    def __init__(self) -> None:
        self._bench = Bench()
        self.register = self._bench.registry.register

    async def run(self, *declared: Object, region: str = "eu-central") -> None:
        await self._bench.run(declared, where=replace(FRA, region=region))

    async def records(self) -> dict[str, tuple[str, str, int]]:
        return {
            record.name: (
                record.progress.state,
                record.desired.source.name,
                record.progress.attempts,
            )
            for record in await self._bench.memory.list_by_datacenter(FRA)
        }

    def creations(self) -> list[str]:
        return self._bench.provider.names_of("provision")

    async def here(self) -> list[str]:
        return sorted(
            record.desired.service.services[0].image
            for record in await self._bench.memory.list_by_datacenter(FRA)
            if record.id in self._bench.provider.workloads
        )

    def spoil(self) -> None:
        self._bench.provider.fail("provision shipper", BUSY)

    async def later(self) -> None:
        await self._bench.clock.advance(RETRY)


class OnKubernetes:
    """The two reconcilers over an API server in memory."""

    def __init__(self) -> None:
        self._server = Server()
        self._operator = Operator(self._server)
        self.register = self._operator.registry.register

    async def run(self, *declared: Object, region: str = "eu-central") -> None:
        self._server.put(DATACENTERS, datacenter(*declared, region=region))
        await self._operator.settle()
        self._operator.wire.faults = NoFaults()

    async def records(self) -> dict[str, tuple[str, str, int]]:
        records_by_name = {}
        for live in self._server.api.objects(WORKLOADS):
            spec, status = live["spec"], live["status"]
            states = status["state"], spec["source"]["name"], status.get("attempts", 0)
            records_by_name[spec["service"]["name"]] = states
        return records_by_name

    def creations(self) -> list[str]:
        return [
            call.path.rpartition("/fra1-")[2]
            for call in self._server.api.requests
            if call.writes and "/deployments/fra1-" in call.path and call.method != "DELETE"
        ]

    async def here(self) -> list[str]:
        return sorted(
            live["spec"]["template"]["spec"]["containers"][0]["image"]
            for live in self._server.api.objects(DEPLOYMENT)
            if key_of(live).namespace == "dc-fra1"
        )

    def spoil(self) -> None:
        self._operator.wire.faults = Always("/deployments", Fault(FaultKind.INTERNAL))

    async def later(self) -> None:
        await self._server.clock.advance(RETRY)


@pytest.fixture(params=[Embedded, OnKubernetes], ids=["embedded", "operator"])
def place(request: pytest.FixtureRequest) -> Place:
    param: Any = request.param
    place: Place = param()
    return place


def image(name: str) -> list[Object]:
    """Another container than that of everybody else."""
    return [{"name": "main", "image": f"registry.example.com/{name}:1"}]


async def test_what_a_datacenter_declares_runs(place: Place) -> None:
    await place.run(SHIPPER, DNS)
    assert await place.records() == {
        "dns": ("Running", "declared", 0),
        "shipper": ("Running", "declared", 0),
    }
    assert await place.here() == [IMAGE, IMAGE]


async def test_what_a_hook_contributes_runs(place: Place) -> None:
    place.register(Given("net", service("shipper")))
    await place.run()
    assert await place.records() == {"shipper": ("Running", "hook/net", 0)}
    assert await place.here() == [IMAGE]


async def test_both_paths_meet_in_one_set(place: Place) -> None:
    place.register(Given("net", service("dns")))
    await place.run(SHIPPER)
    assert await place.records() == {
        "dns": ("Running", "hook/net", 0),
        "shipper": ("Running", "declared", 0),
    }
    assert await place.here() == [IMAGE, IMAGE]


async def test_what_is_declared_wins_over_a_hook_of_any_priority(place: Place) -> None:
    place.register(Given("net", service("shipper"), priority=1000))
    await place.run(body("shipper", services=image("declared")))
    assert await place.records() == {"shipper": ("Running", "declared", 0)}
    assert await place.here() == ["registry.example.com/declared:1"]


async def test_three_passes_without_a_change_make_a_service_once(place: Place) -> None:
    for _ in range(3):
        await place.run(SHIPPER)
        await place.later()
    assert place.creations() == ["shipper"]


async def test_a_hook_filters_datacenters_by_itself(place: Place) -> None:
    hook = Given("net", service("shipper"))
    place.register(hook)
    await place.run(region="us-east")
    assert (await place.records(), await place.here()) == ({}, [])
    seen = hook.names_of[0]
    assert (seen.name, seen.region, seen.labels) == ("fra1", "us-east", {"tier": "edge"})
    await place.run(region="eu-central")
    assert await place.records() == {"shipper": ("Running", "hook/net", 0)}


async def test_what_nobody_wants_any_more_is_retired_and_nothing_else(place: Place) -> None:
    await place.run(SHIPPER, body("dns", services=image("dns")))
    await place.run(SHIPPER)
    assert await place.records() == {"shipper": ("Running", "declared", 0)}
    assert await place.here() == [IMAGE]
    assert sorted(place.creations()) == ["dns", "shipper"]


async def test_a_transient_error_is_tried_again(place: Place) -> None:
    place.spoil()
    await place.run(SHIPPER)
    assert await place.records() == {"shipper": ("Failed", "declared", 1)}
    assert await place.here() == []
    await place.run(SHIPPER)
    assert await place.records() == {"shipper": ("Failed", "declared", 1)}
    await place.later()
    await place.run(SHIPPER)
    assert await place.records() == {"shipper": ("Running", "declared", 1)}
    assert await place.here() == [IMAGE]
