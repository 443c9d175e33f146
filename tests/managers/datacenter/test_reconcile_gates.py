"""The states of a datacenter, its deletion, and two processes."""

import copy
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from runtime.builtin_kinds import CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE
from runtime.controller.finalizer import Superseded
from runtime.outcome import Done, Wait, timer_of
from runtime.types import Object, Request
from tests.managers.datacenter.kubernetes_bench import (
    NAMESPACE,
    VAULT,
    Operator,
    Server,
    body,
    datacenter,
    service_set,
)

SHIPPER, DNS = body("shipper"), body("dns", kind="DaemonSet")
READER = body("reader", dependsOn=["openbao:ready"])
_REQUEST, _RECORD = Request("", "fra1"), Request("", "fra1.shipper")
EVERYTHING = (DATACENTERS, WORKLOADS, CLUSTERS, CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE)


async def running(server: Server, operator: Operator, *services: Object, **spec: Any) -> None:
    """A running datacenter; earlier requests and events are dropped."""
    server.put(DATACENTERS, datacenter(*services, **spec))
    await operator.settle()
    assert operator.take_requests() == []
    operator.wire.namespaces.clear()
    await operator.events_sent()


# --- states -------------------------------------------------------------------------------------


async def test_in_maintenance_only_statuses_are_written(server: Server, operator: Operator) -> None:
    await running(server, operator, SHIPPER, DNS)
    server.edit(state="Maintenance", bootstrapServices=[body("shipper", replicas=2), READER])
    server.says(DEPLOYMENT, "fra1-shipper", replicas=1, updatedReplicas=1)
    for _ in range(3):
        await operator.round()
    sent = set(operator.take_requests())
    assert sent == {"PATCH datacenters/status fra1", "PATCH bootstrapworkloads/status fra1.shipper"}
    assert operator.wire.namespaces == set()
    assert server.condition() == (
        "False",
        "Maintenance",
        "spec.state is Maintenance: no service is changed (1 would be created, 1 would be updated, "
        "1 would be retired); set it to Active to continue",
    )
    # Running services are still observed.
    assert server.states == {"fra1.dns": "Running", "fra1.shipper": "Provisioning"}
    assert server.live(DATACENTERS, "fra1")["status"]["summary"] == "0/2"
    server.edit(state="Active")
    await operator.settle()
    assert server.states == {"fra1.reader": "Pending", "fra1.shipper": "Running"}
    assert server.live(DEPLOYMENT, "fra1-shipper", NAMESPACE)["spec"]["replicas"] == 2


async def test_an_offline_datacenter_causes_no_requests_to_its_namespace(
    server: Server, operator: Operator
) -> None:
    await running(server, operator, SHIPPER, DNS)
    server.edit(state="Offline", bootstrapServices=[body("shipper", replicas=2)])
    server.delete(DAEMON_SET, "fra1-dns", NAMESPACE)
    for _ in range(3):
        await operator.round()
        await server.clock.advance(700.0)
    assert operator.wire.namespaces == set()
    assert set(operator.take_requests()) == {
        "PATCH datacenters/status fra1",
        "PATCH bootstrapworkloads/status fra1.dns",
        "PATCH bootstrapworkloads/status fra1.shipper",
    }
    assert server.ready() == ("Unknown", "Offline")
    record = server.live(WORKLOADS, "fra1.dns")["status"]
    assert (record["state"], record["conditions"][0]["status"]) == ("Running", "Unknown")
    assert "not observed" in record["message"]
    server.edit(state="Active", bootstrapServices=[SHIPPER, DNS])
    await operator.settle()
    assert server.ready() == ("True", "AllRunning")
    assert server.names(DAEMON_SET) == ["DaemonSet fra1-dns"]


async def test_draining_keeps_removed_services(server: Server, operator: Operator) -> None:
    await running(server, operator, SHIPPER, DNS)
    server.edit(state="Draining", bootstrapServices=[body("shipper", replicas=2), VAULT])
    await operator.settle()
    assert set(server.states.values()) == {"Running"}
    assert sorted(server.states) == ["fra1.dns", "fra1.shipper", "fra1.vault"]
    assert server.live(DEPLOYMENT, "fra1-shipper", NAMESPACE)["spec"]["replicas"] == 2
    assert server.ready() == ("True", "AllRunning")
    # Services that are only kept do not count.
    assert server.live(DATACENTERS, "fra1")["status"]["summary"] == "2/2"
    server.edit(state="Active")
    await operator.settle()
    assert server.states == {"fra1.shipper": "Running", "fra1.vault": "Running"}


# --- deletion -----------------------------------------------------------------------------------


