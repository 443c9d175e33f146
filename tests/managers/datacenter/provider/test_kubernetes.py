"""managers.datacenter.provider.kubernetes: the requests to the API server, and their result."""

import pytest

from contracts.datacenter.workload_records import ServiceRecord
from managers.datacenter.interfaces import ProviderError
from managers.datacenter.provider.kubernetes import IMMUTABLE
from runtime.builtin_kinds import DEPLOYMENT, SERVICE, STATEFUL_SET
from runtime.builtin_kinds import NAMESPACE as NAMESPACES
from runtime.errors import LeaseLost
from runtime.testing.api_server.faults import Fault, FaultKind
from runtime.types import Object, ObjectKey, Resource
from tests.managers.datacenter.provider_bench import (
    FILES,
    HELD,
    LATER,
    NAME,
    NAMESPACE,
    OPENBAO,
    VAULT,
    Always,
    Bench,
    Nth,
    cluster,
    refusal_of,
    refusing,
    shipper,
    vault_client,
    with_volume,
)

DEPLOYMENTS, SERVICES = f"PATCH deployments {NAME}", f"PATCH services {NAME}"
CONFIG_MAPS = f"PATCH configmaps {FILES}"
OTHER_FILE = {"path": "/etc/shipper.conf", "content": "flush 6"}


def owner_of(live: Object | None) -> Object:
    assert live is not None
    (owner,) = live["metadata"]["ownerReferences"]
    return dict(owner)


class TestProvision:
    async def test_the_workload_is_created_last(self) -> None:
        bench = Bench()
        await bench.provision(vault_client(), VAULT)
        assert [word for word in bench.take_requests() if word.startswith("PATCH")] == [
            f"PATCH configmaps {FILES}",
            f"PATCH configmaps {OPENBAO}",
            f"PATCH services {NAME}",
            f"PATCH deployments {NAME}",
        ]
        assert owner_of(bench.live(DEPLOYMENT, NAME)) == {
            "apiVersion": "openbao.org/v1alpha1",
            "kind": "BootstrapWorkload",
            "name": "fra1.shipper",
            "uid": "record-fra1-shipper",
            "controller": True,
            "blockOwnerDeletion": True,
        }

    @pytest.mark.parametrize(
        "record",
        [vault_client(), with_volume(), shipper(kind="DaemonSet"), cluster()],
        ids=lambda record: record.desired.service.kind,
    )
    @pytest.mark.parametrize("restarted", [False, True])
    async def test_a_second_provision_sends_no_writes(
        self, record: ServiceRecord, restarted: bool
    ) -> None:
        bench = Bench()
        await bench.provision(record, VAULT)
        if restarted:
            bench.restart()
        assert bench.take_requests()
        for _ in range(3):
            await bench.provision(record, VAULT)
            assert (await bench.observe(record)).digest == record.desired.digest
        assert bench.take_requests() == []

    @pytest.mark.parametrize(
        ("record", "then", "calls"),
        [
            (shipper(), shipper(replicas=3), [DEPLOYMENTS]),
            (shipper(), shipper(labels={"team": "b"}), [CONFIG_MAPS, SERVICES, DEPLOYMENTS]),
            (shipper(), shipper(redeploy="again"), [DEPLOYMENTS]),
            (shipper(), shipper(part={"config_files": (OTHER_FILE,)}), [CONFIG_MAPS, DEPLOYMENTS]),
            (with_volume(), with_volume(replicas=3), [f"PATCH statefulsets {NAME}"]),
            (
                shipper(kind="DaemonSet"),
                shipper(kind="DaemonSet", redeploy="again"),
                [f"PATCH daemonsets {NAME}"],
            ),
            (cluster(), cluster(replicas=5), ["PATCH openbaoclusters fra1-vault"]),
        ],
        ids=["replicas", "labels", "redeploy", "files", "StatefulSet", "DaemonSet", "vault"],
    )
    async def test_a_change_is_made_in_place(
        self, record: ServiceRecord, then: ServiceRecord, calls: list[str]
    ) -> None:
        bench = Bench()
        await bench.provision(record)
        before = bench.uids()
        bench.server.requests.clear()
        assert (await bench.observe(then)).digest not in ("", then.desired.digest)
        await bench.provision(then)
        assert bench.take_requests() == calls
        assert bench.uids() == before
        assert (await bench.observe(then)).digest == then.desired.digest

    async def test_a_foreign_change_is_detected_and_reverted(self) -> None:
        bench, record = Bench(), shipper(replicas=2)
        await bench.provision(record)

        def scaled(live: Object) -> Object:
            return {**live, "spec": {**live["spec"], "replicas": 7}}

        bench.edit(DEPLOYMENT, NAME, scaled)
        bench.server.requests.clear()
        assert (await bench.observe(record)).digest == ""
        assert bench.take_requests() == []
        await bench.provision(record)
        assert bench.take_requests() == [f"PATCH deployments {NAME}"]
        assert (bench.live(DEPLOYMENT, NAME) or {})["spec"]["replicas"] == 2
        assert (await bench.observe(record)).digest == record.desired.digest

    async def test_a_value_that_the_server_normalizes_is_sent_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench, record = Bench(), shipper()
        storage, put = bench.server.storage, bench.server.storage.put

        def other_form(resource: Resource, key: ObjectKey, obj: Object) -> Object:
            if resource == DEPLOYMENT:
                obj = {**obj, "spec": {**obj["spec"], "revisionHistoryLimit": 4}}
            return put(resource, key, obj)

        monkeypatch.setattr(storage, "put", other_form)
        await bench.provision(record)
        assert bench.take_requests()
        assert (await bench.observe(record)).digest == record.desired.digest
        await bench.provision(record)
        assert bench.take_requests() == []

    async def test_objects_outside_the_spec_are_deleted(self) -> None:
        bench = Bench()
        await bench.provision(vault_client(), VAULT)
        record = shipper(part={"ports": (), "config_files": ()})
        await bench.provision(record)
        assert bench.names() == [f"Deployment {NAME}"]
        observation = await bench.observe(record)
        assert (observation.digest, observation.healthy) == (record.desired.digest, False)
        bench.says(
            DEPLOYMENT, NAME, replicas=1, updatedReplicas=1, readyReplicas=1, availableReplicas=1
        )
        observation = await bench.observe(record)
        assert (observation.healthy, observation.message, observation.vault) == (True, "", None)


