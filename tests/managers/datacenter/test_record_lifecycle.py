"""What went wrong elsewhere in the life of a service, each by name, and does not here.

managers.datacenter.lifecycle.service over a store and a provider in memory.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from contracts.datacenter.workload_records import Observation, ServiceRecord, Vault
from managers.datacenter.interfaces import ProviderError
from managers.datacenter.lifecycle.service import ReconcileOptions
from runtime.outcome import Wait
from tests.managers.datacenter.bodies import service
from tests.managers.datacenter.memory_provider import MemoryProvider
from tests.managers.datacenter.memory_store import MemoryStore
from tests.managers.datacenter.service_bench import BUSY, DNS, FRA, SHOP, Bench


class Crash(BaseException):
    """The process is gone: nobody catches this."""


class Dying(MemoryProvider):
    """A provider in the midst of whose first call the process dies."""

    def __init__(self) -> None:
        super().__init__()
        self.died = False

    async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        if not self.died:
            self.died = True
            raise Crash
        await super().provision(record, vaults)


async def test_stuck_in_provisioning_after_a_crash(bench: Bench) -> None:
    bench.providers["memory"] = Dying()
    with pytest.raises(Crash):
        await bench.run()
    record = await bench.record()
    assert await bench.states() == {"shipper": "Provisioning"}
    assert record.progress.digest == record.desired.digest
    assert bench.events == ["shipper Started"]
    bench.restart()
    await bench.run()
    assert await bench.states() == {"shipper": "Running"}


async def test_provisioning_is_recorded_before_the_provider_is_called(bench: Bench) -> None:
    class Recorded(MemoryProvider):
        async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
            seen.append((record.progress.state, await bench.states(), bench.events))
            await super().provision(record, vaults)

    seen: list[tuple[str, dict[str, str], list[str]]] = []
    provider = bench.providers["memory"] = Recorded()
    await bench.run()
    await bench.run([service("shipper", replicas=2)])
    provider.fail("provision shipper", BUSY)
    await bench.run([service("shipper", replicas=3)])
    await bench.clock.advance(6)
    await bench.run([service("shipper", replicas=3)])
    assert [(state, states) for state, states, _ in seen] == [
        ("Provisioning", {"shipper": "Provisioning"})
    ] * 4
    assert [events[-1:] for _, _, events in seen] == [["shipper Started"]] * 3 + [
        ["shipper Failed"]
    ]


async def test_a_provision_that_was_decided_on_an_outdated_record_is_not_begun(
    bench: Bench,
) -> None:
    await bench.service.converge(FRA, [service("shipper")])
    stale = await bench.record()
    await bench.service.converge(FRA, [service("shipper", replicas=2)])
    outcome = await bench.service.drive(stale, [stale])
    assert isinstance(outcome, Wait)
    assert outcome.reason == "Superseded"
    assert bench.provider.names_of("provision") == []


async def test_re_added_while_a_failed_retire_sits_in_retiring(bench: Bench) -> None:
    await bench.run()
    first = await bench.record()
    bench.provider.fail("deprovision shipper", BUSY)
    await bench.run([])
    assert await bench.states() == {"shipper": "Retiring"}
    report = await bench.run()
    assert await bench.states() == {"shipper": "Retiring"}
    assert report.planned.insert == ()
    await bench.clock.advance(6)
    report = await bench.run()
    assert await bench.states() == {}
    assert report.outcome == Wait("Superseded", "to be recreated: shipper", 1.0)
    await bench.run()
    successor = await bench.record()
    assert successor.progress.state == "Running"
    assert successor.id != first.id
    assert list(bench.provider.workloads) == [successor.id]


async def test_a_retire_that_goes_on_forgets_its_failure(bench: Bench) -> None:
    await bench.run()
    bench.provider.fail("deprovision shipper", BUSY)
    bench.provider.delay_deletion("shipper", 1)
    await bench.run([])
    await bench.clock.advance(6)
    report = await bench.run([])
    progress = (await bench.record()).progress
    assert (progress.state, progress.failure, progress.next_retry) == ("Retiring", None, None)
    assert report.outcome == Wait("Retiring", "its objects are being deleted", 5.0)
    await bench.run([])
    assert await bench.states() == {}


async def test_a_changed_body_while_a_retire_fails_keeps_one_record_and_counts(
    bench: Bench,
) -> None:
    await bench.run()
    first = await bench.record()
    bench.provider.fail("deprovision shipper", *[BUSY] * 3)
    bodies = [[], [service("shipper", replicas=2)], [service("shipper", replicas=3)]]
    for attempts, declared in enumerate(bodies, start=1):
        await bench.run(declared)
        record = await bench.record()
        assert (record.id, record.progress.attempts, record.progress.state) == (
            first.id,
            attempts,
            "Retiring",
        )
        await bench.clock.advance(700.0)
    assert bench.events.count("shipper Failed") == 1
    await bench.run(bodies[-1])
    await bench.run(bodies[-1])
    assert (await bench.record()).desired.service.replicas == 3
    assert await bench.states() == {"shipper": "Running"}


@pytest.mark.parametrize(
    "changes", [{"replicas": 4}, {"labels": {"team": "net"}}, {"annotations": {"a": "b"}}]
)
async def test_an_edit_of_replicas_or_labels_alone_rolls_out(
    bench: Bench, changes: dict[str, Any]
) -> None:
    await bench.run()
    first = await bench.record()
    await bench.run([service("shipper", **changes)])
    record = await bench.record()
    assert record.id == first.id
    assert bench.provider.names_of("provision") == ["shipper", "shipper"]
    assert bench.provider.names_of("deprovision") == []
    assert (
        bench.provider.workloads[record.id].digest == record.desired.digest != first.desired.digest
    )


async def test_an_order_to_redeploy_rolls_out_once(bench: Bench) -> None:
    await bench.run()
    for _ in range(3):
        await bench.run(extras=ReconcileOptions(redeploy={"shipper": "again-1"}))
    await bench.run()
    assert bench.provider.names_of("provision") == ["shipper", "shipper"]
    assert (await bench.record()).desired.redeploy == "again-1"


async def test_readiness_that_is_lost_is_seen(bench: Bench) -> None:
    await bench.run()
    since = (await bench.record()).progress.running_since
    bench.provider.make_unhealthy("shipper", "0 of 1 pods are ready")
    await bench.run()
    progress = (await bench.record()).progress
    assert (progress.state, progress.message, progress.ready) == (
        "Provisioning",
        "0 of 1 pods are ready",
        "0/1",
    )
    assert progress.running_since is None
    bench.provider.make_healthy("shipper")
    await bench.clock.advance(60)
    await bench.run()
    progress = (await bench.record()).progress
    assert (progress.state, progress.running_since) == ("Running", bench.clock.now())
    assert progress.running_since != since
    assert bench.provider.names_of("provision") == ["shipper"]


async def test_what_somebody_deleted_is_made_anew(bench: Bench) -> None:
    await bench.run()
    bench.provider.lose((await bench.record()).id)
    await bench.run()
    assert await bench.states() == {"shipper": "Running"}
    assert bench.provider.names_of("provision") == ["shipper", "shipper"]


async def test_retries_follow_the_schedule(bench: Bench) -> None:
    bench.provider.fail("provision shipper", *[BUSY] * 10)
    start = bench.clock.now()
    tried, count = [], 0
    for _ in range(2400):
        await bench.run()
        if bench.provider.names_of("provision")[count:]:
            count = len(bench.provider.names_of("provision"))
            tried.append((bench.clock.now() - start).total_seconds())
        await bench.clock.advance(1)
    gaps = [after - before for before, after in pairwise(tried)]
    schedule = [5, 10, 20, 40, 80, 160, 320, 600, 600]
    assert len(gaps) >= 8
    for gap, planned in zip(gaps, schedule, strict=False):
        assert 0.8 * planned <= gap <= 1.2 * planned


async def test_a_terminal_failure_is_tried_again_when_the_wish_changes(bench: Bench) -> None:
    broken = ProviderError("Rejected", "no image", terminal=True)
    bench.provider.fail("provision shipper", broken)
    for _ in range(3):
        await bench.run()
        await bench.clock.advance(700.0)
    assert bench.provider.names_of("provision") == ["shipper"]
    await bench.run([service("shipper", replicas=2)])
    assert await bench.states() == {"shipper": "Running"}


async def test_missing_rights_are_tried_every_ten_minutes(bench: Bench) -> None:
    forbidden = ProviderError("Forbidden", "no right", terminal=True)
    bench.provider.fail("provision shipper", *[forbidden] * 2)
    for _ in range(3):
        await bench.run()
        await bench.clock.advance(721)
    assert bench.provider.names_of("provision") == ["shipper"] * 3
    assert await bench.states() == {"shipper": "Running"}


async def test_each_transition_is_told_once(bench: Bench) -> None:
    bench.provider.fail("provision shipper", BUSY, BUSY)
    for _ in range(3):
        for _ in range(3):
            await bench.run()
        await bench.clock.advance(20)
    assert bench.events == ["shipper Started", "shipper Failed", "shipper Succeeded"]
    for _ in range(2):
        await bench.run([service("shipper", replicas=2)])
    assert bench.events == ["shipper Started", "shipper Succeeded"]
    for _ in range(2):
        await bench.run([])
    assert bench.events == ["shipper Retired"]


async def test_passes_without_a_change_write_nothing(bench: Bench) -> None:
    broken = ProviderError("Rejected", "no image", terminal=True)
    bench.provider.fail("provision dns", broken)
    bench.provider.make_unhealthy("slow")
    declared = [SHOP, DNS, service("shipper"), service("slow")]
    await bench.run(declared)
    writes, events_sent = bench.memory.writes, len(bench.events_sent)
    changing = [call for call in bench.provider.calls if not call.startswith("observe")]
    for _ in range(5):
        await bench.run(declared)
        await bench.clock.advance(300)
    assert await bench.states() == {
        "dns": "Failed",
        "shipper": "Running",
        "shop": "Pending",
        "slow": "Provisioning",
    }
    assert (bench.memory.writes, len(bench.events_sent)) == (writes, events_sent)
    assert [call for call in bench.provider.calls if not call.startswith("observe")] == changing


async def test_a_partial_provision_is_finished(bench: Bench) -> None:
    class Partial(MemoryProvider):
        """Fails with half of the objects made."""

        async def observe(self, record: ServiceRecord) -> Observation:
            observation = await super().observe(record)
            return (
                replace(observation, digest="")
                if len(self.names_of("provision")) < 2
                else observation
            )

        async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
            await super().provision(record, vaults)
            if len(self.names_of("provision")) < 2:
                raise BUSY

    bench.providers["memory"] = Partial()
    await bench.run()
    assert await bench.states() == {"shipper": "Failed"}
    await bench.clock.advance(6)
    await bench.run()
    assert await bench.states() == {"shipper": "Running"}


class Raced(MemoryStore):
    """A store in which somebody else is always faster to let a record go."""

    async def remove(self, record: ServiceRecord) -> bool:
        await super().remove(record)
        return await super().remove(record)


async def test_who_lets_a_record_go_tells_of_it_and_nobody_else(bench: Bench) -> None:
    bench.store = bench.memory = Raced()
    bench.restart()
    await bench.run()
    assert bench.events == ["shipper Started", "shipper Succeeded"]
    await bench.run([])
    assert await bench.states() == {}
    assert bench.events == []
