"""Both stores fulfill the contract, and tests of each store."""

import copy
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from contracts.datacenter.kinds import WORKLOADS
from contracts.datacenter.workload_records import ServiceProgress, ServiceRecord
from managers.datacenter.interfaces import StoreConflictError
from managers.datacenter.store.kubernetes import KubernetesStore
from runtime.errors import LeaseLost
from tests.managers.datacenter.bodies import desired_service, service
from tests.managers.datacenter.memory_store import MemoryStore
from tests.managers.datacenter.store_contract import FAILED, FRA, RUNNING, SHIPPER, StoreContract
from tests.managers.datacenter.stores_bench import KEY, Cluster


class TestMemory(StoreContract):
    """Records in memory."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()

    async def test_labels_of_a_caller_are_copied(self, store: MemoryStore) -> None:
        labels = {"tier": "edge"}
        record = await store.insert(replace(FRA, labels=labels), SHIPPER)
        labels["tier"] = "core"
        live = await store.get(record.id)
        assert live is not None
        assert live.datacenter.labels == {"tier": "edge"}


class TestKubernetes(StoreContract):
    """Records as BootstrapWorkloads."""

    @pytest.fixture
    def store(self) -> KubernetesStore:
        return Cluster().store


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


async def test_a_record_is_an_object_that_its_datacenter_owns(cluster: Cluster) -> None:
    record = await cluster.store.insert(FRA, SHIPPER)
    metadata = cluster.live["metadata"]
    assert record.id == metadata["uid"]
    assert metadata["finalizers"] == ["openbao.org/bootstrapworkload-finalizer"]
    assert metadata["labels"] == {
        "app.kubernetes.io/managed-by": "openbao-operator",
        "openbao.org/system": "true",
        "openbao.org/datacenter": "fra1",
        "openbao.org/bootstrap": "shipper",
    }
    (owner,) = metadata["ownerReferences"]
    identity = [owner[field] for field in ("kind", "name", "uid", "controller")]
    assert identity == ["Datacenter", "fra1", "uid-fra1", True]


async def test_the_status_is_applied_with_its_own_field_manager(cluster: Cluster) -> None:
    record = await cluster.store.record(await cluster.store.insert(FRA, SHIPPER), RUNNING)
    call = cluster.writes[-1]
    assert (call.method, call.path.rpartition("/")[2]) == ("PATCH", "status")
    assert call.query is not None
    assert call.query["fieldManager"] == "openbao-operator-datacenter"
    status = cluster.live["status"]
    assert status["state"] == "Running"
    assert [(condition["type"], condition["status"]) for condition in status["conditions"]] == [
        ("Ready", "True"),
        ("Stalled", "False"),
    ]
    record = await cluster.store.update(record, replace(SHIPPER, redeploy="again-1"))
    await cluster.store.record(record, RUNNING)
    assert cluster.live["metadata"]["generation"] == 2
    assert cluster.live["status"]["observedGeneration"] == 2


async def test_an_unchanged_record_costs_no_request(cluster: Cluster) -> None:
    record = await cluster.store.record(await cluster.store.insert(FRA, SHIPPER), RUNNING)
    before = len(cluster.server.requests)
    await cluster.clock.advance(3600)
    assert await cluster.store.record(record, RUNNING) == record
    assert await cluster.store.list_by_datacenter(FRA) == (record,)
    assert await cluster.store.get(record.id) is not None
    assert len(cluster.server.requests) == before


async def test_a_write_of_another_process_is_not_overwritten(cluster: Cluster) -> None:
    await cluster.store.insert(FRA, SHIPPER)
    first, second = cluster.store, cluster.new_store()
    (mine,) = await first.list_by_datacenter(FRA)
    (theirs,) = await second.list_by_datacenter(FRA)
    await second.record(theirs, RUNNING)
    with pytest.raises(StoreConflictError):
        await first.record(mine, FAILED)
    with pytest.raises(StoreConflictError):
        await first.update(mine, desired_service(service("shipper", replicas=9)))
    assert cluster.live["status"]["state"] == "Running"


async def test_a_record_that_another_process_removed_is_a_conflict(cluster: Cluster) -> None:
    record = await cluster.store.insert(FRA, SHIPPER)
    live = copy.deepcopy(cluster.live)
    del live["metadata"]["finalizers"]
    cluster.server.put(WORKLOADS, live)
    cluster.server.remove(WORKLOADS, KEY)
    with pytest.raises(StoreConflictError):
        await cluster.store.record(record, RUNNING)
    with pytest.raises(StoreConflictError):
        await cluster.store.update(record, SHIPPER)
    await cluster.store.retire(record)


async def test_a_lost_lease_is_not_a_conflict(cluster: Cluster) -> None:
    record = await cluster.store.insert(FRA, SHIPPER)
    cluster.lost = True
    with pytest.raises(LeaseLost):
        await cluster.store.record(record, RUNNING)
    with pytest.raises(LeaseLost):
        await cluster.store.retire(record)


async def test_a_foreign_finalizer_is_kept(cluster: Cluster) -> None:
    await cluster.store.insert(FRA, SHIPPER)
    live = copy.deepcopy(cluster.live)
    live["metadata"]["finalizers"].insert(0, "example.com/audit")
    cluster.server.put(WORKLOADS, live)
    cluster.look()
    await cluster.store.retire(await cluster.record())
    await cluster.store.remove(await cluster.record())
    assert cluster.live["metadata"]["finalizers"] == ["example.com/audit"]
    assert await cluster.store.list_by_datacenter(FRA) == ()
    with pytest.raises(StoreConflictError):
        await cluster.store.insert(FRA, SHIPPER)


async def unreadable_record(cluster: Cluster) -> ServiceRecord:
    """A record whose object was made unreadable."""
    record = await cluster.store.insert(FRA, SHIPPER)
    live = copy.deepcopy(cluster.live)
    live["spec"]["service"]["services"] = "none"
    cluster.server.put(WORKLOADS, live)
    cluster.look()
    return record


async def test_an_unreadable_record_is_logged_once_and_hides_no_other(cluster: Cluster) -> None:
    await unreadable_record(cluster)
    await cluster.store.insert(FRA, desired_service(service("dns")))
    with capture_logs() as log_lines:
        for _ in range(3):
            assert [record.name for record in await cluster.store.list_by_datacenter(FRA)] == [
                "dns"
            ]
    assert [line["name"] for line in log_lines] == ["fra1.shipper"]
    assert "spec.service.services" in log_lines[0]["detail"]


async def test_an_unreadable_record_can_be_deleted(cluster: Cluster) -> None:
    record = await unreadable_record(cluster)
    await cluster.store.retire(record)
    going = await cluster.record()
    assert (going.id, going.name, going.retiring) == (record.id, "shipper", True)
    assert going.datacenter == FRA
    await cluster.store.remove(await cluster.store.record(going, ServiceProgress("Retiring")))
    assert cluster.server.get(WORKLOADS, KEY) is None
