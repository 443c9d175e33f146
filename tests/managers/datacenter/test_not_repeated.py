"""The first ten of the eighteen defects of the Go package `bootstrap`, none of which is here.

Each test has the number of its defect, and drives the operator's reconcilers over an API server in
memory. The others are in test_not_repeated_fleet.py.
"""

from __future__ import annotations

import asyncio
import copy
from itertools import permutations
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from managers.datacenter.lifecycle.state_machine import STATES
from runtime.builtin_kinds import CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE, STATEFUL_SET
from runtime.testing.api_server.faults import Fault, FaultKind, NoFaults, ScriptedFaults
from runtime.types import Object, Resource, uid_of
from tests.managers.datacenter.bodies import IMAGE, service
from tests.managers.datacenter.kubernetes_bench import (
    NAMESPACE,
    VAULT,
    Operator,
    Server,
    body,
    datacenter,
)
from tests.managers.datacenter.provider_bench import Always, Nth, refusing, writes
from tests.managers.datacenter.service_bench import Given

CHILDREN = (CLUSTERS, CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE, STATEFUL_SET)
NAME = "fra1-shipper"
RECORD = "fra1.shipper"
BUSY = Fault(FaultKind.INTERNAL)
LONG = 721.0
"""Seconds that are longer than every wait."""
SHIPPER = body("shipper")


def whole(**more: Any) -> Object:
    """A service of three objects: its files, its Service and what runs it."""
    main = {
        "name": "main",
        "image": IMAGE,
        "ports": [{"name": "http", "port": 8080}],
        "configFiles": [{"path": "/etc/shipper.conf", "content": "flush 5\n"}],
        **more,
    }
    return body("shipper", services=[main])


def uid_and_writes(server: Server, resource: Resource = DEPLOYMENT) -> tuple[str, int]:
    """Which object runs it, and how often its spec was written."""
    metadata = server.live(resource, NAME, NAMESPACE)["metadata"]
    return metadata["uid"], metadata["generation"]


def deletions(server: Server) -> list[str]:
    """Everything that was ever taken away."""
    return [call.path for call in server.api.requests if call.method == "DELETE"]


# --- 1: an error of a hook tears its services down ------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [ValueError("no route"), None, 5, [{"name": "../x"}], [{"name": "shipper"}]],
    ids=["raises", "answers nothing", "answers no list", "breaks a rule", "forgets a field"],
)
async def test_01_a_hook_that_fails_tears_nothing_down(
    server: Server, operator: Operator, answer: Any
) -> None:
    hook = Given("net", service("shipper"))
    operator.registry.register(hook)
    server.put(DATACENTERS, datacenter())
    await operator.settle()
    before = uid_and_writes(server)
    if isinstance(answer, Exception):
        hook.error = answer
    else:
        hook.bodies = answer
    # One that never heard a good answer knows no less.
    restarted = Operator(server, seed=2)
    restarted.registry.register(hook)
    for process in (operator, restarted):
        for _ in range(3):
            await process.round()
    assert (server.states, uid_and_writes(server)) == ({RECORD: "Running"}, before)
    assert server.condition("SourcesReady")[:2] == ("False", "SourceDegraded")
    hook.error, hook.bodies = None, ()
    await restarted.settle()
    assert server.names(WORKLOADS, *CHILDREN) == []


# --- 2: the order of hooks is that of a map -------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations("abc")), ids="-".join)
async def test_02_the_order_in_which_hooks_come_decides_nothing(
    server: Server, operator: Operator, order: tuple[str, ...]
) -> None:
    hooks = {
        "a": Given("a", service("shipper", replicas=1), priority=1),
        "b": Given("b", service("shipper", replicas=2), priority=5),
        "c": Given("c", service("shipper", replicas=3), priority=5),
    }
    restarted = Operator(server, seed=2)
    for one, names in ((operator, order), (restarted, order[::-1])):
        for name in names:
            one.registry.register(hooks[name])
    server.put(DATACENTERS, datacenter())
    await operator.settle()
    assert server.live(DEPLOYMENT, NAME, NAMESPACE)["spec"]["replicas"] == 2
    message = server.condition("NoConflicts")[2]
    assert "declared by hook/b and hook/c" in message
    assert "declared by hook/b and hook/a" in message
    await restarted.round()
    assert restarted.names_of == []


# --- 3: stuck in provisioning ---------------------------------------------------------------------


