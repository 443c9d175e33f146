"""managers.datacenter.provider.kubernetes: deletions, and calls that fail at every step."""

from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter import names
from contracts.datacenter.workload_records import ServiceRecord
from contracts.naming import labels
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import CONFIG_MAP, DEPLOYMENT, SERVICE, STATEFUL_SET
from runtime.testing.api_server.faults import Fault, FaultKind
from runtime.types import Object, ObjectKey, Resource
from tests.managers.datacenter.provider_bench import (
    FILES,
    HELD,
    LATER,
    NAME,
    NAMESPACE,
    SPOOL,
    VAULT,
    Bench,
    Nth,
    cluster,
    every,
    refusing,
    shipper,
    vault_client,
    with_metadata,
    with_volume,
    writes,
)

RECORDS: dict[str, tuple[ServiceRecord, ...]] = {
    "made": (vault_client(),),
    "made with volumes": (with_volume(),),
    "a vault": (cluster(),),
    "changed": (vault_client(), shipper(replicas=2, labels={"team": "b"})),
    "another kind": (with_volume(volume_policy="Delete"), shipper(kind="DaemonSet")),
    "a headless Service": (shipper(), with_volume()),
    "a larger volume": (
        with_volume(),
        shipper(kind="StatefulSet", part={"volumes": ({**SPOOL, "size": "2Gi"},)}),
    ),
}
FAULTS = {
    "500": Fault(FaultKind.INTERNAL),
    "409": refusing(409, "Conflict"),
    "exists": refusing(409, "AlreadyExists"),
    "429": Fault(FaultKind.TOO_MANY, LATER),
    "lost": Fault(FaultKind.LOST_REPLY),
    "refused": Fault(FaultKind.REFUSED),
}
BY_FAULT = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
BY_RECORDS = pytest.mark.parametrize("records", RECORDS.values(), ids=RECORDS)
CALLS_MAX = 60


async def bench_with(*records: ServiceRecord) -> Bench:
    """A bench on which each record was provisioned in turn."""
    bench = Bench()
    for record in records:
        await bench.bring(record, VAULT)
    bench.server.requests.clear()
    return bench


class TestCrashes:
    @BY_FAULT
    @BY_RECORDS
    async def test_a_crash_after_any_write_does_not_change_the_result(
        self, records: tuple[ServiceRecord, ...], fault: Fault
    ) -> None:
        *before, last = records
        expected = (await bench_with(*records)).state()
        for number in range(1, CALLS_MAX):
            bench = await bench_with(*before)
            spoiled = bench.wire.faults = Nth(writes, number, fault)
            await bench.until(last, spoiled.struck, VAULT)
            # The process ends here, and another one takes over.
            bench.restart()
            await bench.bring(last, VAULT)
            assert bench.state() == expected, number
            if not spoiled.struck():
                assert number > 1
                return
        raise AssertionError("too many writes")

    @BY_FAULT
    @pytest.mark.parametrize("policy", ["Delete", "Orphan"])
    async def test_each_call_of_a_deletion_may_fail(self, policy: str, fault: Fault) -> None:
        record = vault_client(deletion_policy=policy)
        whole = await bench_with(record)
        await whole.retire(record)
        for number in range(1, CALLS_MAX):
            bench = await bench_with(record)
            spoiled = bench.wire.faults = Nth(every, number, fault)
            await bench.retire(record)
            assert bench.state() == whole.state(), number
            if not spoiled.struck():
                assert number > 8
                return
        raise AssertionError("too many calls")


