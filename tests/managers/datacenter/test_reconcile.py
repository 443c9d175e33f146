"""The reconcile of a Datacenter and its sets: objects, status and events."""

from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from managers.datacenter.reconcile import NotRecordedError
from runtime.builtin_kinds import DAEMON_SET, DEPLOYMENT
from runtime.errors import LeaseLost
from runtime.outcome import Blocked, Done, Wait
from tests.contracts.datacenter.services import on_each_node
from tests.managers.datacenter.bodies import service
from tests.managers.datacenter.kubernetes_bench import (
    KEY,
    NAMESPACE,
    VAULT,
    Operator,
    Server,
    body,
    datacenter,
    service_set,
)
from tests.managers.datacenter.provider_bench import Always, refusing
from tests.managers.datacenter.service_bench import StaticHook

SHIPPER, DNS = body("shipper"), body("dns", kind="DaemonSet")
READER = body("reader", dependsOn=["openbao:ready"])
PLACE = {"regions": ["eu-central"], "providers": ["kubernetes"]}
EDGE: dict[str, Any] = {**PLACE, "labels": {"tier": "edge"}}
CHILDREN = (CLUSTERS, DAEMON_SET, DEPLOYMENT)


# --- objects and status -------------------------------------------------------------------------


async def test_declared_services_are_created_and_run(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    server.put(SERVICE_SETS, service_set("vaults", VAULT, READER, **EDGE))
    server.put(SERVICE_SETS, service_set("elsewhere", DNS, regions=["us-east"]))
    await operator.round()
    begun = {"fra1.shipper": "Provisioning", "fra1.vault": "Provisioning"}
    assert server.states == {"fra1.reader": "Pending", **begun}
    assert server.names(*CHILDREN) == ["Deployment fra1-shipper", "OpenBaoCluster fra1-vault"]
    assert "status" not in server.live(DATACENTERS, "fra1")
    await operator.tick()
    assert server.condition() == (
        "False",
        "ServicesNotRunning",
        "reader: waiting for these services to run: vault; "
        "shipper: its controller has not observed its current spec; "
        "vault: its controller has not observed its current spec",
    )
    await operator.settle()
    assert set(server.states.values()) == {"Running"}
    deployments = ["Deployment fra1-reader", "Deployment fra1-shipper"]
    assert server.names(*CHILDREN) == [*deployments, "OpenBaoCluster fra1-vault"]
    assert server.condition() == ("True", "AllRunning", "Every service runs in its desired state")
    live = server.live(DATACENTERS, "fra1")
    assert live["metadata"]["finalizers"] == ["openbao.org/datacenter-finalizer"]
    status = live["status"]
    counts = [status[field] for field in ("summary", "services", "running", "failed")]
    assert counts == ["3/3", 3, 3, 0]
    assert [
        (source["name"], source["services"], source["error"]) for source in status["sources"]
    ] == [("declared", 1, ""), ("set/elsewhere", 0, ""), ("set/vaults", 2, "")]
    assert await operator.events_sent() == [
        "BootstrapWorkload fra1.shipper Started",
        "BootstrapWorkload fra1.vault Started",
        # The vault was observed as ready before its own record was reconciled.
        "BootstrapWorkload fra1.reader Started",
        "BootstrapWorkload fra1.shipper Succeeded",
        "BootstrapWorkload fra1.vault Succeeded",
        "BootstrapWorkload fra1.reader Succeeded",
    ]


async def test_the_first_write_adds_the_finalizer(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    assert await operator.tick() == Done(5.0)
    assert operator.take_requests() == [
        "PATCH datacenters fra1",
        "POST v1alpha1 bootstrapworkloads",
    ]


async def test_an_unchanged_datacenter_costs_no_request(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER, DNS))
    server.put(SERVICE_SETS, service_set("vaults", VAULT, READER))
    await operator.settle()
    assert await operator.tick() == Done(300.0)
    for name in ("dns", "reader", "shipper", "vault"):
        assert await operator.record(name) == Done(600.0)
    await server.clock.advance(3600.0)
    await operator.round()
    assert operator.take_requests() == []
    await operator.events_sent()
    restarted = Operator(server, seed=2)
    await restarted.round()
    assert restarted.take_requests() == []
    assert await restarted.events_sent() == []


async def test_a_removed_service_is_retired(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER, DNS))
    await operator.settle()
    await operator.events_sent()
    server.edit(bootstrapServices=[SHIPPER])
    await operator.round()
    assert server.states == {"fra1.dns": "Retiring", "fra1.shipper": "Running"}
    assert server.ready() == ("False", "ServicesNotRunning")
    await operator.settle()
    assert server.states == {"fra1.shipper": "Running"}
    assert server.names(*CHILDREN) == ["Deployment fra1-shipper"]
    assert server.ready() == ("True", "AllRunning")
    assert await operator.events_sent() == ["BootstrapWorkload fra1.dns Retired"]
    # Without a list the services are kept; an empty list retires them.
    server.edit(bootstrapServices=None)
    await operator.settle()
    assert server.states == {"fra1.shipper": "Running"}
    assert server.ready() == ("True", "AllRunning")
    server.edit(bootstrapServices=[])
    await operator.settle()
    assert server.names(WORKLOADS, *CHILDREN) == []