@pytest.mark.parametrize("stored", [*STATES, "Unheard"])
async def test_03_no_stored_state_keeps_a_service_from_being_made(
    server: Server, operator: Operator, stored: str
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.tick()
    record = server.live(WORKLOADS, RECORD)
    server.write_status(WORKLOADS, record, {"state": stored, "message": "left by a former process"})
    assert server.names(*CHILDREN) == []
    await Operator(server, seed=2).settle()
    assert (server.states, server.names(*CHILDREN)) == (
        {RECORD: "Running"},
        [f"Deployment {NAME}"],
    )


@pytest.mark.parametrize("silent", ["/deployments", f"bootstrapworkloads/{RECORD}/status"])
async def test_03_a_pass_that_is_cut_short_is_taken_up_again(
    server: Server, operator: Operator, silent: str
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.tick()
    operator.wire.faults = ScriptedFaults(Fault(FaultKind.SILENCE), where=silent)
    cut = asyncio.create_task(operator.record("shipper"))
    await server.clock.settle()
    assert not cut.done()
    cut.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cut
    await Operator(server, seed=2).settle()
    assert (server.states, uid_and_writes(server)[1]) == ({RECORD: "Running"}, 1)


# --- 4: wanted again while it retires -------------------------------------------------------------


async def test_04_a_service_wanted_again_behind_a_failed_retire_comes_back(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    first, record = uid_and_writes(server)[0], uid_of(server.live(WORKLOADS, RECORD))
    operator.wire.faults = Always("DELETE /apis/apps", BUSY)
    server.edit(bootstrapServices=[])
    await operator.settle()
    assert server.states == {RECORD: "Retiring"}
    server.edit(bootstrapServices=[SHIPPER])
    await operator.settle()
    assert (server.states, uid_and_writes(server)[0]) == ({RECORD: "Retiring"}, first)
    operator.wire.faults = NoFaults()
    await server.clock.advance(LONG)
    await operator.settle()
    assert server.states == {RECORD: "Running"}
    assert uid_of(server.live(WORKLOADS, RECORD)) != record
    assert uid_and_writes(server)[0] != first


# --- 5: a changed body and a deprovision that fails -----------------------------------------------


async def test_05_a_changed_body_and_a_failing_deprovision_count_in_one_record(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    record = uid_of(server.live(WORKLOADS, RECORD))
    await operator.events_sent()
    # Another kind: the former object has to go.
    server.edit(bootstrapServices=[body("shipper", kind="DaemonSet")])
    operator.wire.faults = Always("DELETE /apis/apps", BUSY)
    for attempts in (1, 2, 3):
        await operator.settle()
        live = server.live(WORKLOADS, RECORD)
        assert (uid_of(live), live["status"]["attempts"]) == (record, attempts)
        assert server.names(WORKLOADS) == [f"BootstrapWorkload {RECORD}"]
        await server.clock.advance(LONG)
    assert await operator.events_sent() == [
        f"BootstrapWorkload {RECORD} {suffix}" for suffix in ("Started", "Failed")
    ]
    operator.wire.faults = NoFaults()
    await operator.settle()
    assert server.states == {RECORD: "Running"}
    assert server.names(*CHILDREN) == [f"DaemonSet {NAME}"]


# --- 6 and 7: every change is a new one, or no change at all --------------------------------------

SPOOL: Object = {"name": "spool", "mountPath": "/spool", "kind": "Persistent", "size": "1Gi"}
KINDS: dict[str, tuple[Resource, Object, Object]] = {
    "Deployment": (DEPLOYMENT, whole(), whole(args=["-v"])),
    "DaemonSet": (
        DAEMON_SET,
        {**whole(), "kind": "DaemonSet"},
        {**whole(args=["-v"]), "kind": "DaemonSet"},
    ),
    "StatefulSet": (
        STATEFUL_SET,
        {**whole(volumes=[SPOOL]), "kind": "StatefulSet"},
        {**whole(volumes=[SPOOL], args=["-v"]), "kind": "StatefulSet"},
    ),
    "OpenBaoCluster": (
        CLUSTERS,
        {**VAULT, "name": "shipper"},
        {**VAULT, "name": "shipper", "openbao": {**VAULT["openbao"], "replicas": 5}},
    ),
}
BY_KIND = pytest.mark.parametrize(("resource", "first", "then"), KINDS.values(), ids=KINDS)


@BY_KIND
async def test_06_a_change_is_made_in_place(
    server: Server, operator: Operator, resource: Resource, first: Object, then: Object
) -> None:
    server.put(DATACENTERS, datacenter(first))
    await operator.settle()
    record, (before, generation) = (
        uid_of(server.live(WORKLOADS, RECORD)),
        uid_and_writes(server, resource),
    )
    server.edit(bootstrapServices=[then])
    await operator.settle()
    assert uid_and_writes(server, resource) == (before, generation + 1)
    assert uid_of(server.live(WORKLOADS, RECORD)) == record
    assert deletions(server) == []
    assert server.names(WORKLOADS) == [f"BootstrapWorkload {RECORD}"]


async def test_07_replicas_alone_and_labels_alone_arrive(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    server.edit(bootstrapServices=[body("shipper", replicas=4)])
    await operator.settle()
    assert server.live(DEPLOYMENT, NAME, NAMESPACE)["spec"]["replicas"] == 4
    server.edit(bootstrapServices=[body("shipper", replicas=4, labels={"team": "net"})])
    await operator.settle()
    live = server.live(DEPLOYMENT, NAME, NAMESPACE)
    assert live["metadata"]["labels"]["team"] == "net"
    assert live["spec"]["template"]["metadata"]["labels"]["team"] == "net"
    assert live["spec"]["replicas"] == 4
    # Pods are found by what never changes.
    assert "team" not in live["spec"]["selector"]["matchLabels"]
    assert deletions(server) == []


# --- 8: running means that it was made ------------------------------------------------------------

UNWELL: dict[str, Object] = {
    "Deployment": {"replicas": 1, "updatedReplicas": 1, "unavailableReplicas": 1},
    "DaemonSet": {"desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberReady": 0},
    "StatefulSet": {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 0},
    "OpenBaoCluster": {"readyReplicas": 0, "conditions": [{"type": "Ready", "status": "False"}]},
}


@BY_KIND
async def test_08_running_is_what_the_workload_says(
    server: Server, operator: Operator, resource: Resource, first: Object, then: Object
) -> None:
    server.put(DATACENTERS, datacenter(first))
    for _ in range(3):
        await operator.round()
    assert server.names(resource) == [f"{resource.kind} {NAME}"]
    assert server.states == {RECORD: "Provisioning"}
    server.controllers()
    await operator.round()
    assert server.states == {RECORD: "Running"}
    server.says(resource, NAME, **copy.deepcopy(UNWELL[resource.kind]))
    await operator.round()
    await operator.round()
    assert server.states == {RECORD: "Provisioning"}
    assert server.ready() == ("False", "ServicesNotRunning")


# --- 9: what is there already is in the way for ever ----------------------------------------------


@pytest.mark.parametrize("trouble", [FaultKind.INTERNAL, FaultKind.LOST_REPLY], ids=["500", "lost"])
async def test_09_what_was_made_by_half_is_finished(trouble: FaultKind) -> None:
    for number in range(1, 20):
        server = Server()
        operator = Operator(server)
        server.put(DATACENTERS, datacenter(whole()))
        await operator.tick()
        spoiled = operator.wire.faults = Nth(writes, number, Fault(trouble))
        await operator.settle()
        # Another process tries again, and remembers nothing of what was made.
        successor = Operator(server, seed=2)
        await server.clock.advance(LONG)
        await successor.settle()
        assert server.states == {RECORD: "Running"}, number
        assert server.names(*CHILDREN) == [
            f"ConfigMap {NAME}-files",
            f"Deployment {NAME}",
            f"Service {NAME}",
        ]
        if not spoiled.struck():
            assert number > 4
            return
    raise AssertionError("more writes than anybody makes")


async def test_09_what_others_made_is_not_taken_over(server: Server, operator: Operator) -> None:
    metadata = {"name": NAME, "namespace": NAMESPACE}
    server.api.put(DEPLOYMENT, {"metadata": metadata, "spec": {"replicas": 9}}, manager="somebody")
    theirs = server.live(DEPLOYMENT, NAME, NAMESPACE)["spec"]
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    assert server.live(WORKLOADS, RECORD)["status"]["lastError"]["reason"] == "Foreign"
    assert server.live(DEPLOYMENT, NAME, NAMESPACE)["spec"] == theirs


# --- 10: half of a deprovision counts as one ------------------------------------------------------


@pytest.mark.parametrize("fault", [BUSY, refusing(409, "Conflict")], ids=["500", "409"])
@pytest.mark.parametrize(
    "where",
    [
        "DELETE /apis/apps/v1/namespaces/dc-fra1/deployments",
        "DELETE /api/v1/namespaces/dc-fra1/services",
        "DELETE /api/v1/namespaces/dc-fra1/configmaps",
        "GET /apis/apps/v1/namespaces/dc-fra1/deployments",
    ],
    ids=["workload", "service", "config map", "proof"],
)
async def test_10_a_service_is_gone_when_each_of_its_objects_is(
    server: Server, operator: Operator, where: str, fault: Fault
) -> None:
    server.put(DATACENTERS, datacenter(whole()))
    await operator.settle()
    await operator.events_sent()
    server.edit(bootstrapServices=[])
    operator.wire.faults = Always(where, fault)
    for _ in range(10):
        server.controllers()
        await operator.round()
        await server.clock.advance(LONG)
    assert server.states == {RECORD: "Retiring"}
    assert f"BootstrapWorkload {RECORD} Retired" not in await operator.events_sent()
    operator.wire.faults = NoFaults()
    await operator.settle()
    assert server.names(WORKLOADS, *CHILDREN) == []
    assert await operator.events_sent() == [f"BootstrapWorkload {RECORD} Retired"]
