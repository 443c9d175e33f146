"""managers.datacenter.lifecycle.service.

What the state of a datacenter and dependencies let happen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runtime.outcome import Done, Wait
from tests.managers.datacenter.bodies import datacenter, openbao, service
from tests.managers.datacenter.service_bench import (
    BUSY,
    DELETING,
    DNS,
    FRA,
    READER,
    SHIPPER,
    SHOP,
    VAULT,
    Bench,
    Given,
)

# --- states of the datacenter ---------------------------------------------------------------------


async def test_maintenance_looks_and_changes_nothing(bench: Bench) -> None:
    await bench.run([SHIPPER, DNS])
    closed = replace(FRA, state="Maintenance")
    bench.provider.make_unhealthy("dns", "image cannot be pulled")
    report = await bench.run([service("shipper", replicas=3), SHOP], where=closed)
    assert await bench.states() == {"dns": "Provisioning", "shipper": "Running"}
    assert (await bench.record("dns")).progress.message == "image cannot be pulled"
    assert bench.provider.names_of("provision") == ["dns", "shipper"]
    assert bench.provider.names_of("deprovision") == []
    assert "spec.state is Maintenance" in report.planned.blocked


async def test_offline_asks_nobody(bench: Bench) -> None:
    await bench.run()
    before = list(bench.provider.calls)
    away = replace(FRA, state="Offline")
    report = await bench.run([], where=away)
    progress = (await bench.record()).progress
    assert bench.provider.calls == before
    assert progress.state == "Running"
    assert progress.message == (
        "the datacenter is Offline: its services are not observed, and this status may be outdated"
    )
    assert report.outcome == Done(600.0)
    await bench.run()
    assert (await bench.record()).progress.message == ""


async def test_draining_makes_and_changes_and_retires_nothing(bench: Bench) -> None:
    await bench.run([SHIPPER, DNS])
    draining = replace(FRA, state="Draining")
    await bench.run([service("shipper", replicas=3), SHOP], where=draining)
    assert await bench.states() == {"dns": "Running", "shipper": "Running", "shop": "Running"}
    assert bench.provider.names_of("deprovision") == []
    assert (await bench.record()).desired.service.replicas == 3


@pytest.mark.parametrize("state", ["Active", "Draining"])
async def test_a_deletion_retires_in_reverse_order(bench: Bench, state: Any) -> None:
    bench.registry.register(Given("net", SHIPPER))
    await bench.run([SHOP, DNS])
    report = await bench.run([SHOP, DNS], DELETING, replace(FRA, state=state))
    gone = bench.provider.names_of("deprovision")
    assert gone.index("shop") < gone.index("dns")
    assert sorted(gone) == ["dns", "shipper", "shop"]
    assert report.records == ()
    assert bench.provider.workloads == {}


@pytest.mark.parametrize("state", ["Maintenance", "Offline"])
async def test_a_deletion_waits_while_nothing_may_happen(bench: Bench, state: Any) -> None:
    await bench.run()
    report = await bench.run(None, DELETING, replace(FRA, state=state))
    assert [record.retiring for record in report.records] == [False]
    assert report.planned.blocked.startswith(f"spec.state is {state}, which blocks the deletion")
    assert bench.provider.names_of("deprovision") == []


async def test_a_retire_that_began_waits_for_the_end_of_maintenance(bench: Bench) -> None:
    bench.provider.delay_deletion("shipper", 1)
    await bench.run()
    await bench.run([])
    assert await bench.states() == {"shipper": "Retiring"}
    await bench.run([], where=replace(FRA, state="Maintenance"))
    assert bench.provider.names_of("deprovision") == ["shipper"]
    await bench.run([], where=replace(FRA, state="Draining"))
    assert await bench.states() == {}


# --- dependencies ---------------------------------------------------------------------------------


async def test_a_service_is_made_behind_what_it_depends_on(bench: Bench) -> None:
    bench.provider.make_unhealthy("dns")
    report = await bench.run([SHOP, DNS])
    assert await bench.states() == {"dns": "Provisioning", "shop": "Pending"}
    assert report.outcomes["shop"] == Wait("Pending", "waits until these are Running: dns", 60.0)
    assert bench.provider.names_of("provision") == ["dns"]
    bench.provider.make_healthy("dns")
    await bench.run([SHOP, DNS])
    assert await bench.states() == {"dns": "Running", "shop": "Running"}


async def test_a_dependency_that_nobody_declares_is_named(bench: Bench) -> None:
    await bench.run([SHOP])
    record = await bench.record("shop")
    assert record.progress.state == "Pending"
    assert record.progress.message == "waits until these are Running: dns"


async def test_a_dependency_is_looked_at_and_not_believed(bench: Bench) -> None:
    """Its record may say Running since before a crash."""
    await bench.run([DNS])
    await bench.service.converge(FRA, [SHOP, DNS])
    bench.provider.make_unhealthy("dns")
    records = await bench.memory.list_by_datacenter(FRA)
    assert (await bench.record("dns")).progress.state == "Running"
    await bench.service.drive(await bench.record("shop"), records)
    assert (await bench.record("shop")).progress.state == "Pending"


async def test_a_dependency_that_nobody_can_look_at_does_not_run(bench: Bench) -> None:
    await bench.run([DNS])
    await bench.service.converge(FRA, [SHOP, DNS])
    bench.provider.fail("observe dns", BUSY)
    records = await bench.memory.list_by_datacenter(FRA)
    await bench.service.drive(await bench.record("shop"), records)
    assert (await bench.record("shop")).progress.state == "Pending"


async def test_a_dependency_that_is_to_go_does_not_run(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    await bench.run([SHOP, service("late", depends_on=("dns",))])
    assert await bench.states() == {"dns": "Retiring", "late": "Pending", "shop": "Running"}


async def test_a_service_that_is_there_is_changed_whatever_its_dependency_does(
    bench: Bench,
) -> None:
    await bench.run([SHOP, DNS])
    bench.provider.make_unhealthy("dns")
    await bench.run([service("shop", depends_on=("dns",), replicas=3), DNS])
    assert await bench.states() == {"dns": "Provisioning", "shop": "Running"}
    assert bench.provider.names_of("provision") == ["dns", "shop", "shop"]


async def test_who_asks_for_a_vault_is_told_of_each(bench: Bench) -> None:
    await bench.run([READER, VAULT, openbao("archive")])
    assert await bench.states() == {
        "archive": "Running",
        "reader": "Running",
        "vault": "Running",
    }
    events_sent = bench.provider.workloads[(await bench.record("reader")).id].vaults
    assert [(vault.service, vault.address) for vault in events_sent] == [
        ("archive", "https://archive.dc-fra1.svc:8200"),
        ("vault", "https://vault.dc-fra1.svc:8200"),
    ]


async def test_every_vault_must_be_ready(bench: Bench) -> None:
    bench.provider.make_unhealthy("archive")
    await bench.run([READER, VAULT, openbao("archive")])
    record = await bench.record("reader")
    assert (record.progress.state, record.progress.message) == (
        "Pending",
        "waits until these are Running: archive",
    )


async def test_without_a_vault_openbao_is_not_ready(bench: Bench) -> None:
    await bench.run([READER])
    assert (await bench.record("reader")).progress.message == (
        "waits until these are Running: openbao:ready"
    )


async def test_who_does_not_ask_for_a_vault_is_told_of_none(bench: Bench) -> None:
    await bench.run([service("reader", depends_on=("vault",)), VAULT])
    assert bench.provider.workloads[(await bench.record("reader")).id].vaults == ()


async def test_what_others_need_goes_last(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    report = await bench.run([SHOP])
    assert report.outcomes["dns"] == Wait("Retiring", "waits until these are deleted: shop", 5.0)
    assert await bench.states() == {"dns": "Retiring", "shop": "Running"}
    await bench.run([])
    assert await bench.states() == {}
    assert bench.provider.names_of("deprovision") == ["shop", "dns"]


async def test_a_provider_that_was_named_wrongly_can_be_corrected(bench: Bench) -> None:
    wrong = datacenter("ams1", provider="nomad")
    await bench.run(where=wrong)
    right = replace(wrong, provider="memory")
    await bench.run(where=right)
    (record,) = await bench.memory.list_by_datacenter(right)
    assert (record.progress.state, record.progress.failure) == ("Running", None)


async def test_what_a_provider_that_nobody_has_never_made_goes_at_once(bench: Bench) -> None:
    wrong = datacenter("ams1", provider="nomad")
    await bench.run(where=wrong)
    await bench.run(None, DELETING, where=wrong)
    assert await bench.memory.list_by_datacenter(wrong) == ()
    assert bench.events == ["shipper Failed", "shipper Retired"]
