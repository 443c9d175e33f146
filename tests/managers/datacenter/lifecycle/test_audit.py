"""managers.datacenter.lifecycle.audit: each step of a service is logged once."""

from collections.abc import Sequence
from typing import Any

from structlog.testing import capture_logs

from contracts.datacenter.service_spec import BootstrapService
from managers.datacenter.lifecycle.service import NO_OPTIONS, ReconcileOptions
from tests.managers.datacenter.bodies import service
from tests.managers.datacenter.service_bench import BUSY, DNS, SHIPPER, Bench, StaticHook


async def records_of(
    bench: Bench,
    declared: Sequence[BootstrapService] | None,
    options: ReconcileOptions = NO_OPTIONS,
) -> list[Any]:
    """The audit entries of one reconcile."""
    with capture_logs() as logs:
        await bench.run(declared, options)
    return [entry for entry in logs if entry.get("audit")]


def steps(records: list[Any]) -> list[tuple[str, str]]:
    return [
        (record["service"], record["event_type"].removeprefix("bootstrap_")) for record in records
    ]


def outcome(record: Any) -> tuple[Any, ...]:
    return record.get("state"), record.get("reason"), record.get("attempts")


async def test_each_step_of_a_service_is_logged(bench: Bench) -> None:
    assert steps(await records_of(bench, [SHIPPER])) == [
        ("shipper", "workload_created"),
        ("shipper", "service_provisioning"),
        ("shipper", "service_running"),
    ]
    assert steps(await records_of(bench, [service("shipper", replicas=2)])) == [
        ("shipper", "workload_updated"),
        ("shipper", "service_provisioning"),
        ("shipper", "service_running"),
    ]
    bench.provider.delay_deletion("shipper", 1)
    retired = [("shipper", "workload_retired"), ("shipper", "service_retiring")]
    assert steps(await records_of(bench, [])) == retired
    assert steps(await records_of(bench, [])) == [("shipper", "workload_removed")]


async def test_an_audit_entry_has_the_service_and_its_source(bench: Bench) -> None:
    bench.registry.register(StaticHook("net", SHIPPER))
    records = await records_of(bench, None)
    record = await bench.record()
    common = {
        "audit": True,
        "kind": "bootstrap",
        "log_level": "info",
        "datacenter": "fra1",
        "service": "shipper",
        "source": "hook/net",
        "digest": record.desired.digest,
    }
    assert all(entry.items() >= common.items() for entry in records)
    assert [entry.get("id") for entry in records] == [None, record.id, record.id]
    outcomes = [(None, None, None), ("Provisioning", "", 0), ("Running", "", 0)]
    assert [outcome(entry) for entry in records] == outcomes


async def test_each_failed_attempt_is_logged(bench: Bench) -> None:
    bench.provider.fail("provision shipper", BUSY, BUSY)
    await bench.run([])
    seen: list[tuple[Any, ...]] = []
    for _ in range(3):
        seen += map(outcome, await records_of(bench, [SHIPPER]))
        await bench.clock.advance(20)
    assert seen == [
        (None, None, None),
        ("Provisioning", "", 0),
        ("Failed", "Unavailable", 1),
        ("Provisioning", "Unavailable", 1),
        ("Failed", "Unavailable", 2),
        ("Provisioning", "Unavailable", 2),
        ("Running", "", 2),
    ]


async def test_an_unchanged_datacenter_logs_nothing(bench: Bench) -> None:
    bench.provider.make_unhealthy("dns")
    bench.provider.fail("provision shop", BUSY)
    declared = [SHIPPER, DNS, service("shop")]
    await bench.run(declared)
    for _ in range(3):
        assert await records_of(bench, declared) == []
    bench.restart()
    assert await records_of(bench, declared) == []
