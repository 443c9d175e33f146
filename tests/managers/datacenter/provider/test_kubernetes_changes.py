"""managers.datacenter.provider.kubernetes: what cannot change in place, and news of vaults."""

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
    events_sent,
    refusal_of,
    shipper,
    with_volume,
)


class TestAnew:
    """What cannot be changed in place."""

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
    async def test_pods_and_volumes_of_a_set_are_left_behind(self, record: ServiceRecord) -> None:
        bench = Bench()
        await bench.bring(with_volume())
        bench.controllers()
        before = bench.live(STATEFUL_SET, NAME) or {}
        bench.server.requests.clear()
        await bench.provision(record)
        live = bench.live(STATEFUL_SET, NAME) or {}
        if record.desired.service.volume_policy == "Delete":
            assert bench.names_of == [f"PATCH statefulsets {NAME}"]
            return
        assert bench.names_of == [f"DELETE statefulsets {NAME}"]
        assert live["metadata"]["finalizers"] == ["orphan"]
        assert (await bench.observe(record)).digest == ""
        # Until the garbage collector has let its pods go, there is nothing to do.
        await bench.provision(record)
        assert bench.names_of == []
        bench.controllers()
        await bench.provision(record)
        after = bench.live(STATEFUL_SET, NAME) or {}
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert (await bench.observe(record)).digest == record.desired.digest

    async def test_volumes_that_would_go_with_the_set_are_kept_first(self) -> None:
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
        # Its controller has to take the volumes' owner off.
        await bench.provision(record)
        assert bench.names_of == [f"PATCH statefulsets {NAME}"]
        bench.controllers()
        await bench.provision(record)
        assert bench.names_of == [f"DELETE statefulsets {NAME}"]
        await bench.bring(record)
        went = {"whenDeleted": "Delete", "whenScaled": "Retain"}
        assert (bench.live(STATEFUL_SET, NAME) or {})["spec"][policy] == went

    @pytest.mark.parametrize("volume_policy", ["Retain", "Delete"])
    async def test_another_kind_takes_over_and_volumes_stay(self, volume_policy: str) -> None:
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
        # A Service never changes between a name per pod and one address.
        assert "clusterIP" not in (bench.live(SERVICE, NAME) or {})["spec"]
        await bench.bring(with_volume())
        assert f"Deployment {NAME}" not in bench.names()
        assert (bench.live(SERVICE, NAME) or {})["spec"]["clusterIP"] == "None"

    async def test_a_vault_stays_a_vault(self) -> None:
        bench = Bench()
        await bench.bring(cluster())
        record = bodies.record(bodies.desired_service(bodies.service("vault")))
        bench.server.requests.clear()
        assert await refusal_of(bench, record) == ("KindImmutable", True)
        assert bench.names_of == []
        assert bench.names() == ["OpenBaoCluster fra1-vault"]

    async def test_a_vault_that_goes_makes_room(self) -> None:
        bench = Bench()
        await bench.bring(cluster())
        bench.edit(CLUSTERS, "fra1-vault", HELD)
        bench.server.remove(CLUSTERS, ObjectKey(NAMESPACE, "fra1-vault"))
        await bench.bring(bodies.record(bodies.desired_service(bodies.service("vault"))))
        assert bench.names() == ["Deployment fra1-vault"]


class TestVaults:
    async def test_a_vault_that_is_only_not_ready_is_still_told_of(self) -> None:
        bench = Bench()
        await bench.bring(cluster())
        await bench.bring(events_sent(), VAULT)
        bench.server.requests.clear()
        await bench.provision(events_sent())
        assert bench.names_of == []
        assert (bench.live(CONFIG_MAP, OPENBAO) or {})["data"]["BAO_ADDR"] == VAULT.address

    async def test_one_that_is_well_says_where_it_is(self) -> None:
        bench, record = Bench(), cluster()
        await bench.bring(record)
        assert (await bench.observe(record)).vault is None
        healthy = [{"type": kind, "status": "True"} for kind in ("Ready", "Available")]
        bench.says(CLUSTERS, "fra1-vault", readyReplicas=3, conditions=healthy)
        observation = await bench.observe(record)
        assert observation.vault == Vault("vault", VAULT.address, "fra1-vault-tls-ca")
        assert (observation.ready, observation.desired) == (3, 3)
        assert observation.service_refs == (("vault", "OpenBaoCluster dc-fra1/fra1-vault"),)
