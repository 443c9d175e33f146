"""A whole process that manages datacenters, with an API server in memory: events, no timers."""

from __future__ import annotations

from prometheus_client import generate_latest

from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from runtime.builtin_kinds import DAEMON_SET, DEPLOYMENT
from tests.baoctl.datacenter_world import World, play
from tests.managers.datacenter.kubernetes_bench import NAMESPACE, body, datacenter, service_set

SHIPPER_BODY, DNS = body("shipper"), body("dns", kind="DaemonSet")
SHOP = body("shop", dependsOn=["dns"])


def test_all_changes_are_processed_by_events_without_a_timer() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            await world.soon()
            world.put(DATACENTERS, datacenter(SHIPPER_BODY))
            await world.soon()
            assert world.states == {"fra1.shipper": "Provisioning"}
            world.put(SERVICE_SETS, service_set("net", DNS, SHOP))
            await world.soon()
            assert world.states == {
                "fra1.dns": "Provisioning",
                "fra1.shipper": "Provisioning",
                "fra1.shop": "Pending",
            }
            # The waiting service is reconciled when its dependency runs.
            await world.well()
            assert world.states == {
                "fra1.dns": "Running",
                "fra1.shipper": "Running",
                "fra1.shop": "Provisioning",
            }
            await world.well()
            assert world.ready() == ("True", "AllRunning")
            # Pods that end or start are observed immediately.
            world.says(DEPLOYMENT, "fra1-shipper", replicas=1, updatedReplicas=1)
            await world.soon()
            assert world.states["fra1.shipper"] == "Provisioning"
            assert world.ready() == ("False", "ServicesNotRunning")
            await world.well()
            assert world.ready() == ("True", "AllRunning")

    play(main)


def test_a_service_set_is_applied_to_every_datacenter_immediately() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            for name in ("ams1", "fra1", "lon1"):
                world.put(DATACENTERS, datacenter(name=name, namespace=NAMESPACE))
            await world.soon()
            world.put(SERVICE_SETS, service_set("net", DNS))
            await world.soon()
            assert set(world.states) == {"ams1.dns", "fra1.dns", "lon1.dns"}
            world.put(SERVICE_SETS, service_set("net", DNS, labels={"tier": "core"}))
            await world.soon()
            assert set(world.states.values()) == {"Retiring"}
            world.delete(SERVICE_SETS, "net")
            for _ in range(3):
                await world.well()
            assert world.states == {}

    play(main)


def test_a_state_change_reaches_the_workloads_immediately() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            world.put(DATACENTERS, datacenter(SHIPPER_BODY))
            await world.soon()
            await world.well()
            world.edit(state="Offline")
            await world.soon()
            row = world.live(WORKLOADS, "fra1.shipper")["status"]
            assert row["conditions"][0]["status"] == "Unknown"
            assert world.ready() == ("Unknown", "Offline")
            world.edit(state="Active")
            await world.soon()
            assert world.ready() == ("True", "AllRunning")

    play(main)


def test_a_deleted_datacenter_leaves_no_objects() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            world.put(DATACENTERS, datacenter(SHIPPER_BODY, DNS, SHOP))
            for _ in range(3):
                await world.well()
            assert world.ready() == ("True", "AllRunning")
            world.delete(DATACENTERS, "fra1")
            for _ in range(5):
                await world.well()
            assert world.names(DATACENTERS, WORKLOADS, DEPLOYMENT, DAEMON_SET) == []
            assert world.reported == sorted(
                f"BootstrapWorkload fra1.{name} {reason}"
                for name in ("dns", "shipper", "shop")
                for reason in ("Started", "Succeeded", "Retired")
            )

    play(main)


def test_an_idle_hour_costs_no_requests() -> None:
    async def main(world: World) -> None:
        world.put(DATACENTERS, datacenter(SHIPPER_BODY, DNS, SHOP))
        async with world.operator() as first:
            for _ in range(4):
                await world.well()
            assert world.ready() == ("True", "AllRunning")
            before = world.reported
            world.wire.requests.clear()
            await world.rest(3600.0)
            assert world.requests == []
            text = generate_latest(first.metrics.registry).decode()
            assert 'openbao_datacenter_services{state="Running"} 3.0' in text
            assert 'openbao_datacenter_ready{name="fra1"} 1.0' in text
        async with world.operator(seed=2):
            await world.rest(900.0)
            assert world.writes == []
        # A new process sends no events, either.
        assert world.reported == before

    play(main)


def test_two_active_processes_do_not_overwrite_each_other() -> None:
    """A lease keeps one of them from writing; here both do."""

    async def main(world: World) -> None:
        async with world.operator(seed=1), world.operator(seed=2):
            world.put(DATACENTERS, datacenter(SHIPPER_BODY, DNS, SHOP))
            for _ in range(6):
                await world.well()
            assert world.ready() == ("True", "AllRunning")
            world.edit(bootstrapServices=[body("shipper", replicas=2), DNS])
            for _ in range(6):
                await world.well()
            assert world.ready() == ("True", "AllRunning")
            assert world.states == {"fra1.dns": "Running", "fra1.shipper": "Running"}
            assert len(world.writes) < 120
            await world.rest(3600.0)
            assert world.writes == []

    play(main)
