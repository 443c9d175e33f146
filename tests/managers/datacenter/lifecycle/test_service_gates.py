"""The steps that the state of a datacenter and dependencies allow."""

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


async def test_a_deletion_waits_for_the_end_of_maintenance(bench: Bench) -> None:
    bench.provider.delay_deletion("shipper", 1)
    await bench.run()
    await bench.run([])
    assert await bench.states() == {"shipper": "Retiring"}
    await bench.run([], where=replace(FRA, state="Maintenance"))
    assert bench.provider.names_of("deprovision") == ["shipper"]
    await bench.run([], where=replace(FRA, state="Draining"))
    assert await bench.states() == {}


# --- dependencies ---------------------------------------------------------------------------------


async def test_a_service_is_created_after_its_dependencies(bench: Bench) -> None:
    bench.provider.make_unhealthy("dns")
    report = await bench.run([SHOP, DNS])
    assert await bench.states() == {"dns": "Provisioning", "shop": "Pending"}
    message = "waiting for these services to run: dns"
    assert report.outcomes["shop"] == Wait("Pending", message, 60.0)
    assert bench.provider.names_of("provision") == ["dns"]
    bench.provider.make_healthy("dns")
    await bench.run([SHOP, DNS])
    assert await bench.states() == {"dns": "Running", "shop": "Running"}


@pytest.mark.parametrize("answers", [True, False], ids=["unhealthy", "not observable"])
async def test_a_dependency_is_observed_again_and_not_read_from_its_record(
    bench: Bench, answers: bool
) -> None:
    """Its record may be outdated after a crash."""
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


async def test_a_retiring_dependency_does_not_count_as_running(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    await bench.run([SHOP, service("late", depends_on=("dns",))])
    assert await bench.states() == {"dns": "Retiring", "late": "Pending", "shop": "Running"}


async def test_an_existing_service_is_updated_regardless_of_its_dependency(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    bench.provider.make_unhealthy("dns")
    await bench.run([service("shop", depends_on=("dns",), replicas=3), DNS])
    assert await bench.states() == {"dns": "Provisioning", "shop": "Running"}
    assert bench.provider.names_of("provision") == ["dns", "shop", "shop"]


async def test_only_dependents_on_vaults_get_the_addresses_of_vaults(bench: Bench) -> None:
    other = service("other", depends_on=("vault",))
    await bench.run([READER, other, VAULT, openbao("archive")])
    assert set((await bench.states()).values()) == {"Running"}
    vaults = bench.provider.workloads[(await bench.record("reader")).id].vaults
    assert [(vault.service, vault.address) for vault in vaults] == [
        ("archive", "https://archive.dc-fra1.svc:8200"),
        ("vault", "https://vault.dc-fra1.svc:8200"),
    ]
    assert bench.provider.workloads[(await bench.record("other")).id].vaults == ()


async def test_a_dependency_is_deleted_after_its_dependents(bench: Bench) -> None:
    await bench.run([SHOP, DNS])
    report = await bench.run([SHOP])
    message = "waiting for the deletion of these services: shop"
    assert report.outcomes["dns"] == Wait("Retiring", message, 5.0)
    assert await bench.states() == {"dns": "Retiring", "shop": "Running"}
    await bench.run([])
    assert await bench.states() == {}
    assert bench.provider.names_of("deprovision") == ["shop", "dns"]


async def test_a_record_of_an_unknown_provider_is_deleted_immediately(bench: Bench) -> None:
    wrong = datacenter("ams1", provider="nomad")
    await bench.run(where=wrong)
    await bench.run(None, DELETING, where=wrong)
    assert await bench.memory.list_by_datacenter(wrong) == ()
    assert bench.events == ["shipper Failed", "shipper Retired"]
