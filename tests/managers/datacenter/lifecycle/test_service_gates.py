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
    bench.provider.make_unwell("dns", "image cannot be pulled")
    report = await bench.run([service("shipper", replicas=3), SHOP], where=closed)
    assert await bench.states() == {"dns": "Provisioning", "shipper": "Running"}
    assert (await bench.row("dns")).progress.message == "image cannot be pulled"
    assert bench.provider.asked("provision") == ["dns", "shipper"]
    assert bench.provider.asked("deprovision") == []
    assert "spec.state is Maintenance" in report.planned.held


async def test_offline_asks_nobody(bench: Bench) -> None:
    await bench.run()
    before = list(bench.provider.calls)
    away = replace(FRA, state="Offline")
    report = await bench.run([], where=away)
    progress = (await bench.row()).progress
    assert bench.provider.calls == before
    assert progress.state == "Running"
    assert progress.message == (
        "the datacenter is Offline: nobody looks at this service, and this is old news"
    )
    assert report.outcome == Done(600.0)
    await bench.run()
    assert (await bench.row()).progress.message == ""


async def test_draining_makes_and_changes_and_retires_nothing(bench: Bench) -> None:
    await bench.run([SHIPPER, DNS])
    draining = replace(FRA, state="Draining")
    await bench.run([service("shipper", replicas=3), SHOP], where=draining)
    assert await bench.states() == {"dns": "Running", "shipper": "Running", "shop": "Running"}
    assert bench.provider.asked("deprovision") == []
    assert (await bench.row()).desired.service.replicas == 3


@pytest.mark.parametrize("state", ["Active", "Draining"])
async def test_a_deletion_retires_in_reverse_order(bench: Bench, state: Any) -> None:
    bench.registry.register(Given("net", SHIPPER))
    await bench.run([SHOP, DNS])
    report = await bench.run([SHOP, DNS], DELETING, replace(FRA, state=state))
    gone = bench.provider.asked("deprovision")
    assert gone.index("shop") < gone.index("dns")
    assert sorted(gone) == ["dns", "shipper", "shop"]
    assert report.rows == ()
    assert bench.provider.things == {}


@pytest.mark.parametrize("state", ["Maintenance", "Offline"])
async def test_a_deletion_waits_while_nothing_may_happen(bench: Bench, state: Any) -> None:
    await bench.run()
    report = await bench.run(None, DELETING, replace(FRA, state=state))
    assert [row.retiring for row in report.rows] == [False]
    assert report.planned.held.startswith(f"spec.state is {state}: the deletion waits")
    assert bench.provider.asked("deprovision") == []


async def test_a_retire_that_began_waits_for_the_end_of_maintenance(bench: Bench) -> None:
    bench.provider.delay_end("shipper", 1)
    await bench.run()
    await bench.run([])
    assert await bench.states() == {"shipper": "Retiring"}
    await bench.run([], where=replace(FRA, state="Maintenance"))
    assert bench.provider.asked("deprovision") == ["shipper"]
    await bench.run([], where=replace(FRA, state="Draining"))
    assert await bench.states() == {}


# --- dependencies ---------------------------------------------------------------------------------


async def test_a_service_is_made_behind_what_it_depends_on(bench: Bench) -> None:
    bench.provider.make_unwell("dns")
    report = await bench.run([SHOP, DNS])
    assert await bench.states() == {"dns": "Provisioning", "shop": "Pending"}
    assert report.outcomes["shop"] == Wait("Pending", "waits until these are Running: dns", 60.0)
    assert bench.provider.asked("provision") == ["dns"]
    bench.provider.make_well("dns")
    await bench.run([SHOP, DNS])
    assert await bench.states() == {"dns": "Running", "shop": "Running"}


async def test_a_dependency_that_nobody_declares_is_named(bench: Bench) -> None:
    await bench.run([SHOP])
    row = await bench.row("shop")
    assert row.progress.state == "Pending"
    assert row.progress.message == "waits until these are Running: dns"


