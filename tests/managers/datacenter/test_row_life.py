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
from managers.datacenter.lifecycle.service import ServiceOptions
from managers.datacenter.provider.memory import MemoryProvider
from managers.datacenter.store.memory import MemoryStore
from runtime.outcome import Wait
from tests.managers.datacenter.bodies import service
from tests.managers.datacenter.service_bench import BUSY, DNS, FRA, SHOP, Bench


class Crash(BaseException):
    """The process is gone: nobody catches this."""


class Dying(MemoryProvider):
    """A provider in the midst of whose first call the process dies."""

    def __init__(self) -> None:
        super().__init__()
        self.died = False

    async def provision(self, row: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        if not self.died:
            self.died = True
            raise Crash
        await super().provision(row, vaults)


async def test_stuck_in_provisioning_after_a_crash(bench: Bench) -> None:
    bench.providers["memory"] = Dying()
    with pytest.raises(Crash):
        await bench.run()
    row = await bench.row()
    assert await bench.states() == {"shipper": "Provisioning"}
    assert row.progress.digest == row.desired.digest
    assert bench.events == ["shipper Started"]
    bench.restart()
    await bench.run()
    assert await bench.states() == {"shipper": "Running"}


async def test_provisioning_is_recorded_before_the_provider_is_called(bench: Bench) -> None:
    class Recorded(MemoryProvider):
        async def provision(self, row: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
            seen.append((row.progress.state, await bench.states(), bench.events))
            await super().provision(row, vaults)

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


async def test_a_provision_that_was_decided_on_an_outdated_row_is_not_begun(bench: Bench) -> None:
    await bench.service.converge(FRA, [service("shipper")])
    stale = await bench.row()
    await bench.service.converge(FRA, [service("shipper", replicas=2)])
    outcome = await bench.service.drive(stale, [stale])
    assert isinstance(outcome, Wait)
    assert outcome.reason == "Superseded"
    assert bench.provider.asked("provision") == []


async def test_re_added_while_a_failed_retire_sits_in_retiring(bench: Bench) -> None:
    await bench.run()
    first = await bench.row()
    bench.provider.fail("deprovision shipper", BUSY)
    await bench.run([])
    assert await bench.states() == {"shipper": "Retiring"}
    report = await bench.run()
    assert await bench.states() == {"shipper": "Retiring"}
    assert report.planned.insert == ()
    await bench.clock.advance(6)
    report = await bench.run()
    assert await bench.states() == {}
    assert report.outcome == Wait("Superseded", "to be made anew: shipper", 1.0)
    await bench.run()
    heir = await bench.row()
    assert heir.progress.state == "Running"
    assert heir.id != first.id
    assert list(bench.provider.things) == [heir.id]


async def test_a_retire_that_goes_on_forgets_its_failure(bench: Bench) -> None:
    await bench.run()
    bench.provider.fail("deprovision shipper", BUSY)
    bench.provider.delay_end("shipper", 1)
    await bench.run([])
    await bench.clock.advance(6)
    report = await bench.run([])
    progress = (await bench.row()).progress
    assert (progress.state, progress.failure, progress.next_retry) == ("Retiring", None, None)
    assert report.outcome == Wait("Retiring", "its objects are being taken away", 5.0)
    await bench.run([])
    assert await bench.states() == {}


async def test_a_changed_body_while_a_retire_fails_keeps_one_row_and_counts(bench: Bench) -> None:
    await bench.run()
    first = await bench.row()
    bench.provider.fail("deprovision shipper", *[BUSY] * 3)
    bodies = [[], [service("shipper", replicas=2)], [service("shipper", replicas=3)]]
    for attempts, declared in enumerate(bodies, start=1):
        await bench.run(declared)
        row = await bench.row()
        assert (row.id, row.progress.attempts, row.progress.state) == (
            first.id,
            attempts,
            "Retiring",
        )
        await bench.clock.advance(700.0)
    assert bench.events.count("shipper Failed") == 1
    await bench.run(bodies[-1])
    await bench.run(bodies[-1])
    assert (await bench.row()).desired.service.replicas == 3
    assert await bench.states() == {"shipper": "Running"}


@pytest.mark.parametrize(
    "changes", [{"replicas": 4}, {"labels": {"team": "net"}}, {"annotations": {"a": "b"}}]
)
async def test_an_edit_of_replicas_or_labels_alone_rolls_out(
    bench: Bench, changes: dict[str, Any]
) -> None:
    await bench.run()
    first = await bench.row()
    await bench.run([service("shipper", **changes)])
    row = await bench.row()
    assert row.id == first.id
    assert bench.provider.asked("provision") == ["shipper", "shipper"]
    assert bench.provider.asked("deprovision") == []
    assert bench.provider.things[row.id].digest == row.desired.digest != first.desired.digest


async def test_an_order_to_redeploy_rolls_out_once(bench: Bench) -> None:
    await bench.run()
    for _ in range(3):
        await bench.run(extras=ServiceOptions(redeploy={"shipper": "again-1"}))
    await bench.run()
    assert bench.provider.asked("provision") == ["shipper", "shipper"]
    assert (await bench.row()).desired.redeploy == "again-1"


async def test_readiness_that_is_lost_is_seen(bench: Bench) -> None:
    await bench.run()
    since = (await bench.row()).progress.running_since
    bench.provider.make_unwell("shipper", "0 of 1 pods are ready")
    await bench.run()
    progress = (await bench.row()).progress
    assert (progress.state, progress.message, progress.ready) == (
        "Provisioning",
        "0 of 1 pods are ready",
        "0/1",
    )
    assert progress.running_since is None
    bench.provider.make_well("shipper")
    await bench.clock.advance(60)
    await bench.run()
    progress = (await bench.row()).progress
    assert (progress.state, progress.running_since) == ("Running", bench.clock.now())
    assert progress.running_since != since
    assert bench.provider.asked("provision") == ["shipper"]


async def test_what_somebody_deleted_is_made_anew(bench: Bench) -> None:
    await bench.run()
    bench.provider.lose((await bench.row()).id)
    await bench.run()
    assert await bench.states() == {"shipper": "Running"}
    assert bench.provider.asked("provision") == ["shipper", "shipper"]


async def test_retries_follow_the_schedule(bench: Bench) -> None:
    bench.provider.fail("provision shipper", *[BUSY] * 10)
    start = bench.clock.now()
    tried, seen = [], 0
    for _ in range(2400):
        await bench.run()
        if bench.provider.asked("provision")[seen:]:
            seen = len(bench.provider.asked("provision"))
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
    assert bench.provider.asked("provision") == ["shipper"]
    await bench.run([service("shipper", replicas=2)])
    assert await bench.states() == {"shipper": "Running"}


async def test_missing_rights_are_tried_every_ten_minutes(bench: Bench) -> None:
    forbidden = ProviderError("Forbidden", "no right", terminal=True)
    bench.provider.fail("provision shipper", *[forbidden] * 2)
    for _ in range(3):
        await bench.run()
        await bench.clock.advance(721)
    assert bench.provider.asked("provision") == ["shipper"] * 3
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
    bench.provider.make_unwell("slow")
    declared = [SHOP, DNS, service("shipper"), service("slow")]
    await bench.run(declared)
    writes, told = bench.memory.writes, len(bench.told)
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
    assert (bench.memory.writes, len(bench.told)) == (writes, told)
    assert [call for call in bench.provider.calls if not call.startswith("observe")] == changing


async def test_a_partial_provision_is_finished(bench: Bench) -> None:
    class Partial(MemoryProvider):
        """Fails with half of the objects made."""

        async def observe(self, row: ServiceRecord) -> Observation:
            seen = await super().observe(row)
            return replace(seen, digest="") if len(self.asked("provision")) < 2 else seen

        async def provision(self, row: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
            await super().provision(row, vaults)
            if len(self.asked("provision")) < 2:
                raise BUSY

    bench.providers["memory"] = Partial()
    await bench.run()
    assert await bench.states() == {"shipper": "Failed"}
    await bench.clock.advance(6)
    await bench.run()
    assert await bench.states() == {"shipper": "Running"}


class Raced(MemoryStore):
    """A store in which somebody else is always faster to let a row go."""

    async def remove(self, row: ServiceRecord) -> bool:
        await super().remove(row)
        return await super().remove(row)


async def test_who_lets_a_row_go_tells_of_it_and_nobody_else(bench: Bench) -> None:
    bench.store = bench.memory = Raced()
    bench.restart()
    await bench.run()
    assert bench.events == ["shipper Started", "shipper Succeeded"]
    await bench.run([])
    assert await bench.states() == {}
    assert bench.events == []
