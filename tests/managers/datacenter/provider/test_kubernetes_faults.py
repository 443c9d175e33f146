"""managers.datacenter.provider.kubernetes: taking away, and calls that fail at every moment."""

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
    events_sent,
    every,
    refusing,
    shipper,
    with_metadata,
    with_volume,
    writes,
)

RECORDS: dict[str, tuple[ServiceRecord, ...]] = {
    "made": (events_sent(),),
    "made with volumes": (with_volume(),),
    "a vault": (cluster(),),
    "changed": (events_sent(), shipper(replicas=2, labels={"team": "b"})),
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
    """A bench that was brought to each record in turn."""
    bench = Bench()
    for record in records:
        await bench.bring(record, VAULT)
    bench.server.requests.clear()
    return bench


class TestCrashes:
    @BY_FAULT
    @BY_RECORDS
    async def test_after_each_write_the_end_is_the_same(
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
        raise AssertionError("more writes than anybody makes")

    @BY_FAULT
    @pytest.mark.parametrize("policy", ["Delete", "Orphan"])
    async def test_each_call_of_taking_away_may_fail(self, policy: str, fault: Fault) -> None:
        record = events_sent(deletion_policy=policy)
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
        raise AssertionError("more calls than anybody makes")


class TestRetiring:
    async def test_what_runs_it_goes_first_and_the_rest_once_it_is_gone(self) -> None:
        record = shipper()
        bench = await bench_with(record)
        assert await bench.provider.deprovision(record) is False
        assert bench.names_of == [f"DELETE deployments {NAME}"]
        live = bench.live(DEPLOYMENT, NAME) or {}
        assert live["metadata"]["finalizers"] == ["foregroundDeletion"]
        bench.sync()
        assert await bench.provider.deprovision(record) is False
        assert bench.names_of == []
        bench.controllers()
        bench.sync()
        assert await bench.provider.deprovision(record) is False
        assert bench.names_of == [f"DELETE services {NAME}", f"DELETE configmaps {FILES}"]
        # The caches do not know yet.
        assert await bench.provider.deprovision(record) is False
        bench.sync()
        bench.server.requests.clear()
        assert await bench.provider.deprovision(record) is True
        assert bench.names_of == [
            f"GET openbaoclusters {NAME}",
            f"GET daemonsets {NAME}",
            f"GET statefulsets {NAME}",
            f"GET deployments {NAME}",
            f"GET services {NAME}",
            f"GET configmaps {NAME}-openbao",
            f"GET configmaps {FILES}",
        ]
        assert bench.names() == []

    async def test_what_the_caches_do_not_show_goes_all_the_same(self) -> None:
        record = shipper()
        bench = await bench_with(record)
        for cache in bench.caches.values():
            cache.says()
        assert await bench.provider.deprovision(record) is False
        assert f"DELETE deployments {NAME}" in bench.names_of
        assert (bench.live(DEPLOYMENT, NAME) or {})["metadata"]["deletionTimestamp"]

    async def test_what_belongs_to_others_is_left_alone(self) -> None:
        record = shipper()
        bench = await bench_with(record)
        other = Owner("example.com/v1", "Other", "", "o", "uid-other").reference()
        bench.edit(SERVICE, NAME, with_metadata(ownerReferences=[other]))
        await bench.retire(record)
        assert bench.names() == [f"Service {NAME}"]

    async def test_an_object_that_was_made_anew_by_others_is_not_deleted(self) -> None:
        record = shipper()
        bench = await bench_with(record)
        bench.server.remove(DEPLOYMENT, ObjectKey(NAMESPACE, NAME))
        theirs = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": {"replicas": 9}}
        bench.server.put(DEPLOYMENT, theirs)
        # The caches still show the one that is gone.
        assert await bench.provider.deprovision(record) is False
        assert (bench.live(DEPLOYMENT, NAME) or {})["spec"] == {"replicas": 9}
        await bench.retire(record)
        assert bench.names() == [f"Deployment {NAME}"]

    @pytest.mark.parametrize(("resource", "name"), [(DEPLOYMENT, NAME), (SERVICE, NAME)])
    async def test_what_others_took_since_it_was_looked_at_is_not_deleted(
        self, resource: Resource, name: str
    ) -> None:
        record = shipper()
        bench = await bench_with(record)
        if resource == SERVICE:
            await bench.provider.deprovision(record)
            bench.controllers()
            bench.sync()
        bench.edit(resource, name, with_metadata(ownerReferences=[]))
        # The caches show it as it was.
        assert await bench.provider.deprovision(record) is False
        live = bench.live(resource, name) or {}
        assert "deletionTimestamp" not in live["metadata"]

    async def test_a_vault_takes_its_own_objects_away(self) -> None:
        record = cluster()
        bench = await bench_with(record)
        bench.edit(CLUSTERS, "fra1-vault", HELD)
        bench.sync()
        assert await bench.provider.deprovision(record) is False
        live = bench.live(CLUSTERS, "fra1-vault") or {}
        # In the foreground its keys and volumes would go before it could keep them.
        assert live["metadata"]["finalizers"] == ["example.com/x"]
        bench.sync()
        bench.server.requests.clear()
        assert await bench.provider.deprovision(record) is False
        assert bench.names_of == []
        await bench.retire(record)
        assert bench.names() == []

    @pytest.mark.parametrize(
        ("made", "names_of"), [("Delete", "Retain"), ("Retain", "Delete"), ("Delete", "Delete")]
    )
    async def test_volumes_go_or_stay_as_is_asked_last(self, made: str, names_of: str) -> None:
        bench = await bench_with(with_volume(volume_policy=made))
        record = with_volume(volume_policy=names_of)
        seen: list[Any] = []
        drop = bench.server.storage.drop

        def watched(resource: Any, key: ObjectKey, last: Object) -> Object:
            if resource == STATEFUL_SET:
                seen.append(last["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"])
                # Its controller has seen what is asked, so the volumes know.
                generation = last["status"]["observedGeneration"]
                assert generation >= last["metadata"]["generation"] - 1
            return drop(resource, key, last)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bench.server.storage, "drop", watched)
            await bench.retire(record)
        assert seen == [names_of]
        assert bench.names() == []

    async def test_an_orphan_says_no_longer_that_it_is_ours(self) -> None:
        record = events_sent(deletion_policy="Orphan", labels={"team": "a"})
        bench = await bench_with(record)
        before = bench.names()
        await bench.retire(record)
        assert bench.names() == before
        assert not [word for word in bench.names_of if word.startswith("DELETE")]
        live = bench.live(DEPLOYMENT, NAME) or {}
        assert live["metadata"]["ownerReferences"] == []
        assert live["metadata"]["annotations"] == {}
        users = {"team": "a", labels.NAME: "shipper", labels.INSTANCE: "fra1"}
        assert live["metadata"]["labels"] == users
        # Its pods are found by these, and run on.
        selector = live["spec"]["selector"]["matchLabels"]
        assert selector == names.selector_labels("fra1", "shipper")
        assert (bench.live(CONFIG_MAP, FILES) or {})["metadata"]["ownerReferences"] == []

    async def test_an_orphan_keeps_its_other_owners(self) -> None:
        record = shipper(deletion_policy="Orphan")
        bench = await bench_with(record)
        other = Owner("example.com/v1", "Other", "", "o", "uid-other").reference()
        other = {**other, "controller": False}
        owners = (bench.live(DEPLOYMENT, NAME) or {})["metadata"]["ownerReferences"]
        bench.edit(DEPLOYMENT, NAME, with_metadata(ownerReferences=[other, *owners]))
        await bench.retire(record)
        live = bench.live(DEPLOYMENT, NAME) or {}
        assert live["metadata"]["ownerReferences"] == [other]
