"""Crashes before and after every write, and two concurrent processes.

A write is one of the store, or a mutating call of the provider. `LIFE` has every kind
of them; whatever happens, each of its steps ends as it does undisturbed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar

import pytest

from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    ServiceProgress,
    ServiceRecord,
    Vault,
)
from managers.datacenter.interfaces import WorkloadStore
from managers.datacenter.lifecycle.service import DatacenterService, ReconcileOptions
from managers.datacenter.sources.registry import SourceRegistry
from runtime.clock import yield_to_loop
from runtime.errors import TransportError
from runtime.testing.simulation import Simulation, simulate
from tests.managers.datacenter.bodies import service
from tests.managers.datacenter.memory_provider import MemoryProvider
from tests.managers.datacenter.service_bench import DNS, FRA, SHOP, Bench
from tests.managers.datacenter.stores_bench import Cluster

T = TypeVar("T")
PASSES = 12
"""Passes after which a step of a life must be at its end."""
LONG = 700.0
"""Seconds that are longer than every wait."""
ORDER = ReconcileOptions(redeploy={"dns": "again-1"})
SHOP_3 = service("shop", depends_on=("dns",), replicas=3)


@dataclass(frozen=True, slots=True)
class Step:
    """The desired services, and the number of reconciles; None: until nothing changes."""

    declared: tuple[BootstrapService, ...]
    extras: ReconcileOptions = ReconcileOptions()  # noqa: RUF009 - frozen
    passes: int | None = None


LIFE: Mapping[str, Step] = {
    "create": Step((SHOP, DNS)),
    "update": Step((SHOP_3, DNS)),
    "redeploy": Step((SHOP_3, DNS), ORDER),
    "retire": Step((DNS,), ORDER, passes=1),
    "re-add": Step((SHOP_3, DNS), ORDER),
    "delete": Step((SHOP_3, DNS), ReconcileOptions(deleting=True)),
}


class Crash(BaseException):
    """The process has crashed; no code catches this."""


class CrashPlan:
    """Crashes the process, or fails a write, at the n-th write."""

    def __init__(self, at: int = 0, *, applied: bool = False, error: bool = False) -> None:
        self.at, self.applied = at, applied
        self.writes = 0
        self._error: BaseException = TransportError("no answer") if error else Crash()

    async def write(self, call: Callable[[], Awaitable[T]]) -> T:
        self.writes += 1
        if self.writes != self.at:
            return await call()
        if self.applied:
            await call()
        raise self._error


class CrashingStore:
    """A store in a process that may crash at its writes."""

    def __init__(self, store: WorkloadStore, fate: CrashPlan) -> None:
        self.list_by_datacenter = store.list_by_datacenter
        self.get = store.get
        self.get_by_name = store.get_by_name
        self._store, self._fate = store, fate

    async def insert(
        self, datacenter: DatacenterInfo, desired_service: DesiredService
    ) -> ServiceRecord:
        return await self._fate.write(lambda: self._store.insert(datacenter, desired_service))

    async def update(self, record: ServiceRecord, desired_service: DesiredService) -> ServiceRecord:
        return await self._fate.write(lambda: self._store.update(record, desired_service))

    async def retire(self, record: ServiceRecord) -> None:
        await self._fate.write(lambda: self._store.retire(record))

    async def record(self, record: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
        return await self._fate.write(lambda: self._store.record(record, progress))

    async def remove(self, record: ServiceRecord) -> bool:
        return await self._fate.write(lambda: self._store.remove(record))


class CrashingProvider(MemoryProvider):
    """A provider in a process that may crash at its writes; it checks that no name runs twice."""

    def __init__(self, fate: CrashPlan) -> None:
        super().__init__()
        self._fate = fate
        self.names: dict[str, str] = {}

    async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        call = super().provision
        self.names[record.id] = record.name
        await self._fate.write(lambda: call(record, vaults))
        running = [self.names[record_id] for record_id in self.workloads]
        assert sorted(running) == sorted(set(running))

    async def deprovision(self, record: ServiceRecord) -> bool:
        call = super().deprovision
        return await self._fate.write(lambda: call(record))


Kind = Literal["memory", "kubernetes"]


class World(Bench):
    """A bench whose process may crash."""

    def __init__(self, fate: CrashPlan, kind: Kind) -> None:
        self.fate, self.cluster = fate, Cluster() if kind == "kubernetes" else None
        super().__init__()
        self.mortal = CrashingProvider(fate)
        self.mortal.delay_deletion("shop", 1)
        self.provider = self.mortal
        self.providers = {"memory": self.mortal}
        self.restart()

    def restart(self) -> None:
        inner: WorkloadStore = self.memory if self.cluster is None else self.cluster.new_store()
        self.inner, self.store = inner, CrashingStore(inner, self.fate)
        super().restart()

    async def live(self, step: Step) -> None:
        """Reconcile until nothing changes; a crashed process is replaced."""
        for _ in range(step.passes or PASSES):
            try:
                report = await self.run(step.declared, step.extras)
            except Crash:
                self.restart()
                continue
            except TransportError:
                continue
            await self.clock.advance(LONG)
            wishes = report.merge_result.services
            desired = {wish.name: wish.digest for wish in wishes}
            records = {record.name: record.desired.digest for record in report.records}
            running = all(record.progress.state == "Running" for record in report.records)
            if step.passes is None and not report.failures and desired == records and running:
                return
        assert step.passes is not None, "this step does not end"

    async def snapshot(self) -> dict[str, tuple[Any, ...]]:
        """The records with their states and desired services, and their workloads."""
        records = await self.inner.list_by_datacenter(FRA)
        known = {record.id for record in records}
        assert self.mortal.workloads.keys() <= known, "a workload without a record"
        return {
            record.name: (
                record.progress.state,
                record.desired.service.replicas,
                record.desired.redeploy,
                record.progress.failure,
                record.id in self.mortal.workloads
                and self.mortal.workloads[record.id].digest == record.desired.digest,
            )
            for record in records
        }


async def steps_of_life(fate: CrashPlan, kind: Kind) -> list[dict[str, tuple[Any, ...]]]:
    """The result of each step."""
    world = World(fate, kind)
    ends = []
    for step in LIFE.values():
        await world.live(step)
        if step.passes is None:
            ends.append(await world.snapshot())
    return ends


EXPECTED = [
    {"dns": ("Running", None, "", None, True), "shop": ("Running", None, "", None, True)},
    {"dns": ("Running", None, "", None, True), "shop": ("Running", 3, "", None, True)},
    {"dns": ("Running", None, "again-1", None, True), "shop": ("Running", 3, "", None, True)},
    {"dns": ("Running", None, "again-1", None, True), "shop": ("Running", 3, "", None, True)},
    {},
]


@lru_cache
def writes_of_a_life(kind: Kind) -> int:
    """The number of writes without a failure."""
    fate = CrashPlan()
    assert asyncio.run(steps_of_life(fate, kind)) == EXPECTED
    return fate.writes


@pytest.mark.parametrize("kind", ["memory", "kubernetes"])
@pytest.mark.parametrize("error", [False, True], ids=["crash", "error"])
@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
def test_a_crash_at_any_write_does_not_change_the_result(
    kind: Kind, applied: bool, error: bool
) -> None:
    count = writes_of_a_life(kind)
    assert count >= 25
    for at in range(1, count + 1):
        fate = CrashPlan(at, applied=applied, error=error)
        assert asyncio.run(steps_of_life(fate, kind)) == EXPECTED, f"write {at} of {count}"
        assert fate.writes >= at


@pytest.mark.parametrize("kind", ["memory", "kubernetes"])
@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
async def test_a_crash_in_the_provider_leaves_provisioning(kind: Kind, applied: bool) -> None:
    # The record is inserted, its state is recorded, and the third write is that of the provider.
    world = World(CrashPlan(3, applied=applied), kind)
    with pytest.raises(Crash):
        await world.run([DNS])
    (record,) = await world.inner.list_by_datacenter(FRA)
    progress = record.progress
    assert (progress.state, progress.digest) == ("Provisioning", record.desired.digest)
    assert bool(world.mortal.workloads) is applied
    await world.live(Step((DNS,)))
    assert await world.snapshot() == {"dns": ("Running", None, "", None, True)}


class Slow:
    """A store and a provider that yield to other tasks before and after each call."""

    def __init__(self, inner: object) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if not asyncio.iscoroutinefunction(attribute):
            return attribute

        async def call(*given: Any) -> Any:
            await yield_to_loop()
            answer = await attribute(*given)
            await yield_to_loop()
            return answer

        return call


@pytest.mark.parametrize("seed", range(40))
def test_two_concurrent_processes_create_no_duplicates(seed: int) -> None:
    async def main(simulation: Simulation) -> list[dict[str, tuple[Any, ...]]]:
        world = World(CrashPlan(), "memory")
        store: Any = Slow(world.memory)
        providers: dict[str, Any] = {"memory": Slow(world.mortal)}
        both = [
            DatacenterService(
                store,
                providers,
                SourceRegistry(),
                simulation.clock,
                simulation.rng,
                lambda *_: None,
            )
            for _ in range(2)
        ]

        async def passes(service: DatacenterService, step: Step) -> None:
            for _ in range(step.passes or PASSES):
                await service.reconcile(FRA, step.declared, step.extras)
                await simulation.clock.sleep(simulation.rng.uniform(0.0, 10.0))

        ends = []
        for step in LIFE.values():
            await asyncio.gather(*(passes(datacenter_service, step) for datacenter_service in both))
            if step.passes is None:
                ends.append(await world.snapshot())
        return ends

    assert simulate(main, seed=seed) == EXPECTED