async def test_a_redeploy_token_restarts_the_pods_once(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    server.edit(redeploy=[{"name": "shipper", "token": "again-1"}])
    await operator.settle()
    deployment = server.live(DEPLOYMENT, "fra1-shipper", NAMESPACE)
    template = deployment["spec"]["template"]["metadata"]["annotations"]
    assert template["openbao.org/redeploy"] == "again-1"
    server.edit(redeploy=None)
    await operator.settle()
    same = server.live(DEPLOYMENT, "fra1-shipper", NAMESPACE)
    assert same["metadata"]["generation"] == deployment["metadata"]["generation"]


async def test_services_of_a_deleted_set_or_source_are_retired(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter())
    server.put(SERVICE_SETS, service_set("net", DNS))
    operator.registry.register(StaticHook("net", service("shipper")))
    await operator.settle()
    operator.registry.unregister("net")
    server.delete(SERVICE_SETS, "net")
    await operator.settle()
    assert server.states == {"fra1.shipper": "Running"}
    assert server.condition("SourcesReady")[:2] == ("False", "SourceDegraded")
    server.edit(forgetSources=["hook/net"])
    await operator.settle()
    assert server.states == {}
    assert server.condition("SourcesReady")[:2] == ("True", "AllSourcesReady")


# --- sources ------------------------------------------------------------------------------------


async def test_a_hook_that_fails_keeps_its_services(server: Server, operator: Operator) -> None:
    hook = StaticHook("net", service("shipper"))
    operator.registry.register(hook)
    server.put(DATACENTERS, datacenter(DNS))
    await operator.settle()
    await operator.events_sent()
    hook.error = ValueError("no route")
    assert await operator.tick() == Done(30.0)
    await operator.settle()
    assert server.states == {"fra1.dns": "Running", "fra1.shipper": "Running"}
    assert server.ready() == ("True", "AllRunning")
    error = "ValueError: no route"
    degraded = ("False", "SourceDegraded", f"hook/net: {error}")
    assert server.condition("SourcesReady") == degraded
    source = server.live(DATACENTERS, "fra1")["status"]["sources"][1]
    assert (source["name"], source["services"], source["error"]) == ("hook/net", 1, error)
    assert await operator.events_sent() == ["Datacenter fra1 SourceDegraded"]
    await server.clock.advance(30.0)
    await operator.round()
    assert operator.take_requests() == []
    assert await operator.events_sent() == []
    hook.error = None
    await operator.tick()
    assert server.condition("SourcesReady")[:2] == ("True", "AllSourcesReady")
    hook.error = ValueError("no route")
    await operator.tick()
    assert await operator.events_sent() == ["Datacenter fra1 SourceDegraded"]


async def test_conflicting_sources_are_reported(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    server.put(SERVICE_SETS, service_set("net", body("shipper", replicas=3), DNS))
    await operator.settle()
    assert server.live(DEPLOYMENT, "fra1-shipper", NAMESPACE)["spec"]["replicas"] == 1
    status, reason, message = server.condition("NoConflicts")
    assert (status, reason) == ("False", "Conflict")
    assert message.startswith("service shipper has two sources, declared and set/net")
    assert server.ready() == ("True", "AllRunning")
    assert (await operator.events_sent()).count("Datacenter fra1 Conflict") == 1
    server.edit(bootstrapServices=[])
    await operator.settle()
    assert server.live(DEPLOYMENT, "fra1-shipper", NAMESPACE)["spec"]["replicas"] == 3
    assert server.condition("NoConflicts")[:2] == ("True", "NoConflict")


async def test_services_have_the_granted_node_access(server: Server, operator: Operator) -> None:
    logs = {"name": "logs", "mountPath": "/logs", "kind": "HostPath", "hostPath": "/var/log"}
    server.put(DATACENTERS, datacenter(on_each_node(logs, name="agent")))
    await operator.settle()
    assert server.states == {"fra1.agent": "Failed"}
    server.edit(nodeAccess={"hostPaths": ["/var/log"]})
    await operator.settle()
    assert server.states == {"fra1.agent": "Running"}


# --- invalid specs ------------------------------------------------------------------------------

CIRCLE = [body("shipper", dependsOn=["dns"]), body("dns", dependsOn=["shipper"])]


async def test_an_invalid_spec_keeps_the_services(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    server.edit(bootstrapServices=CIRCLE)
    outcome = await operator.tick()
    answer, reason, message = server.condition()
    assert (answer, reason) == ("False", "InvalidSpec")
    assert message.startswith("spec.bootstrapServices")
    assert outcome == Blocked("InvalidSpec", message)
    assert server.live(DATACENTERS, "fra1")["status"]["summary"] == "1/1"
    assert server.condition("SourcesReady")[:2] == ("True", "AllSourcesReady")
    server.delete(DEPLOYMENT, "fra1-shipper", NAMESPACE)
    await operator.settle()
    assert server.states == {"fra1.shipper": "Running"}
    assert server.names(DEPLOYMENT) == ["Deployment fra1-shipper"]
    server.edit(bootstrapServices=[SHIPPER])
    await operator.settle()
    assert server.ready() == ("True", "AllRunning")
    server.edit(bootstrapServices=CIRCLE)
    server.delete(DATACENTERS, "fra1")
    await operator.settle()
    assert server.names(DATACENTERS, WORKLOADS, *CHILDREN) == []


async def test_an_invalid_new_datacenter_gets_no_finalizer(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter(*CIRCLE))
    await operator.settle()
    assert server.ready() == ("False", "InvalidSpec")
    assert "finalizers" not in server.live(DATACENTERS, "fra1")["metadata"]


@pytest.mark.parametrize("state", ["Offline", "Maintenance", "Frozen"])
async def test_an_invalid_spec_keeps_the_state(
    server: Server, operator: Operator, state: str
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    server.edit(bootstrapServices=CIRCLE, state=state)
    server.delete(DEPLOYMENT, "fra1-shipper", NAMESPACE)
    await operator.settle()
    assert server.names(DEPLOYMENT) == []
    server.delete(DATACENTERS, "fra1")
    assert isinstance(await operator.tick(), Wait)
    await operator.settle()
    assert server.names(WORKLOADS) == ["BootstrapWorkload fra1.shipper"]


# --- errors -------------------------------------------------------------------------------------


async def test_a_refused_write_of_a_record_is_reported(server: Server, operator: Operator) -> None:
    refused = refusing(403, "Forbidden", "no right")
    server.put(DATACENTERS, datacenter(SHIPPER))
    operator.wire.faults = Always("POST", refused)
    with pytest.raises(NotRecordedError, match=r"shipper: .*no right"):
        await operator.tick()
    answer, reason, message = server.condition()
    assert (answer, reason) == ("False", "ServicesNotRunning")
    assert message.startswith("shipper: ")
    assert "no right" in message
    assert server.live(DATACENTERS, "fra1")["status"]["summary"] == "0/1"
    operator.wire.faults = Always("nowhere", refused)
    await operator.settle()
    assert server.ready() == ("True", "AllRunning")
    # A service that cannot be changed is not Running.
    server.edit(bootstrapServices=[body("shipper", replicas=2)])
    operator.wire.faults = Always("bootstrapworkloads/fra1.shipper", refused)
    with pytest.raises(NotRecordedError, match="no right"):
        await operator.tick()
    assert server.ready() == ("False", "ServicesNotRunning")
    assert server.live(DATACENTERS, "fra1")["status"]["summary"] == "0/1"


async def test_a_failing_service_is_reported(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER, DNS))
    operator.wire.faults = Always("/daemonsets", refusing(403, "Forbidden", "no right"))
    await operator.settle()
    answer, reason, message = server.condition()
    assert (answer, reason) == ("False", "ServicesFailed")
    assert message.startswith("dns: ")
    assert "no right" in message
    status = server.live(DATACENTERS, "fra1")["status"]
    assert (status["summary"], status["failed"]) == ("1/2", 1)
    events_sent = await operator.events_sent()
    assert events_sent.count("BootstrapWorkload fra1.dns Failed") == 1


async def test_without_the_lease_nothing_is_written(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    operator.lost = True
    with pytest.raises(LeaseLost):
        await operator.tick()
    assert operator.take_requests() == []
    operator.lost = False
    await operator.tick()
    operator.lost = True
    with pytest.raises(LeaseLost):
        await operator.record("shipper")
    assert server.names(*CHILDREN) == []


async def test_a_missing_object_needs_no_reconcile(server: Server, operator: Operator) -> None:
    assert await operator.tick("lost") == Done()
    assert await operator.record("lost") == Done()
    assert server.api.get(DATACENTERS, KEY) is None
