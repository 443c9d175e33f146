"""The provider of a service by its kind, which never changes."""

import random
from dataclasses import replace

from contracts.datacenter.grants import ObjectKind
from contracts.datacenter.workload_records import ServiceProgress
from managers.datacenter.provider.by_kind import ServicesProvider
from managers.datacenter.provider.other_kinds import ObjectsProvider
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.clock import ManualClock
from tests.contracts.datacenter.services import cluster_role
from tests.managers.datacenter.bodies import desired_service, record, service
from tests.managers.datacenter.memory_provider import MemoryProvider
from tests.managers.datacenter.service_bench import DNS, FRA, Bench

OBJECTS = record(
    desired_service(service("a", kind="Objects", services=(), objects=(cluster_role(),)))
)
SHIPPER = record(desired_service(service("a")))


def _unused_caches(caches: object) -> None:
    raise AssertionError("nothing is applied")


class World:
    """The provider with an API server that serves no other kind, and a recording workload provider.

    `workloads` may be those of a bench."""

    def __init__(self, workloads: MemoryProvider | None = None) -> None:
        server = FakeApiServer(ManualClock(), random.Random(1))
        wire = FakeWire(server, random.Random(1), latency=(0.0, 0.0))
        self.workloads = workloads or MemoryProvider()
        others = ObjectsProvider(client_of(wire), _unused_caches)  # type: ignore[arg-type]  # makes nothing
        self.provider = ServicesProvider(self.workloads, others)


async def test_workloads_use_the_kubernetes_provider() -> None:
    world = World()
    await world.provider.provision(SHIPPER, ())
    assert (await world.provider.observe(SHIPPER)).present
    assert await world.provider.deprovision(SHIPPER)
    assert not (await world.provider.observe(SHIPPER)).present
    assert world.provider.name == world.workloads.name
    # The kind of workload may change.
    ran = replace(SHIPPER, progress=ServiceProgress(provider_ref="DaemonSet dc-fra1/fra1-a"))
    await world.provider.provision(ran, ())
    assert world.workloads.names_of("provision") == ["a", "a"]


# --- over a store -------------------------------------------------------------------------------

ALLOWED = replace(
    FRA, object_kinds=(ObjectKind(group="rbac.authorization.k8s.io", kind="ClusterRole"),)
)
ROLES = OBJECTS.desired.service


async def failure_of(bench: Bench, name: str) -> tuple[str, str]:
    """State of a service, and the reason of its failure."""
    progress = (await bench.record(name)).progress
    return progress.state, progress.failure.reason if progress.failure else ""


async def test_a_workload_that_changes_to_objects_fails_and_is_deleted_with_its_pods(
    bench: Bench,
) -> None:
    bench.providers["memory"] = World(bench.provider).provider
    await bench.run([service("a")])
    ref = (await bench.record("a")).progress.provider_ref
    for _ in range(2):
        await bench.run([ROLES], where=ALLOWED)
        assert await failure_of(bench, "a") == ("Failed", "KindImmutable")
    assert (await bench.record("a")).progress.provider_ref == ref
    assert len(bench.provider.workloads) == 1
    await bench.run([], where=ALLOWED)
    assert await bench.states() == {}
    assert bench.provider.workloads == {}


async def test_objects_that_change_to_a_workload_run_no_pods(bench: Bench) -> None:
    bench.providers["memory"] = World(bench.provider).provider
    await bench.service.converge(FRA, [service("a")])
    record = await bench.record("a")
    await bench.memory.record(record, ServiceProgress(provider_ref="Objects a"))
    await bench.run([service("a")])
    assert await failure_of(bench, "a") == ("Failed", "KindImmutable")
    assert bench.provider.workloads == {}


async def test_objects_of_an_unknown_kind_wait_for_their_dependencies(bench: Bench) -> None:
    bench.providers["memory"] = World(bench.provider).provider
    bench.provider.make_unhealthy("dns")
    issuers = ROLES.model_copy(update={"depends_on": ("dns",)})
    await bench.run([DNS, issuers], where=ALLOWED)
    assert await failure_of(bench, "a") == ("Pending", "")
    bench.provider.make_healthy("dns")
    await bench.run([DNS, issuers], where=ALLOWED)
    assert await failure_of(bench, "a") == ("Failed", "KindNotServed")
    assert bench.events.count("a Failed") == 1
