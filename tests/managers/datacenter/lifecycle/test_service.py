"""One reconcile of the services of a datacenter, and errors in it."""

import pytest
from structlog.testing import capture_logs

from contracts.datacenter.workload_records import Failure, ServiceProgress, ServiceRecord
from managers.datacenter.interfaces import ProviderError
from runtime.errors import LeaseLost
from runtime.outcome import Done, Wait
from tests.managers.datacenter.bodies import datacenter, service
from tests.managers.datacenter.memory_provider import MemoryProvider
from tests.managers.datacenter.memory_store import MemoryStore
from tests.managers.datacenter.service_bench import BUSY, DNS, FRA, SHIPPER, Bench, StaticHook

# --- basic behavior ------------------------------------------------------------------------------


async def test_a_declared_service_runs(bench: Bench) -> None:
    report = await bench.run([SHIPPER, {"name": "dns", "services": DNS.to_object()["services"]}])
    assert await bench.states() == {"dns": "Running", "shipper": "Running"}
    assert report.outcome == Done(600.0)
    assert report.failures == ()
    record = await bench.service.get((await bench.record()).id)
    assert record is not None
    assert record.progress.provider_ref == f"memory/{record.id}"
    assert await bench.service.list_by_datacenter(FRA) == report.records


# --- errors ---------------------------------------------------------------------------------------


async def test_a_failing_source_is_logged_once_as_a_warning(bench: Bench) -> None:
    hook = StaticHook("net", SHIPPER)
    bench.registry.register(hook)
    hook.error = RuntimeError("no inventory")
    with capture_logs() as logs:
        for _ in range(3):
            await bench.run(None)
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert warnings == [
        {
            "event": "problem with a source of services",
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


async def test_an_invalid_declaration_keeps_the_former_services(bench: Bench) -> None:
    await bench.run([SHIPPER])
    report = await bench.run([{"name": "Not A Name"}])
    assert await bench.states() == {"shipper": "Running"}
    (source,) = report.merge_result.sources
    assert "spec.bootstrapServices[0].name" in source.error


async def test_a_conflict_causes_one_event_until_it_recurs(bench: Bench) -> None:
    hook = StaticHook("net", service("shipper", replicas=9))
    bench.registry.register(hook)
    for _ in range(3):
        await bench.run()
    assert bench.events_sent.count(("fra1", "Warning", "Conflict")) == 1
    assert "two sources, declared and hook/net" in " ".join(bench.notes)
    hook.bodies = ()
    await bench.run()
    hook.bodies = (SHIPPER,)
    await bench.run()
    assert bench.events_sent.count(("fra1", "Warning", "Conflict")) == 2


async def test_an_exception_of_a_provider_fails_one_record(bench: Bench) -> None:
    class DefectiveProvider(MemoryProvider):
        async def provision(self, record: ServiceRecord, vaults: object) -> None:
            if record.name == "dns":
                raise KeyError("main")
            await super().provision(record, ())

    bench.providers["memory"] = DefectiveProvider()
    await bench.run([DNS, SHIPPER])
    assert await bench.states() == {"dns": "Failed", "shipper": "Running"}
    progress = (await bench.record("dns")).progress
    assert progress.failure == Failure("KeyError", "'main'", bench.clock.now())
    assert progress.next_retry is not None


async def test_a_store_error_for_one_record_does_not_stop_others(bench: Bench) -> None:
    class FailingStore(MemoryStore):
        async def record(self, record: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
            if record.name == "dns":
                raise OSError("disk full")
            return await super().record(record, progress)

    bench.memory = FailingStore()
    bench.store = bench.memory
    bench.restart()
    report = await bench.run([DNS, SHIPPER])
    assert await bench.states() == {"dns": "Pending", "shipper": "Running"}
    assert [(failure.name, failure.message) for failure in report.failures] == [
        ("dns", "OSError: disk full")
    ]
    assert report.outcome == Wait("WriteFailed", "dns: OSError: disk full", 5.0)
    # No step starts that cannot be recorded.
    assert bench.provider.names_of("provision") == ["shipper"]


@pytest.mark.parametrize("call", ["record", "insert", "retire", "provision"])
async def test_a_lost_lease_ends_the_pass(bench: Bench, call: str) -> None:
    await bench.run([DNS])

    async def lost(*_: object) -> None:
        raise LeaseLost

    setattr(bench.provider if call == "provision" else bench.memory, call, lost)
    with pytest.raises(LeaseLost):
        await bench.run([SHIPPER])


async def test_an_unknown_provider_is_reported_and_stops_no_other_datacenter(bench: Bench) -> None:
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


async def test_a_failed_observation_is_retried(bench: Bench) -> None:
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


async def test_converge_does_not_call_the_provider(bench: Bench) -> None:
    report = await bench.service.converge(FRA, [SHIPPER])
    assert bench.provider.calls == []
    assert report.outcomes == {}
    assert await bench.states() == {"shipper": "Pending"}


async def test_no_provision_starts_from_an_outdated_record(bench: Bench) -> None:
    await bench.service.converge(FRA, [service("shipper")])
    stale = await bench.record()
    await bench.service.converge(FRA, [service("shipper", replicas=2)])
    outcome = await bench.service.drive(stale, [stale])
    assert isinstance(outcome, Wait)
    assert (outcome.reason, outcome.after) == ("Superseded", 1.0)
    assert bench.provider.names_of("provision") == []


async def test_a_service_is_added_again_while_its_deletion_fails(bench: Bench) -> None:
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
    assert report.outcome == Wait("Superseded", "services to be recreated: shipper", 1.0)
    await bench.run()
    successor = await bench.record()
    assert successor.progress.state == "Running"
    assert successor.id != first.id
    assert list(bench.provider.workloads) == [successor.id]


async def test_a_deletion_that_continues_clears_its_failure(bench: Bench) -> None:
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


class RacedStore(MemoryStore):
    """A store in which another process always removes a record first."""

    async def remove(self, record: ServiceRecord) -> bool:
        await super().remove(record)
        return await super().remove(record)


async def test_only_the_process_that_removes_a_record_sends_the_event(bench: Bench) -> None:
    bench.store = bench.memory = RacedStore()
    bench.restart()
    await bench.run()
    assert bench.events == ["shipper Started", "shipper Succeeded"]
    await bench.run([])
    assert await bench.states() == {}
    assert bench.events == []
