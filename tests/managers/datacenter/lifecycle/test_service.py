"""managers.datacenter.lifecycle.service.

What one pass over a datacenter does, and what stops it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    Failure,
    ServiceProgress,
    ServiceRecord,
)
from managers.datacenter.interfaces import ProviderError, StoreConflictError
from runtime.errors import LeaseLost
from runtime.outcome import Done, Outcome, Wait
from tests.managers.datacenter.bodies import datacenter, service
from tests.managers.datacenter.memory_provider import MemoryProvider
from tests.managers.datacenter.memory_store import MemoryStore
from tests.managers.datacenter.service_bench import BROKEN, BUSY, DNS, FRA, SHIPPER, Bench, Given

# --- what the services of a datacenter always did -------------------------------------------------


async def test_what_is_declared_runs(bench: Bench) -> None:
    report = await bench.run([SHIPPER, {"name": "dns", "services": DNS.to_object()["services"]}])
    assert await bench.states() == {"dns": "Running", "shipper": "Running"}
    assert report.outcome == Done(600.0)
    assert report.failures == ()
    record = await bench.service.get((await bench.record()).id)
    assert record is not None
    assert record.progress.provider_ref == f"memory/{record.id}"
    assert await bench.service.list_by_datacenter(FRA) == report.records


async def test_what_a_hook_gives_runs(bench: Bench) -> None:
    bench.registry.register(Given("net", SHIPPER))
    await bench.run(None)
    assert (await bench.record()).desired.source.name == "hook/net"
    assert await bench.states() == {"shipper": "Running"}


async def test_both_are_united(bench: Bench) -> None:
    bench.registry.register(Given("net", DNS))
    await bench.run([SHIPPER])
    assert await bench.states() == {"dns": "Running", "shipper": "Running"}


async def test_what_is_declared_wins(bench: Bench) -> None:
    bench.registry.register(Given("net", service("shipper", replicas=9), priority=1000))
    report = await bench.run([SHIPPER])
    assert (await bench.record()).desired.service == SHIPPER
    assert [conflict.loser for conflict in report.merge_result.conflicts] == ["hook/net"]


async def test_idempotent_three_passes_one_provision(bench: Bench) -> None:
    for _ in range(3):
        await bench.run()
    assert bench.provider.names_of("provision") == ["shipper"]


async def test_a_hook_filters_by_the_shape_of_the_datacenter(bench: Bench) -> None:
    hook = Given("net", SHIPPER)
    bench.registry.register(hook)
    await bench.run(None, where=replace(FRA, region="us-east"))
    assert await bench.states() == {}
    assert hook.names_of[0].labels == {"tier": "edge"}


async def test_what_nobody_wants_any_more_is_retired(bench: Bench) -> None:
    await bench.run([SHIPPER, DNS])
    await bench.run([DNS])
    assert await bench.states() == {"dns": "Running"}
    assert bench.provider.names_of("deprovision") == ["shipper"]
    assert len(bench.provider.workloads) == 1


async def test_retry_after_a_transient_error(bench: Bench) -> None:
    bench.provider.fail("provision shipper", BUSY)
    report = await bench.run()
    record = await bench.record()
    assert (record.progress.state, record.progress.attempts) == ("Failed", 1)
    assert record.progress.message == "the server is busy"
    assert isinstance(report.outcome, Wait)
    assert report.outcome.after is not None
    await bench.clock.advance(report.outcome.after)
    await bench.run()
    assert (await bench.record()).id == record.id
    assert (await bench.record()).progress.state == "Running"


# --- what goes wrong elsewhere --------------------------------------------------------------------


async def test_a_source_that_fails_tears_nothing_down(bench: Bench) -> None:
    hook = Given("net", SHIPPER)
    bench.registry.register(hook)
    await bench.run([DNS])
    bench.events.clear()
    hook.error = RuntimeError("no inventory")
    for _ in range(3):
        await bench.run([DNS])
    assert await bench.states() == {"dns": "Running", "shipper": "Running"}
    assert bench.events_sent == [("fra1", "Warning", "SourceDegraded")]
    assert bench.notes[-1] == "source hook/net: RuntimeError: no inventory"
    hook.error, hook.bodies = None, ()
    await bench.run([DNS])
    assert await bench.states() == {"dns": "Running"}


async def test_a_source_that_begins_to_fail_is_logged_once_as_a_warning(bench: Bench) -> None:
    hook = Given("net", SHIPPER)
    bench.registry.register(hook)
    hook.error = RuntimeError("no inventory")
    with capture_logs() as logs:
        for _ in range(3):
            await bench.run(None)
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert warnings == [
        {
            "event": "sources",
            "log_level": "warning",
            "datacenter": "fra1",
            "reason": "SourceDegraded",
            "message": "source hook/net: RuntimeError: no inventory",
        }
    ]
    hook.error = None
    await bench.run(None)
    hook.error = RuntimeError("no inventory again")
    with capture_logs() as logs:
        await bench.run(None)
    assert [entry["message"] for entry in logs if entry["log_level"] == "warning"] == [
        "source hook/net: RuntimeError: no inventory again"
    ]


async def test_a_declaration_that_breaks_a_rule_keeps_what_was_declared(bench: Bench) -> None:
    await bench.run([SHIPPER])
    report = await bench.run([{"name": "Not A Name"}])
    assert await bench.states() == {"shipper": "Running"}
    (source,) = report.merge_result.sources
    assert "spec.bootstrapServices[0].name" in source.error


async def test_a_declaration_left_out_is_not_an_empty_one(bench: Bench) -> None:
    await bench.run([SHIPPER])
    await bench.run(None)
    assert await bench.states() == {"shipper": "Running"}
    await bench.run([])
    assert await bench.states() == {}


async def test_a_conflict_is_told_once_and_again_when_it_came_back(bench: Bench) -> None:
    hook = Given("net", service("shipper", replicas=9))
    bench.registry.register(hook)
    for _ in range(3):
        await bench.run()
    assert bench.events_sent.count(("fra1", "Warning", "Conflict")) == 1
    assert "declared by declared and hook/net" in " ".join(bench.notes)
    hook.bodies = ()
    await bench.run()
    hook.bodies = (SHIPPER,)
    await bench.run()
    assert bench.events_sent.count(("fra1", "Warning", "Conflict")) == 2


async def test_one_failing_service_stops_no_other(bench: Bench) -> None:
    bench.provider.fail("provision dns", BROKEN)
    await bench.run([DNS, SHIPPER])
    assert await bench.states() == {"dns": "Failed", "shipper": "Running"}


async def test_a_defect_of_a_provider_is_a_failure_of_one_record(bench: Bench) -> None:
    class Defect(MemoryProvider):
        async def provision(self, record: ServiceRecord, vaults: object) -> None:
            if record.name == "dns":
                raise KeyError("main")
            await super().provision(record, ())

    bench.providers["memory"] = Defect()
    await bench.run([DNS, SHIPPER])
    assert await bench.states() == {"dns": "Failed", "shipper": "Running"}
    progress = (await bench.record("dns")).progress
    assert progress.failure == Failure("KeyError", "'main'", bench.clock.now())
    assert progress.next_retry is not None


async def test_a_store_that_refuses_a_write_is_reported(bench: Bench) -> None:
    class Refusing(MemoryStore):
        async def insert(
            self, datacenter: DatacenterInfo, desired_service: DesiredService
        ) -> ServiceRecord:
            if desired_service.name == "dns":
                raise StoreConflictError("somebody has it")
            return await super().insert(datacenter, desired_service)

    bench.memory = Refusing()
    bench.store = bench.memory
    bench.restart()
    report = await bench.run([DNS, SHIPPER])
    assert await bench.states() == {"shipper": "Running"}
    (failure,) = report.failures
    assert (failure.name, failure.message) == ("dns", "StoreConflictError: somebody has it")
    assert isinstance(report.outcome, Wait)


async def test_a_store_that_fails_for_one_record_stops_no_other(bench: Bench) -> None:
    class Failing(MemoryStore):
        async def record(self, record: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
            if record.name == "dns":
                raise OSError("disk full")
            return await super().record(record, progress)

    bench.memory = Failing()
    bench.store = bench.memory
    bench.restart()
    report = await bench.run([DNS, SHIPPER])
    assert await bench.states() == {"dns": "Pending", "shipper": "Running"}
    assert [(failure.name, failure.message) for failure in report.failures] == [
        ("dns", "OSError: disk full")
    ]
    assert report.outcome == Wait("WriteFailed", "dns: OSError: disk full", 5.0)
    # What cannot be recorded is not begun.
    assert bench.provider.names_of("provision") == ["shipper"]


@pytest.mark.parametrize("call", ["record", "insert", "retire", "provision"])
async def test_a_lost_lease_ends_the_pass(bench: Bench, call: str) -> None:
    await bench.run([DNS])

    async def lost(*_: object) -> None:
        raise LeaseLost

    setattr(bench.provider if call == "provision" else bench.memory, call, lost)
    with pytest.raises(LeaseLost):
        await bench.run([SHIPPER])


async def test_an_unknown_provider_is_told_and_stops_nothing_else(bench: Bench) -> None:
    elsewhere = datacenter("ams1", provider="nomad")
    for _ in range(3):
        await bench.run(where=elsewhere)
    (record,) = await bench.memory.list_by_datacenter(elsewhere)
    assert record.progress.state == "Failed"
    assert record.progress.failure is not None
    assert record.progress.failure.reason == "UnknownProvider"
    assert record.progress.message == (
        "spec.provider nomad is unknown (known: memory); start the operator with that provider, or "
        "correct the Datacenter"
    )
    assert (record.progress.attempts, record.progress.next_retry) == (1, None)
    assert bench.events == ["shipper Failed"]
    bench.providers["nomad"] = MemoryProvider("nomad")
    await bench.run(where=elsewhere)
    (record,) = await bench.memory.list_by_datacenter(elsewhere)
    assert (record.progress.state, record.progress.failure) == ("Running", None)


async def test_a_provider_that_cannot_look_is_a_failure_that_ends_by_itself(bench: Bench) -> None:
    await bench.run()
    forbidden = ProviderError("Rejected", "cannot list", terminal=True)
    bench.provider.fail("observe shipper", forbidden)
    outcome = (await bench.run()).outcome
    progress = (await bench.record()).progress
    assert (progress.state, progress.message, progress.attempts) == ("Failed", "cannot list", 1)
    assert progress.next_retry is not None
    assert isinstance(outcome, Wait)
    bench.provider.fail("observe shipper", forbidden)
    await bench.run()
    assert (await bench.record()).progress == progress
    await bench.run()
    assert (await bench.record()).progress.state == "Running"
    assert bench.provider.names_of("provision") == ["shipper"]


# --- single records -------------------------------------------------------------------------------


async def test_a_record_that_changed_since_it_was_read_is_looked_at_again(bench: Bench) -> None:
    await bench.service.converge(FRA, [SHIPPER])
    stale = await bench.record()
    await bench.run()
    bench.events.clear()
    outcome: Outcome = await bench.service.drive(stale, [stale])
    assert isinstance(outcome, Wait)
    assert (outcome.reason, outcome.after) == ("Superseded", 1.0)
    assert bench.events == []


async def test_converge_touches_no_provider(bench: Bench) -> None:
    report = await bench.service.converge(FRA, [SHIPPER])
    assert bench.provider.calls == []
    assert report.outcomes == {}
    assert await bench.states() == {"shipper": "Pending"}