class TestRetiring:
    async def test_the_workload_is_deleted_before_the_other_objects(self) -> None:
        record = shipper()
        bench = await bench_with(record)
        assert await bench.provider.deprovision(record) is False
        assert bench.take_requests() == [f"DELETE deployments {NAME}"]
        live = bench.live(DEPLOYMENT, NAME) or {}
        assert live["metadata"]["finalizers"] == ["foregroundDeletion"]
        bench.sync()
        assert await bench.provider.deprovision(record) is False
        assert bench.take_requests() == []
        bench.controllers()
        bench.sync()
        assert await bench.provider.deprovision(record) is False
        assert bench.take_requests() == [f"DELETE services {NAME}", f"DELETE configmaps {FILES}"]
        # The caches are not current yet.
        assert await bench.provider.deprovision(record) is False
        bench.sync()
        bench.server.requests.clear()
        assert await bench.provider.deprovision(record) is True
        assert bench.take_requests() == [
            f"GET openbaoclusters {NAME}",
            f"GET daemonsets {NAME}",
            f"GET statefulsets {NAME}",
            f"GET deployments {NAME}",
            f"GET services {NAME}",
            f"GET configmaps {NAME}-openbao",
            f"GET configmaps {FILES}",
        ]
        assert bench.names() == []

    async def test_objects_missing_in_the_caches_are_deleted_too(self) -> None:
        record = shipper()
        bench = await bench_with(record)
        for cache in bench.caches.values():
            cache.says()
        assert await bench.provider.deprovision(record) is False
        assert f"DELETE deployments {NAME}" in bench.take_requests()
        assert (bench.live(DEPLOYMENT, NAME) or {})["metadata"]["deletionTimestamp"]

    async def test_an_object_of_another_owner_is_not_deleted(self) -> None:
        record = shipper()
        bench = await bench_with(record)
        other = Owner("example.com/v1", "Other", "", "o", "uid-other").reference()
        bench.edit(SERVICE, NAME, with_metadata(ownerReferences=[other]))
        await bench.retire(record)
        assert bench.names() == [f"Service {NAME}"]

    async def test_an_object_that_another_owner_recreated_is_not_deleted(self) -> None:
        record = shipper()
        bench = await bench_with(record)
        bench.server.remove(DEPLOYMENT, ObjectKey(NAMESPACE, NAME))
        theirs = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": {"replicas": 9}}
        bench.server.put(DEPLOYMENT, theirs)
        # The caches still have the deleted object.
        assert await bench.provider.deprovision(record) is False
        assert (bench.live(DEPLOYMENT, NAME) or {})["spec"] == {"replicas": 9}
        await bench.retire(record)
        assert bench.names() == [f"Deployment {NAME}"]

    @pytest.mark.parametrize(("resource", "name"), [(DEPLOYMENT, NAME), (SERVICE, NAME)])
    async def test_an_object_that_changed_its_owner_is_not_deleted(
        self, resource: Resource, name: str
    ) -> None:
        record = shipper()
        bench = await bench_with(record)
        if resource == SERVICE:
            await bench.provider.deprovision(record)
            bench.controllers()
            bench.sync()
        bench.edit(resource, name, with_metadata(ownerReferences=[]))
        # The caches have the former state.
        assert await bench.provider.deprovision(record) is False
        live = bench.live(resource, name) or {}
        assert "deletionTimestamp" not in live["metadata"]

    async def test_a_vault_is_deleted_in_the_background(self) -> None:
        record = cluster()
        bench = await bench_with(record)
        bench.edit(CLUSTERS, "fra1-vault", HELD)
        bench.sync()
        assert await bench.provider.deprovision(record) is False
        live = bench.live(CLUSTERS, "fra1-vault") or {}
        # A foreground deletion would delete its keys and volumes before it could retain them.
        assert live["metadata"]["finalizers"] == ["example.com/x"]
        bench.sync()
        bench.server.requests.clear()
        assert await bench.provider.deprovision(record) is False
        assert bench.take_requests() == []
        await bench.retire(record)
        assert bench.names() == []

    @pytest.mark.parametrize(
        ("before", "after"), [("Delete", "Retain"), ("Retain", "Delete"), ("Delete", "Delete")]
    )
    async def test_the_last_volume_policy_applies(self, before: str, after: str) -> None:
        bench = await bench_with(with_volume(volume_policy=before))
        record = with_volume(volume_policy=after)
        seen: list[Any] = []
        drop = bench.server.storage.drop

        def watched(resource: Any, key: ObjectKey, last: Object) -> Object:
            if resource == STATEFUL_SET:
                seen.append(last["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"])
                # Its controller has observed the policy and updated the volumes.
                generation = last["status"]["observedGeneration"]
                assert generation >= last["metadata"]["generation"] - 1
            return drop(resource, key, last)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bench.server.storage, "drop", watched)
            await bench.retire(record)
        assert seen == [after]
        assert bench.names() == []

    async def test_an_orphaned_object_loses_our_owner_and_labels(self) -> None:
        record = vault_client(deletion_policy="Orphan", labels={"team": "a"})
        bench = await bench_with(record)
        before = bench.names()
        await bench.retire(record)
        assert bench.names() == before
        assert not [word for word in bench.take_requests() if word.startswith("DELETE")]
        live = bench.live(DEPLOYMENT, NAME) or {}
        assert live["metadata"]["ownerReferences"] == []
        assert live["metadata"]["annotations"] == {}
        users = {"team": "a", labels.NAME: "shipper", labels.INSTANCE: "fra1"}
        assert live["metadata"]["labels"] == users
        # Its pods are selected by these labels, and keep running.
        selector = live["spec"]["selector"]["matchLabels"]
        assert selector == names.selector_labels("fra1", "shipper")
        assert (bench.live(CONFIG_MAP, FILES) or {})["metadata"]["ownerReferences"] == []

    async def test_an_orphaned_object_keeps_its_other_owners(self) -> None:
        record = shipper(deletion_policy="Orphan")
        bench = await bench_with(record)
        other = Owner("example.com/v1", "Other", "", "o", "uid-other").reference()
        other = {**other, "controller": False}
        owners = (bench.live(DEPLOYMENT, NAME) or {})["metadata"]["ownerReferences"]
        bench.edit(DEPLOYMENT, NAME, with_metadata(ownerReferences=[other, *owners]))
        await bench.retire(record)
        live = bench.live(DEPLOYMENT, NAME) or {}
        assert live["metadata"]["ownerReferences"] == [other]
