"""managers.datacenter.provider.kubernetes: recreations, and changes of vaults."""

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter.workload_records import ServiceRecord, Vault
from runtime.builtin_kinds import CONFIG_MAP, SERVICE, STATEFUL_SET
from runtime.types import Object, ObjectKey, Resource
from tests.managers.datacenter import bodies
from tests.managers.datacenter.provider_bench import (
    HELD,
    NAME,
    NAMESPACE,
    OPENBAO,
    SPOOL,
    VAULT,
    Bench,
    cluster,
    refusal_of,
    shipper,
    vault_client,
    with_volume,
)


class TestRecreation:
    """Changes of immutable fields."""

    @pytest.mark.parametrize(
        "record",
        [
            with_volume(volume_policy="Delete"),
            shipper(kind="StatefulSet", part={"volumes": ({**SPOOL, "size": "2Gi"},)}),
            shipper(kind="StatefulSet"),
            shipper(
                kind="StatefulSet", part={"volumes": ({**SPOOL, "storage_class_name": "fast"},)}
            ),
        ],
        ids=["policy", "size", "no volume", "class"],
    )
    async def test_a_recreated_stateful_set_keeps_its_pods_and_volumes(
        self, record: ServiceRecord
    ) -> None:
        bench = Bench()
        await bench.bring(with_volume())
        bench.controllers()
        before = bench.live(STATEFUL_SET, NAME) or {}
        bench.server.requests.clear()
        await bench.provision(record)
        live = bench.live(STATEFUL_SET, NAME) or {}
        if record.desired.service.volume_policy == "Delete":
            assert bench.take_requests() == [f"PATCH statefulsets {NAME}"]
            return
        assert bench.take_requests() == [f"DELETE statefulsets {NAME}"]
        assert live["metadata"]["finalizers"] == ["orphan"]
        assert (await bench.observe(record)).digest == ""
        # Until the garbage collector has orphaned the pods, there is nothing to do.
        await bench.provision(record)
        assert bench.take_requests() == []
        bench.controllers()
        await bench.provision(record)
        after = bench.live(STATEFUL_SET, NAME) or {}
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert (await bench.observe(record)).digest == record.desired.digest

    async def test_the_pvc_retention_policy_is_set_before_the_recreation(self) -> None:
        bench = Bench()
        await bench.bring(with_volume(volume_policy="Delete"))
        bench.controllers()
        part = {"volumes": ({**SPOOL, "size": "2Gi"},)}
        record = shipper(kind="StatefulSet", part=part, volume_policy="Delete")
        bench.server.requests.clear()
        await bench.provision(record)
        policy = "persistentVolumeClaimRetentionPolicy"
        kept = {"whenDeleted": "Retain", "whenScaled": "Retain"}
        assert (bench.live(STATEFUL_SET, NAME) or {})["spec"][policy] == kept
        # Its controller must remove the owner of the volumes.
        await bench.provision(record)
        assert bench.take_requests() == [f"PATCH statefulsets {NAME}"]
        bench.controllers()
        await bench.provision(record)
        assert bench.take_requests() == [f"DELETE statefulsets {NAME}"]
        await bench.bring(record)
        went = {"whenDeleted": "Delete", "whenScaled": "Retain"}
        assert (bench.live(STATEFUL_SET, NAME) or {})["spec"][policy] == went

    @pytest.mark.parametrize("volume_policy", ["Retain", "Delete"])
    async def test_a_changed_kind_keeps_the_volumes(self, volume_policy: str) -> None:
        bench = Bench()
        await bench.bring(with_volume(volume_policy=volume_policy))
        seen: list[Object] = []
        drop = bench.server.storage.drop

        def watched(resource: Resource, key: ObjectKey, last: Object) -> Object:
            if resource == STATEFUL_SET:
                seen.append(last["spec"]["persistentVolumeClaimRetentionPolicy"])
            return drop(resource, key, last)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bench.server.storage, "drop", watched)
            await bench.bring(shipper())
        assert [policy["whenDeleted"] for policy in seen] == ["Retain"]
        assert f"Deployment {NAME}" in bench.names()
        assert f"StatefulSet {NAME}" not in bench.names()
        # A Service never changes between headless and ClusterIP.
        assert "clusterIP" not in (bench.live(SERVICE, NAME) or {})["spec"]
        await bench.bring(with_volume())
        assert f"Deployment {NAME}" not in bench.names()
        assert (bench.live(SERVICE, NAME) or {})["spec"]["clusterIP"] == "None"

    async def test_a_vault_cannot_change_its_kind(self) -> None:
        bench = Bench()
        await bench.bring(cluster())
        record = bodies.record(bodies.desired_service(bodies.service("vault")))
        bench.server.requests.clear()
        assert await refusal_of(bench, record) == ("KindImmutable", True)
        assert bench.take_requests() == []
        assert bench.names() == ["OpenBaoCluster fra1-vault"]

    async def test_a_terminating_vault_is_replaced_by_a_deployment(self) -> None:
        bench = Bench()
        await bench.bring(cluster())
        bench.edit(CLUSTERS, "fra1-vault", HELD)
        bench.server.remove(CLUSTERS, ObjectKey(NAMESPACE, "fra1-vault"))
        await bench.bring(bodies.record(bodies.desired_service(bodies.service("vault"))))
        assert bench.names() == ["Deployment fra1-vault"]


class TestVaults:
    async def test_an_unready_vault_stays_in_the_config_map(self) -> None:
        bench = Bench()
        await bench.bring(cluster())
        await bench.bring(vault_client(), VAULT)
        bench.server.requests.clear()
        await bench.provision(vault_client())
        assert bench.take_requests() == []
        assert (bench.live(CONFIG_MAP, OPENBAO) or {})["data"]["BAO_ADDR"] == VAULT.address

    async def test_a_ready_vault_has_an_address(self) -> None:
        bench, record = Bench(), cluster()
        await bench.bring(record)
        assert (await bench.observe(record)).vault is None
        healthy = [{"type": kind, "status": "True"} for kind in ("Ready", "Available")]
        bench.says(CLUSTERS, "fra1-vault", readyReplicas=3, conditions=healthy)
        observation = await bench.observe(record)
        assert observation.vault == Vault("vault", VAULT.address, "fra1-vault-tls-ca")
        assert (observation.ready, observation.desired) == (3, 3)
        assert observation.service_refs == (("vault", "OpenBaoCluster dc-fra1/fra1-vault"),)