class TestRefusals:
    @pytest.mark.parametrize(
        ("fault", "answer"),
        [
            (refusing(403, "Forbidden"), ("Forbidden", True)),
            (refusing(403, "Forbidden", "exceeded quota: x"), ("QuotaExceeded", False)),
            (refusing(422, "Invalid"), ("Rejected", True)),
            (refusing(400, "BadRequest"), ("Rejected", True)),
            (refusing(415, "UnsupportedMediaType"), ("Rejected", True)),
            (refusing(401, "Unauthorized"), ("Unavailable", False)),
            (refusing(404, "NotFound"), ("NamespaceNotFound", False)),
            (refusing(409, "Conflict"), ("Unavailable", False)),
            (refusing(409, "AlreadyExists"), ("Unavailable", False)),
            (refusing(503, "ServiceUnavailable"), ("Unavailable", False)),
            (Fault(FaultKind.TOO_MANY, LATER), ("Unavailable", False)),
            (Fault(FaultKind.INTERNAL), ("Unavailable", False)),
            (Fault(FaultKind.LOST_REPLY), ("Unavailable", False)),
            (Fault(FaultKind.REFUSED), ("Unavailable", False)),
        ],
    )
    async def test_the_reason_of_an_error_response(
        self, fault: Fault, answer: tuple[str, bool]
    ) -> None:
        bench = Bench()
        bench.wire.faults = Always("PATCH", fault)
        assert await refusal_of(bench, shipper()) == answer

    async def test_a_terminating_namespace_is_reported(self) -> None:
        bench = Bench()
        bench.server.put(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        bench.server.remove(NAMESPACES, ObjectKey("", NAMESPACE))
        assert await refusal_of(bench, shipper()) == ("Terminating", False)

    async def test_an_object_of_another_owner_is_not_changed(self) -> None:
        bench = Bench()
        theirs = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": {"replicas": 9}}
        bench.server.put(DEPLOYMENT, theirs)
        with pytest.raises(ProviderError, match="belongs to an unknown owner") as raised:
            await bench.provision(shipper())
        assert (raised.value.reason, raised.value.terminal) == ("Foreign", True)
        assert (bench.live(DEPLOYMENT, NAME) or {})["spec"] == {"replicas": 9}

    async def test_a_terminating_object_is_waited_for(self) -> None:
        bench, record = Bench(), shipper()
        await bench.provision(record)
        bench.edit(SERVICE, NAME, HELD)
        bench.server.remove(SERVICE, ObjectKey(NAMESPACE, NAME))
        assert await refusal_of(bench, record) == ("Terminating", False)
        assert (await bench.observe(record)).digest == ""

    async def test_a_lost_lease_is_raised(self) -> None:
        def guard() -> None:
            raise LeaseLost("the lease ran out")

        bench = Bench(guard)
        with pytest.raises(LeaseLost):
            await bench.provision(shipper())
        assert bench.names() == []

    async def test_an_unexpected_immutable_field_recreates_the_stateful_set(self) -> None:
        bench = Bench()
        await bench.bring(with_volume())
        bench.controllers()
        told_so = f"StatefulSet is invalid: spec: Forbidden: {IMMUTABLE} 'replicas'"
        bench.wire.faults = Nth(
            lambda call: "statefulsets" in call.path, 1, refusing(422, "Invalid", told_so)
        )
        bench.server.requests.clear()
        record = with_volume(replicas=2)
        await bench.provision(record)
        assert bench.take_requests()[-1] == f"DELETE statefulsets {NAME}"
        live = bench.live(STATEFUL_SET, NAME) or {}
        assert live["metadata"]["finalizers"] == ["orphan"]
        await bench.bring(record)
        assert (bench.live(STATEFUL_SET, NAME) or {})["spec"]["replicas"] == 2
