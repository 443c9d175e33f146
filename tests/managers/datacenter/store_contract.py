"""The contract of every store of records; test_stores runs it for each.

A subclass has the fixture `store`, which is empty at the start.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from contracts.datacenter.workload_records import (
    DesiredService,
    Failure,
    ServiceProgress,
    ServiceRecord,
)
from managers.datacenter.interfaces import StoreConflictError, WorkloadStore
from tests.managers.datacenter.bodies import datacenter, desired_service, openbao, service

FRA = datacenter("fra1")
AMS = datacenter("ams1")
SHIPPER = desired_service(service("shipper", labels={"team": "platform"}), "hook/net", priority=7)
DNS = desired_service(service("dns", replicas=2, depends_on=("vault",)))
VAULT = desired_service(openbao("vault"), redeploy="again-1")
NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
RUNNING = ServiceProgress(
    state="Running",
    message="all well",
    digest=SHIPPER.digest,
    running_since=NOW,
    ready="1/1",
    provider_ref="Deployment dc-fra1/fra1-shipper",
    service_refs=(("main", "Deployment dc-fra1/fra1-shipper"), ("side", "Service dc-fra1/x")),
)
FAILED = ServiceProgress(
    state="Failed",
    message="the server is busy",
    digest=SHIPPER.digest,
    attempts=3,
    next_retry=NOW + timedelta(seconds=20),
    failure=Failure("Unavailable", "the server is busy", NOW),
)


async def names(store: WorkloadStore) -> list[str]:
    return [record.name for record in await store.list_by_datacenter(FRA)]


async def live_record(store: WorkloadStore, record: ServiceRecord) -> ServiceRecord:
    """The present record in the store."""
    service_record = await store.get_by_name(FRA, record.name)
    assert service_record is not None
    return service_record


class StoreContract:
    """The contract of managers.datacenter.interfaces.WorkloadStore."""

    async def test_an_empty_store_has_no_records(self, store: WorkloadStore) -> None:
        assert await store.list_by_datacenter(FRA) == ()
        assert await store.get("no-id") is None
        assert await store.get_by_name(FRA, "shipper") is None

    @pytest.mark.parametrize("service", [SHIPPER, DNS, VAULT], ids=lambda case: case.name)
    async def test_an_inserted_record_is_read_back(
        self, store: WorkloadStore, service: DesiredService
    ) -> None:
        record = await store.insert(FRA, service)
        assert (record.desired, record.progress) == (service, ServiceProgress())
        assert not record.retiring
        assert record.desired.digest == service.digest
        assert record.datacenter == FRA
        assert await store.list_by_datacenter(FRA) == (record,)
        assert await store.get_by_name(FRA, service.name) == record
        by_id = await store.get(record.id)
        assert by_id is not None
        assert (by_id.id, by_id.desired, by_id.version) == (record.id, service, record.version)

    async def test_records_are_listed_by_name_and_datacenter(self, store: WorkloadStore) -> None:
        for desired in (SHIPPER, DNS, VAULT):
            await store.insert(FRA, desired)
        await store.insert(AMS, SHIPPER)
        assert await names(store) == ["dns", "shipper", "vault"]
        assert [record.datacenter.name for record in await store.list_by_datacenter(AMS)] == [
            "ams1"
        ]

    async def test_a_name_is_unique(self, store: WorkloadStore) -> None:
        record = await store.insert(FRA, SHIPPER)
        with pytest.raises(StoreConflictError):
            await store.insert(FRA, desired_service(service("shipper", replicas=5)))
        assert await store.list_by_datacenter(FRA) == (record,)

    async def test_a_record_has_the_present_datacenter(self, store: WorkloadStore) -> None:
        await store.insert(FRA, SHIPPER)
        now = replace(FRA, state="Draining", labels={"tier": "core"}, region="eu-west")
        (record,) = await store.list_by_datacenter(now)
        assert record.datacenter == now

    async def test_a_record_keeps_its_namespace(self, store: WorkloadStore) -> None:
        record = await store.insert(FRA, SHIPPER)
        provider_changed = replace(FRA, namespace="elsewhere", provider="other")
        (waiting,) = await store.list_by_datacenter(provider_changed)
        where = waiting.datacenter
        assert (where.namespace, where.provider) == ("dc-fra1", "other")
        await store.record(record, replace(RUNNING, provider_ref="Deployment dc-fra1/fra1-shipper"))
        (service_record,) = await store.list_by_datacenter(provider_changed)
        where = service_record.datacenter
        assert (where.namespace, where.provider) == ("dc-fra1", "kubernetes")

    async def test_an_update_changes_only_the_desired_service(self, store: WorkloadStore) -> None:
        record = await store.record(await store.insert(FRA, SHIPPER), RUNNING)
        changed = desired_service(service("shipper", replicas=3), "set/net", -3, "again-2")
        after = await store.update(record, changed)
        assert (after.id, after.desired, after.progress) == (record.id, changed, RUNNING)
        assert after.version != record.version
        assert await live_record(store, record) == after
        with pytest.raises(StoreConflictError):
            await store.update(after, DNS)
        assert await names(store) == ["shipper"]

    @pytest.mark.parametrize("progress", [RUNNING, FAILED], ids=lambda case: str(case.state))
    async def test_recorded_progress_is_read_back(
        self, store: WorkloadStore, progress: ServiceProgress
    ) -> None:
        record = await store.record(await store.insert(FRA, SHIPPER), progress)
        assert record.progress == progress
        assert await live_record(store, record) == record
        # Equal progress is no write, and other progress replaces all fields.
        assert await store.record(record, progress) == record
        other = await store.record(record, RUNNING)
        assert other.progress == (await live_record(store, record)).progress == RUNNING

    async def test_a_stale_record_is_not_written(self, store: WorkloadStore) -> None:
        stale = await store.insert(FRA, SHIPPER)
        record = await store.record(stale, RUNNING)
        for progress in (FAILED, RUNNING):
            with pytest.raises(StoreConflictError):
                await store.record(stale, progress)
        with pytest.raises(StoreConflictError):
            await store.update(stale, desired_service(service("shipper", replicas=3)))
        assert await live_record(store, record) == record

    async def test_a_retiring_record_stays_until_it_is_removed(self, store: WorkloadStore) -> None:
        record = await store.insert(FRA, SHIPPER)
        await store.retire(record)
        going = await live_record(store, record)
        assert (going.id, going.desired, going.retiring) == (record.id, SHIPPER, True)
        with pytest.raises(StoreConflictError):
            await store.insert(FRA, SHIPPER)
        await store.remove(going)
        assert await names(store) == []
        assert await store.get(record.id) is None

    async def test_a_stale_record_can_be_retired(self, store: WorkloadStore) -> None:
        stale = await store.insert(FRA, SHIPPER)
        await store.record(stale, RUNNING)
        await store.retire(stale)
        once = await live_record(store, stale)
        assert once.retiring
        await store.retire(stale)
        await store.retire(once)
        assert await live_record(store, stale) == once
        # A removal requires the version.
        await store.record(once, FAILED)
        with pytest.raises(StoreConflictError):
            await store.remove(once)
        assert await names(store) == ["shipper"]

    async def test_a_retiring_record_can_be_recorded(self, store: WorkloadStore) -> None:
        record = await store.insert(FRA, SHIPPER)
        await store.retire(record)
        known = ServiceProgress("Retiring", attempts=2, failure=Failure("Unavailable", "busy", NOW))
        after = await store.record(await live_record(store, record), known)
        assert (after.progress, after.retiring) == (known, True)

    async def test_a_record_that_is_not_retiring_is_not_removed(self, store: WorkloadStore) -> None:
        record = await store.insert(FRA, SHIPPER)
        with pytest.raises(StoreConflictError):
            await store.remove(record)
        assert await names(store) == ["shipper"]

    async def test_a_second_removal_has_no_effect(self, store: WorkloadStore) -> None:
        record = await store.insert(FRA, SHIPPER)
        await store.retire(record)
        going = await live_record(store, record)
        assert await store.remove(going)
        assert not await store.remove(going)
        assert await names(store) == []
        with pytest.raises(StoreConflictError):
            await store.record(record, RUNNING)
        with pytest.raises(StoreConflictError):
            await store.update(record, SHIPPER)

    async def test_a_recreated_record_has_another_id(self, store: WorkloadStore) -> None:
        record = await store.insert(FRA, SHIPPER)
        await store.retire(record)
        going = await live_record(store, record)
        await store.remove(going)
        successor = await store.insert(FRA, SHIPPER)
        assert successor.id != record.id
        with pytest.raises(StoreConflictError):
            await store.record(record, RUNNING)
        with pytest.raises(StoreConflictError):
            await store.retire(record)
        await store.remove(going)
        assert await store.list_by_datacenter(FRA) == (successor,)
