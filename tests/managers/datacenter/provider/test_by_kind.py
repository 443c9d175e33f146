"""Which provider a service gets, by its kind, and that it keeps it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from contracts.datacenter.workload_records import ServiceProgress, ServiceRecord
from managers.datacenter.interfaces import ProviderError
from managers.datacenter.provider.by_kind import ServicesProvider
from managers.datacenter.provider.other_kinds import ObjectsProvider
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.clock import ManualClock
from tests.contracts.datacenter.services import cluster_role
from tests.managers.datacenter.bodies import desired_service, record, service
from tests.managers.datacenter.memory_provider import MemoryProvider

OBJECTS = record(
    desired_service(service("a", kind="Objects", services=(), objects=(cluster_role(),)))
)
SHIPPER = record(desired_service(service("a")))


def _unused_caches(caches: object) -> None:
    raise AssertionError("nothing is applied")


class World:
    """The provider, and what reached the part of it that runs pods."""

    def __init__(self) -> None:
        server = FakeApiServer(ManualClock(), random.Random(1))
        wire = FakeWire(server, random.Random(1), latency=(0.0, 0.0))
        self.workloads = MemoryProvider()
        others = ObjectsProvider(client_of(wire), _unused_caches)  # type: ignore[arg-type]  # makes nothing
        self.provider = ServicesProvider(self.workloads, others)


async def test_what_runs_pods_goes_to_the_provider_of_workloads() -> None:
    world = World()
    await world.provider.provision(SHIPPER, ())
    assert (await world.provider.observe(SHIPPER)).present
    assert await world.provider.deprovision(SHIPPER)
    assert not (await world.provider.observe(SHIPPER)).present
    assert world.provider.name == world.workloads.name
    assert world.workloads.names_of("provision") == ["a"]


def _ran_as(record: ServiceRecord, ref: str) -> ServiceRecord:
    return replace(record, progress=ServiceProgress(provider_ref=ref))


@pytest.mark.parametrize(
    "record",
    [_ran_as(SHIPPER, "Objects a"), _ran_as(OBJECTS, "Deployment dc-fra1/fra1-a")],
    ids=["objects become pods", "pods become objects"],
)
async def test_a_service_keeps_its_provider(record: ServiceRecord) -> None:
    world = World()
    with pytest.raises(ProviderError, match="add it again after its removal") as caught:
        await world.provider.provision(record, ())
    assert (caught.value.reason, caught.value.terminal) == ("KindFixed", True)
    assert world.workloads.calls == []


async def test_the_kind_of_workload_may_change() -> None:
    world = World()
    await world.provider.provision(_ran_as(SHIPPER, "DaemonSet dc-fra1/fra1-a"), ())
    assert world.workloads.names_of("provision") == ["a"]