async def test_a_dependency_is_looked_at_and_not_believed(bench: Bench) -> None:
    """Its row may say Running since before a crash."""
    await bench.run([DNS])
    await bench.service.converge(FRA, [SHOP, DNS])
    bench.provider.make_unwell("dns")
    rows = await bench.memory.list_by_datacenter(FRA)
    assert (await bench.row("dns")).progress.state == "Running"
    await bench.service.drive(await bench.row("shop"), rows)
    assert (await bench.row("shop")).progress.state == "Pending"


async def test_a_dependency_that_nobody_can_look_at_does_not_run(bench: Bench) -> None:
    await bench.run([DNS])
    await bench.service.converge(FRA, [SHOP, DNS])
    bench.provider.fail("observe dns", BUSY)
    rows = await bench.memory.list_by_datacenter(FRA)
    await bench.service.drive(await bench.row("shop"), rows)
    assert (await bench.row("shop")).progress.state == "Pending"


async def test_a_dependency_that_is_to_go_does_not_run(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    await bench.run([SHOP, service("late", depends_on=("dns",))])
    assert await bench.states() == {"dns": "Retiring", "late": "Pending", "shop": "Running"}


async def test_a_service_that_is_there_is_changed_whatever_its_dependency_does(
    bench: Bench,
) -> None:
    await bench.run([SHOP, DNS])
    bench.provider.make_unwell("dns")
    await bench.run([service("shop", depends_on=("dns",), replicas=3), DNS])
    assert await bench.states() == {"dns": "Provisioning", "shop": "Running"}
    assert bench.provider.asked("provision") == ["dns", "shop", "shop"]


async def test_who_asks_for_a_vault_is_told_of_each(bench: Bench) -> None:
    await bench.run([READER, VAULT, openbao("archive")])
    assert await bench.states() == {
        "archive": "Running",
        "reader": "Running",
        "vault": "Running",
    }
    told = bench.provider.things[(await bench.row("reader")).id].vaults
    assert [(one.service, one.address) for one in told] == [
        ("archive", "https://archive.dc-fra1.svc:8200"),
        ("vault", "https://vault.dc-fra1.svc:8200"),
    ]


async def test_every_vault_must_be_ready(bench: Bench) -> None:
    bench.provider.make_unwell("archive")
    await bench.run([READER, VAULT, openbao("archive")])
    row = await bench.row("reader")
    assert (row.progress.state, row.progress.message) == (
        "Pending",
        "waits until these are Running: archive",
    )


async def test_without_a_vault_openbao_is_not_ready(bench: Bench) -> None:
    await bench.run([READER])
    assert (await bench.row("reader")).progress.message == (
        "waits until these are Running: openbao:ready"
    )


async def test_who_does_not_ask_for_a_vault_is_told_of_none(bench: Bench) -> None:
    await bench.run([service("reader", depends_on=("vault",)), VAULT])
    assert bench.provider.things[(await bench.row("reader")).id].vaults == ()


async def test_what_others_need_goes_last(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    report = await bench.run([SHOP])
    assert report.outcomes["dns"] == Wait("Retiring", "waits until these are gone: shop", 5.0)
    assert await bench.states() == {"dns": "Retiring", "shop": "Running"}
    await bench.run([])
    assert await bench.states() == {}
    assert bench.provider.asked("deprovision") == ["shop", "dns"]


async def test_a_provider_that_was_named_wrongly_can_be_corrected(bench: Bench) -> None:
    wrong = datacenter("ams1", provider="nomad")
    await bench.run(where=wrong)
    right = replace(wrong, provider="memory")
    await bench.run(where=right)
    (row,) = await bench.memory.list_by_datacenter(right)
    assert (row.progress.state, row.progress.failure) == ("Running", None)


async def test_what_a_provider_that_nobody_has_never_made_goes_at_once(bench: Bench) -> None:
    wrong = datacenter("ams1", provider="nomad")
    await bench.run(where=wrong)
    await bench.run(None, DELETING, where=wrong)
    assert await bench.memory.list_by_datacenter(wrong) == ()
    assert bench.events == ["shipper Failed", "shipper Retired"]