async def test_a_deletion_removes_everything_in_order(server: Server, operator: Operator) -> None:
    server.put(SERVICE_SETS, service_set("vaults", VAULT, READER))
    await running(server, operator, SHIPPER)
    server.delete(DATACENTERS, "fra1")
    outcome = await operator.tick()
    message = "waiting for the deletion of these services: reader, shipper, vault"
    assert outcome == Wait("Deleting", message, 10.0)
    assert server.condition() == ("False", "Deleting", message)
    assert server.condition("SourcesReady")[:2] == ("True", "AllSourcesReady")
    await operator.round()
    # The vault is kept while a service depends on it.
    vault = server.live(WORKLOADS, "fra1.vault")["status"]
    assert vault["state"] == "Retiring"
    assert vault["message"] == "waiting for the deletion of these services: reader"
    await operator.settle()
    assert server.names(*EVERYTHING) == []
    assert await operator.events_sent() == [
        "BootstrapWorkload fra1.shipper Retired",
        # Its ConfigMap is kept while its pods exist.
        "BootstrapWorkload fra1.reader Retired",
        "BootstrapWorkload fra1.vault Retired",
    ]


@pytest.mark.parametrize("state", ["Maintenance", "Offline"])
async def test_a_deletion_waits_for_a_state_that_allows_it(
    server: Server, operator: Operator, state: str
) -> None:
    await running(server, operator, SHIPPER, DNS, state="Active")
    server.edit(state=state)
    server.delete(DATACENTERS, "fra1")
    outcome = await operator.tick()
    message = (
        f"spec.state is {state}, in which no service is deleted: set it to Draining to delete "
        "these services: dns, shipper"
    )
    assert outcome == Wait("Deleting", message)
    await operator.settle()
    assert server.condition() == ("False", "Deleting", message)
    assert sorted(server.states) == ["fra1.dns", "fra1.shipper"]
    assert operator.wire.namespaces == set()
    server.edit(state="Draining")
    await operator.settle()
    assert server.names(*EVERYTHING) == []


async def test_a_deletion_waits_for_an_unreadable_record(
    server: Server, operator: Operator
) -> None:
    await running(server, operator, SHIPPER, state="Active")
    live = copy.deepcopy(server.live(WORKLOADS, "fra1.shipper"))
    live["spec"]["service"]["kind"] = "OfALaterVersion"
    server.api.put(WORKLOADS, live, manager="somebody")
    server.edit(state="Maintenance")
    server.delete(DATACENTERS, "fra1")
    await operator.settle()
    answer, reason, message = server.condition()
    assert (answer, reason) == ("False", "Deleting")
    assert message.endswith("to delete these services: shipper")
    assert server.names(DATACENTERS) == ["Datacenter fra1"]


@pytest.mark.parametrize("state", ["Active", "Draining", "Maintenance", "Offline"])
async def test_an_empty_datacenter_is_deleted_in_every_state(
    server: Server, operator: Operator, state: str
) -> None:
    await running(server, operator, state=state)
    server.delete(DATACENTERS, "fra1")
    assert await operator.tick() == Done()
    # No status write: it would only cause a conflict with the finalizer.
    assert operator.take_requests() == ["PATCH datacenters fra1"]
    assert server.names(*EVERYTHING) == []


async def test_a_deletion_continues_after_a_conflict(server: Server, operator: Operator) -> None:
    await running(server, operator)
    server.delete(DATACENTERS, "fra1")
    operator.look()
    server.edit(region="us-east")
    with pytest.raises(Superseded):
        await operator.reconcile(_REQUEST)
    assert await operator.tick() == Done()
    assert server.names(DATACENTERS) == []


async def test_records_without_their_datacenter_are_deleted(
    server: Server, operator: Operator
) -> None:
    await running(server, operator, SHIPPER)
    live = server.live(DATACENTERS, "fra1")
    server.api.put(DATACENTERS, {**live, "metadata": {**live["metadata"], "finalizers": []}})
    server.delete(DATACENTERS, "fra1")
    # The garbage collector follows.
    server.delete(WORKLOADS, "fra1.shipper")
    await operator.settle()
    assert server.names(*EVERYTHING) == []


async def test_a_conflict_is_reported_again_for_a_recreated_datacenter(
    server: Server, operator: Operator
) -> None:
    server.put(SERVICE_SETS, service_set("net", SHIPPER))
    await running(server, operator, SHIPPER)
    server.delete(DATACENTERS, "fra1")
    await operator.settle()
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.tick()
    assert "Datacenter fra1 Conflict" in await operator.events_sent()


# --- two processes ------------------------------------------------------------------------------


async def test_a_process_with_stale_caches_does_no_harm(server: Server) -> None:
    """A disconnected process continues with its caches after another process has finished."""
    old, new = Operator(server, seed=1), Operator(server, seed=2)
    server.put(DATACENTERS, datacenter(SHIPPER))
    await old.settle()
    server.edit(bootstrapServices=[body("shipper", replicas=2), DNS])
    await new.settle()
    before = server.api.storage.revision
    assert timer_of(await old.drive(_RECORD)) is not None
    await old.reconcile(_REQUEST)
    assert server.live(DEPLOYMENT, "fra1-shipper", NAMESPACE)["spec"]["replicas"] == 2
    assert server.states == {"fra1.dns": "Running", "fra1.shipper": "Running"}
    await old.settle()
    assert server.ready() == ("True", "AllRunning")
    assert server.api.storage.revision - before <= 2
