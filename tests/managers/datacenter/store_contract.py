"""What every store of rows must do; test_stores runs this over each of them.

A subclass gives the fixture `store`, which begins empty.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from contracts.datacenter.workload_records import (
    DesiredService,
    Failure,
    ServiceProgress,
    ServiceRecord,
    ServiceSource,
)
from managers.datacenter.interfaces import StoreConflictError, WorkloadStore
from tests.managers.datacenter.bodies import datacenter, openbao, service, wish

FRA = datacenter("fra1")
AMS = datacenter("ams1")
SHIPPER = wish(service("shipper", labels={"team": "platform"}), "hook/net", priority=7)
DNS = wish(service("dns", replicas=2, depends_on=("vault",)))
VAULT = wish(openbao("vault"), redeploy="again-1")
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
    return [row.name for row in await store.list_by_datacenter(FRA)]


async def seen(store: WorkloadStore, row: ServiceRecord) -> ServiceRecord:
    """The row as the store has it now."""
    found = await store.get_by_name(FRA, row.name)
    assert found is not None
    return found


class StoreContract:
    """The promises of managers.datacenter.interfaces.WorkloadStore."""

    async def test_an_empty_store_knows_no_row(self, store: WorkloadStore) -> None:
        assert await store.list_by_datacenter(FRA) == ()
        assert await store.get("no-id") is None
        assert await store.get_by_name(FRA, "shipper") is None

    @pytest.mark.parametrize("given", [SHIPPER, DNS, VAULT], ids=lambda one: one.name)
    async def test_a_row_comes_back_as_it_was_made(
        self, store: WorkloadStore, given: DesiredService
    ) -> None:
        row = await store.insert(FRA, given)
        assert (row.desired, row.progress, row.retiring) == (given, ServiceProgress(), False)
        assert row.desired.digest == given.digest
        assert row.datacenter == FRA
        assert await store.list_by_datacenter(FRA) == (row,)
        assert await store.get_by_name(FRA, given.name) == row
        by_id = await store.get(row.id)
        assert by_id is not None
        assert (by_id.id, by_id.desired, by_id.version) == (row.id, given, row.version)

    async def test_rows_are_listed_by_name_and_datacenter(self, store: WorkloadStore) -> None:
        for one in (SHIPPER, DNS, VAULT):
            await store.insert(FRA, one)
        await store.insert(AMS, SHIPPER)
        assert await names(store) == ["dns", "shipper", "vault"]
        assert [row.datacenter.name for row in await store.list_by_datacenter(AMS)] == ["ams1"]

    async def test_a_name_is_there_once(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        with pytest.raises(StoreConflictError):
            await store.insert(FRA, wish(service("shipper", replicas=5)))
        assert await store.list_by_datacenter(FRA) == (row,)

    async def test_the_datacenter_of_a_row_is_shown_as_it_is_now(
        self, store: WorkloadStore
    ) -> None:
        await store.insert(FRA, SHIPPER)
        now = replace(FRA, state="Draining", labels={"tier": "core"}, region="eu-west")
        (row,) = await store.list_by_datacenter(now)
        assert row.datacenter == now

    async def test_a_row_stays_where_it_was_made(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        moved = replace(FRA, namespace="elsewhere", provider="other")
        (waiting,) = await store.list_by_datacenter(moved)
        where = waiting.datacenter
        assert (where.namespace, where.provider) == ("dc-fra1", "other")
        await store.record(row, replace(RUNNING, provider_ref="Deployment dc-fra1/fra1-shipper"))
        (made,) = await store.list_by_datacenter(moved)
        assert (made.datacenter.namespace, made.datacenter.provider) == ("dc-fra1", "kubernetes")

    async def test_an_update_changes_the_wish_alone(self, store: WorkloadStore) -> None:
        row = await store.record(await store.insert(FRA, SHIPPER), RUNNING)
        changed = wish(service("shipper", replicas=3), "declared", redeploy="again-2")
        after = await store.update(row, changed)
        assert (after.id, after.desired, after.progress) == (row.id, changed, RUNNING)
        assert after.version != row.version
        assert await seen(store, row) == after

    async def test_a_change_of_the_source_is_kept(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        after = await store.update(row, replace(SHIPPER, source=ServiceSource("set/net", -3)))
        assert after.desired.source == ServiceSource("set/net", -3)

    async def test_a_row_keeps_its_name(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        with pytest.raises(StoreConflictError):
            await store.update(row, DNS)
        assert await names(store) == ["shipper"]

    @pytest.mark.parametrize("progress", [RUNNING, FAILED], ids=lambda one: str(one.state))
    async def test_progress_comes_back_as_it_was_recorded(
        self, store: WorkloadStore, progress: ServiceProgress
    ) -> None:
        row = await store.record(await store.insert(FRA, SHIPPER), progress)
        assert row.progress == progress
        assert await seen(store, row) == row

    async def test_progress_forgets_what_is_over(self, store: WorkloadStore) -> None:
        row = await store.record(await store.insert(FRA, SHIPPER), FAILED)
        row = await store.record(row, RUNNING)
        assert row.progress == RUNNING
        assert (await seen(store, row)).progress == RUNNING

    async def test_the_same_progress_is_no_write(self, store: WorkloadStore) -> None:
        row = await store.record(await store.insert(FRA, SHIPPER), RUNNING)
        assert await store.record(row, RUNNING) == row

    async def test_a_stale_row_is_not_written(self, store: WorkloadStore) -> None:
        stale = await store.insert(FRA, SHIPPER)
        row = await store.record(stale, RUNNING)
        for progress in (FAILED, RUNNING):
            with pytest.raises(StoreConflictError):
                await store.record(stale, progress)
        with pytest.raises(StoreConflictError):
            await store.update(stale, wish(service("shipper", replicas=3)))
        assert await seen(store, row) == row

    async def test_a_retiring_row_stays_until_it_is_removed(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        await store.retire(row)
        going = await seen(store, row)
        assert (going.id, going.desired, going.retiring) == (row.id, SHIPPER, True)
        with pytest.raises(StoreConflictError):
            await store.insert(FRA, SHIPPER)
        await store.remove(going)
        assert await names(store) == []
        assert await store.get(row.id) is None

    async def test_a_retire_does_not_mind_what_changed(self, store: WorkloadStore) -> None:
        stale = await store.insert(FRA, SHIPPER)
        await store.record(stale, RUNNING)
        await store.retire(stale)
        assert (await seen(store, stale)).retiring

    async def test_retiring_twice_is_no_news(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        await store.retire(row)
        once = await seen(store, row)
        await store.retire(row)
        await store.retire(once)
        assert await seen(store, row) == once

    async def test_a_retiring_row_can_be_recorded(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        await store.retire(row)
        known = ServiceProgress("Retiring", attempts=2, failure=Failure("Unavailable", "busy", NOW))
        after = await store.record(await seen(store, row), known)
        assert (after.progress, after.retiring) == (known, True)

    async def test_a_wanted_row_is_not_removed(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        with pytest.raises(StoreConflictError):
            await store.remove(row)
        assert await names(store) == ["shipper"]

    async def test_a_stale_row_is_not_removed(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        await store.retire(row)
        going = await seen(store, row)
        await store.record(going, RUNNING)
        with pytest.raises(StoreConflictError):
            await store.remove(going)
        assert await names(store) == ["shipper"]

    async def test_removing_twice_is_no_news(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        await store.retire(row)
        going = await seen(store, row)
        assert await store.remove(going)
        assert not await store.remove(going)
        assert await names(store) == []

    async def test_a_row_that_is_gone_is_not_written(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        await store.retire(row)
        await store.remove(await seen(store, row))
        with pytest.raises(StoreConflictError):
            await store.record(row, RUNNING)
        with pytest.raises(StoreConflictError):
            await store.update(row, SHIPPER)

    async def test_a_successor_is_another_row(self, store: WorkloadStore) -> None:
        row = await store.insert(FRA, SHIPPER)
        await store.retire(row)
        going = await seen(store, row)
        await store.remove(going)
        heir = await store.insert(FRA, SHIPPER)
        assert heir.id != row.id
        with pytest.raises(StoreConflictError):
            await store.record(row, RUNNING)
        with pytest.raises(StoreConflictError):
            await store.retire(row)
        await store.remove(going)
        assert await store.list_by_datacenter(FRA) == (heir,)
