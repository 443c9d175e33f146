"""What shared services have to pass before they count as done, and where each of it is tested.

| what | where |
|---|---|
| the eight behaviours of the Go package `bootstrap` | test_upstream_behaviours.py |
| its eighteen defects, by number | test_not_repeated.py, test_not_repeated_fleet.py |
| a source that fails keeps its services | test_not_repeated.py 01 |
| two hooks of one name, 100 passes | here |
| a crash after every write of create, update, retire, delete | test_crash.py, e2e/datacenter |
| the same for each object of a service | test_kubernetes_provider_faults.py |
| apply in part, then again | test_not_repeated.py 09, test_kubernetes_provider_faults.py |
| wanted again while it retires | here, at each moment; test_not_repeated.py 04, behind a failure |
| replicas alone, labels alone | test_not_repeated.py 07, test_plan.py for every field |
| other volumes of a StatefulSet | here; test_kubernetes_provider_changes.py; e2e/datacenter |
| a deletion in which each call fails with 500, 409, 429 | here |
| two operators | test_run_gates.py, test_crash.py, tests/baoctl/test_datacenter_process.py |
| 1,500 datacenters of 3 services | e2e/fleet; in pages: test_not_repeated_fleet.py 13 |
| no write in a quiet window | test_acceptance_process.py; tests/baoctl/test_datacenter_process.py |
| retries keep to the schedule | test_acceptance_process.py, test_backoff.py |
| each transition is told once | test_acceptance_process.py |
| inputs that are refused with their field | here and tests/contracts/datacenter, by code; |
| | tests/integration/test_datacenter_kinds.py, by the API server |
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from runtime.builtin_kinds import CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE, STATEFUL_SET
from runtime.testing.api_server.faults import Fault, FaultKind
from runtime.types import Object, uid_of
from tests.managers.datacenter.bodies import IMAGE, service
from tests.managers.datacenter.kubernetes_bench import (
    NAMESPACE,
    PASSES,
    Operator,
    Server,
    body,
    datacenter,
)
from tests.managers.datacenter.provider_bench import LATER, Nth, every, refusing
from tests.managers.datacenter.service_bench import Given

EVERYTHING = (DATACENTERS, WORKLOADS, CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE, STATEFUL_SET)
NAME, ROW = "fra1-shipper", "fra1.shipper"
SHIPPER, DNS = body("shipper"), body("dns", kind="DaemonSet")
LONG = 721.0
"""Seconds that are longer than every wait."""


def container(**more: Any) -> list[Object]:
    """One container with these fields."""
    return [{"name": "main", "image": IMAGE, **more}]


# --- two hooks of one name ------------------------------------------------------------------------


async def test_two_hooks_of_one_service_stay_put_for_100_passes(
    server: Server, operator: Operator
) -> None:
    hooks = [
        Given("b", service("shipper", replicas=2)),
        Given("a", service("shipper", replicas=1)),
    ]
    server.put(DATACENTERS, datacenter())
    for hook in hooks:
        operator.registry.register(hook)
    await operator.settle()
    await operator.events_sent()
    revision = server.api.storage.revision
    for turn in range(100):
        # Each pass as if the process had learnt of them in the other order.
        for hook in hooks[:: 1 if turn % 2 else -1]:
            operator.registry.unregister(hook.name)
            operator.registry.register(hook)
        await operator.round()
        await server.clock.advance(60.0)
    assert (operator.names_of, server.api.storage.revision) == ([], revision)
    assert await operator.events_sent() == []
    live = server.live(DEPLOYMENT, NAME, NAMESPACE)
    assert (live["spec"]["replicas"], live["metadata"]["generation"]) == (1, 1)


# --- wanted again ---------------------------------------------------------------------------------


async def test_a_service_may_be_wanted_again_at_each_moment_of_its_end() -> None:
    desired = body("shipper", services=container(ports=[{"name": "http", "port": 8080}]))
    ends = []
    for moment in range(PASSES):
        server = Server()
        operator = Operator(server)
        server.put(DATACENTERS, datacenter(desired, DNS))
        await operator.settle()
        record = uid_of(server.live(WORKLOADS, ROW))
        server.edit(bootstrapServices=[DNS])
        for step in range(moment):
            if step % 2:
                server.controllers()
            else:
                await operator.round()
        ended = ROW not in server.states
        server.edit(bootstrapServices=[desired, DNS])
        await operator.settle()
        assert server.states == {"fra1.dns": "Running", ROW: "Running"}, moment
        assert server.names(DEPLOYMENT, SERVICE) == [f"Deployment {NAME}", f"Service {NAME}"]
        live = server.live(WORKLOADS, ROW)
        # Only one that had not begun to go is the same.
        assert (uid_of(live) == record) == (moment == 0)
        owners = server.live(DEPLOYMENT, NAME, NAMESPACE)["metadata"]["ownerReferences"]
        assert [owner["uid"] for owner in owners] == [uid_of(live)]
        ends.append(ended)
        if ended:
            break
    assert ends[-1] is True
    assert len(ends) > 4


# --- volumes --------------------------------------------------------------------------------------


def stateful(size: str) -> Object:
    """A StatefulSet with a volume that stays."""
    volume = {"name": "spool", "mountPath": "/spool", "kind": "Persistent", "size": size}
    return body("shipper", kind="StatefulSet", services=container(volumes=[volume]))


async def test_other_volumes_of_a_stateful_set_leave_pods_and_data(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter(stateful("1Gi")))
    await operator.settle()
    before, record = server.live(STATEFUL_SET, NAME, NAMESPACE), uid_of(server.live(WORKLOADS, ROW))
    server.api.requests.clear()
    server.edit(bootstrapServices=[stateful("2Gi")])
    await operator.settle()
    after = server.live(STATEFUL_SET, NAME, NAMESPACE)
    assert uid_of(after) != uid_of(before)
    (claim,) = after["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    (call,) = [request for request in server.api.requests if request.method == "DELETE"]
    assert call.path.endswith(f"/statefulsets/{NAME}")
    # Pods and volumes are not its own any more when it goes.
    assert orjson.loads(call.body or b"")["propagationPolicy"] == "Orphan"
    assert before["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Retain"
    assert uid_of(server.live(WORKLOADS, ROW)) == record
    assert server.states == {ROW: "Running"}


# --- the end of a datacenter ----------------------------------------------------------------------

FAULTS = {
    "500": Fault(FaultKind.INTERNAL),
    "409": refusing(409, "Conflict"),
    "429": Fault(FaultKind.TOO_MANY, LATER),
}


async def delete_datacenter(number: int, fault: Fault) -> tuple[bool, list[str], list[str]]:
    """Delete a datacenter; whether the n-th call failed, what is left, and what was told."""
    server = Server()
    operator = Operator(server)
    serving = container(ports=[{"name": "http", "port": 8080}])
    shop = body("shop", dependsOn=["dns"], services=serving)
    server.put(DATACENTERS, datacenter(shop, DNS))
    await operator.settle()
    await operator.events_sent()
    server.delete(DATACENTERS, "fra1")
    spoiled = operator.wire.faults = Nth(every, number, fault)
    for _ in range(PASSES):
        await operator.round()
        gone = DATACENTERS.kind + " fra1" not in server.names(DATACENTERS)
        # Whoever is gone has left nothing.
        assert not gone or server.names(*EVERYTHING) == []
        if gone:
            break
        server.controllers()
        await server.clock.advance(LONG)
    return spoiled.struck(), server.names(*EVERYTHING), await operator.events_sent()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_each_call_of_a_deletion_may_fail(fault: Fault) -> None:
    calls = 0
    for number in range(1, 100):
        struck, left, events_sent = await delete_datacenter(number, fault)
        assert left == [], number
        retired = [event for event in events_sent if event.endswith("Retired")]
        assert sorted(retired) == [
            "BootstrapWorkload fra1.dns Retired",
            "BootstrapWorkload fra1.shop Retired",
        ], number
        if not struck:
            break
        calls = number
    assert calls > 20


# --- what is refused ------------------------------------------------------------------------------


REFUSED: dict[str, tuple[Object, str, bool]] = {
    "a cluster-scoped kind": (body("a", kind="ClusterRole"), "kind", True),
    "a host path": (
        body(
            "a",
            services=container(
                volumes=[{"name": "a", "mountPath": "/a", "hostPath": {"path": "/"}}]
            ),
        ),
        "services[0].volumes[0].hostPath",
        False,
    ),
    "a privilege": (
        body("a", services=container(securityContext={"privileged": True})),
        "services[0].securityContext",
        False,
    ),
    "another namespace": (body("a", namespace="kube-system"), "namespace", False),
    "a name that climbs": (body("../a"), "name", True),
    "a path that climbs": (
        body("a", services=container(configFiles=[{"path": "/a/../../etc", "content": ""}])),
        "services[0].configFiles[0].path",
        True,
    ),
    "a Secret that climbs": (
        body("a", services=container(secrets=[{"name": "../a", "mountPath": "/a"}])),
        "services[0].secrets[0].name",
        True,
    ),
    "a Secret of another namespace": (
        body(
            "a",
            services=container(secrets=[{"name": "a", "mountPath": "/a", "namespace": "other"}]),
        ),
        "services[0].secrets[0].namespace",
        False,
    ),
    "a Secret of the operator": (
        body("a", services=container(secrets=[{"name": "v-unseal-key", "mountPath": "/a"}])),
        "services[0].secrets[0].name",
        True,
    ),
}
"""A body, the field that is named, and whether the API server knows that field at all: it drops
what it does not know, before the operator sees it."""


@pytest.mark.parametrize(("wrong", "field", "known"), REFUSED.values(), ids=REFUSED)
async def test_what_no_service_may_have_is_refused_with_its_field(
    server: Server, operator: Operator, wrong: Object, field: str, known: bool
) -> None:
    hook: Any = Given("net")
    hook.bodies = [wrong]
    operator.registry.register(hook)
    server.put(DATACENTERS, datacenter(DNS))
    await operator.settle()
    answer, reason, message = server.condition("SourcesReady")
    assert (answer, reason) == ("False", "SourceDegraded")
    assert message.startswith(f"hook/net: services[0].{field}: ")
    assert server.states == {"fra1.dns": "Running"}
    if not known:
        return
    server.edit(bootstrapServices=[DNS, wrong])
    await operator.settle()
    assert server.ready() == ("False", "InvalidSpec")
    assert server.condition()[2].startswith(f"spec.bootstrapServices[1].{field}: ")
    assert server.states == {"fra1.dns": "Running"}
