"""What the state of a datacenter and dependencies let happen."""

from dataclasses import replace

import pytest

from runtime.outcome import Wait
from tests.managers.datacenter.bodies import datacenter, openbao, service
from tests.managers.datacenter.service_bench import (
    BUSY,
    DELETING,
    DNS,
    FRA,
    READER,
    SHOP,
    VAULT,
    Bench,
)

# --- states of the datacenter ---------------------------------------------------------------------


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
    message = "waiting for these services to run: dns"
    assert report.outcomes["shop"] == Wait("Pending", message, 60.0)
    assert bench.provider.names_of("provision") == ["dns"]
    bench.provider.make_healthy("dns")
    await bench.run([SHOP, DNS])
    assert await bench.states() == {"dns": "Running", "shop": "Running"}


@pytest.mark.parametrize("answers", [True, False], ids=["ill", "nobody can look"])
async def test_a_dependency_is_looked_at_and_not_believed(bench: Bench, answers: bool) -> None:
    """Its record may say Running since before a crash."""
    await bench.run([DNS])
    await bench.service.converge(FRA, [SHOP, DNS])
    if answers:
        bench.provider.make_unhealthy("dns")
    else:
        bench.provider.fail("observe dns", BUSY)
    records = await bench.memory.list_by_datacenter(FRA)
    assert (await bench.record("dns")).progress.state == "Running"
    await bench.service.drive(await bench.record("shop"), records)
    assert (await bench.record("shop")).progress.state == "Pending"


async def test_a_dependency_that_is_to_go_does_not_run(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    await bench.run([SHOP, service("late", depends_on=("dns",))])
    assert await bench.states() == {"dns": "Retiring", "late": "Pending", "shop": "Running"}


async def test_an_existing_service_is_changed_whatever_its_dependency_does(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    bench.provider.make_unhealthy("dns")
    await bench.run([service("shop", depends_on=("dns",), replicas=3), DNS])
    assert await bench.states() == {"dns": "Provisioning", "shop": "Running"}
    assert bench.provider.names_of("provision") == ["dns", "shop", "shop"]


async def test_who_asks_for_a_vault_is_told_of_each_and_nobody_else(bench: Bench) -> None:
    other = service("other", depends_on=("vault",))
    await bench.run([READER, other, VAULT, openbao("archive")])
    assert set((await bench.states()).values()) == {"Running"}
    events_sent = bench.provider.workloads[(await bench.record("reader")).id].vaults
    assert [(vault.service, vault.address) for vault in events_sent] == [
        ("archive", "https://archive.dc-fra1.svc:8200"),
        ("vault", "https://vault.dc-fra1.svc:8200"),
    ]
    assert bench.provider.workloads[(await bench.record("other")).id].vaults == ()


async def test_what_others_need_goes_last(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    report = await bench.run([SHOP])
    message = "waiting for the deletion of these services: shop"
    assert report.outcomes["dns"] == Wait("Retiring", message, 5.0)
    assert await bench.states() == {"dns": "Retiring", "shop": "Running"}
    await bench.run([])
    assert await bench.states() == {}
    assert bench.provider.names_of("deprovision") == ["shop", "dns"]


async def test_what_a_provider_that_nobody_has_never_made_goes_at_once(bench: Bench) -> None:
    wrong = datacenter("ams1", provider="nomad")
    await bench.run(where=wrong)
    await bench.run(None, DELETING, where=wrong)
    assert await bench.memory.list_by_datacenter(wrong) == ()
    assert bench.events == ["shipper Failed", "shipper Retired"]
