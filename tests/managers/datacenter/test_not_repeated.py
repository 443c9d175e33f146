"""Defects of the Go package `bootstrap` that are not repeated, each test with its number.

Each drives the operator's reconcilers over an API server in memory. Others are tested elsewhere:

| defect | where |
|---|---|
| 2: the order of hooks is that of a map | sources/test_merge.py, test_registry.py |
| 3: stuck in provisioning | lifecycle/test_state_machine.py, test_crash.py |
| 5: a changed body and a failed deprovision are two records | lifecycle/test_plan.py |
| 6, 7: a change makes a new service, or is ignored | provider/test_kubernetes.py |
| 8: Running although no pod is ready | provider/test_readiness.py, test_reconcile_gates.py |
| 9: what exists already blocks a service | provider/test_kubernetes.py, test_kubernetes_faults.py |
| 12: two servers do everything twice | test_reconcile_gates.py, test_crash.py, test_stores.py |
| 14: the state of the datacenter is ignored | test_reconcile_gates.py |
| 16: a redeploy is repeated | test_reconcile.py, sources/test_merge.py |
| 17: nobody validates what is requested | tests/contracts/datacenter, sources, test_reconcile.py |
"""

from collections.abc import Iterable
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from contracts.datacenter.workload_records import DatacenterInfo
from managers.datacenter.sources import entry_points
from managers.datacenter.sources.hooks import DEADLINE, Body, HookContext
from runtime.builtin_kinds import CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE, STATEFUL_SET
from runtime.clock import Clock
from runtime.testing.api_server.faults import Fault, FaultKind
from runtime.types import Resource, key_of, uid_of
from tests.baoctl.datacenter_world import World, play
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
from tests.managers.datacenter.service_bench import StaticHook

CHILDREN = (CLUSTERS, CONFIG_MAP, DAEMON_SET, DEPLOYMENT, SERVICE, STATEFUL_SET)
EVERYTHING = (DATACENTERS, WORKLOADS, *CHILDREN)
NAME = "fra1-shipper"
RECORD = "fra1.shipper"
LONG = 721.0
"""Seconds that are longer than every wait."""
SHIPPER, DNS = body("shipper"), body("dns", kind="DaemonSet")
SERVING = [{"name": "main", "image": IMAGE, "ports": [{"name": "http", "port": 8080}]}]


def uid_and_writes(server: Server, resource: Resource = DEPLOYMENT) -> tuple[str, int]:
    """The UID of the workload, and the number of its spec writes."""
    metadata = server.live(resource, NAME, NAMESPACE)["metadata"]
    return metadata["uid"], metadata["generation"]


# --- 1: an error of a hook deletes its services ---------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [ValueError("no route"), None, 5, [{"name": "../x"}], [{"name": "shipper"}]],
    ids=["raises", "answers nothing", "answers no list", "breaks a rule", "forgets a field"],
)
async def test_01_a_failing_hook_is_harmless(
    server: Server, operator: Operator, answer: Any
) -> None:
    hook = StaticHook("net", service("shipper"))
    operator.registry.register(hook)
    server.put(DATACENTERS, datacenter())
    await operator.settle()
    before = uid_and_writes(server)
    if isinstance(answer, Exception):
        hook.error = answer
    else:
        hook.bodies = answer
    # A new process without a result of the source behaves equally.
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


# --- 4: added again while it retires --------------------------------------------------------------


async def test_04_a_service_may_be_added_again_at_each_step_of_its_deletion() -> None:
    desired = body("shipper", services=SERVING)
    ends = []
    for moment in range(PASSES):
        server = Server()
        operator = Operator(server)
        server.put(DATACENTERS, datacenter(desired, DNS))
        await operator.settle()
        record = uid_of(server.live(WORKLOADS, RECORD))
        server.edit(bootstrapServices=[DNS])
        for step in range(moment):
            if step % 2:
                server.controllers()
            else:
                await operator.round()
        ended = RECORD not in server.states
        server.edit(bootstrapServices=[desired, DNS])
        await operator.settle()
        assert server.states == {"fra1.dns": "Running", RECORD: "Running"}, moment
        assert server.names(DEPLOYMENT, SERVICE) == [f"Deployment {NAME}", f"Service {NAME}"]
        live = server.live(WORKLOADS, RECORD)
        # Only a service whose deletion had not started is the same.
        assert (uid_of(live) == record) == (moment == 0)
        owners = server.live(DEPLOYMENT, NAME, NAMESPACE)["metadata"]["ownerReferences"]
        assert [owner["uid"] for owner in owners] == [uid_of(live)]
        ends.append(ended)
        if ended:
            break
    assert ends[-1] is True
    assert len(ends) > 4


# --- 10 and 11: half of a deprovision counts as one, and a datacenter leaves its services ---------

FAULTS = {"500": Fault(FaultKind.INTERNAL), "409": refusing(409, "Conflict")}
FAULTS["429"] = Fault(FaultKind.TOO_MANY, LATER)


async def delete_datacenter(number: int, fault: Fault) -> tuple[bool, list[str], list[str]]:
    """Delete a datacenter; whether the n-th call failed, the remaining objects, and the events."""
    server = Server()
    operator = Operator(server)
    shop = body("shop", dependsOn=["dns"], services=SERVING)
    server.put(DATACENTERS, datacenter(shop, DNS))
    await operator.settle()
    await operator.events_sent()
    server.delete(DATACENTERS, "fra1")
    spoiled = operator.wire.faults = Nth(every, number, fault)
    for _ in range(PASSES):
        await operator.round()
        gone = DATACENTERS.kind + " fra1" not in server.names(DATACENTERS)
        # A deleted datacenter leaves no objects.
        assert not gone or server.names(*EVERYTHING) == []
        if gone:
            break
        server.controllers()
        await server.clock.advance(LONG)
    return spoiled.struck(), server.names(*EVERYTHING), await operator.events_sent()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_10_each_call_of_a_deletion_may_fail(fault: Fault) -> None:
    calls = 0
    for number in range(1, 100):
        struck, left, events_sent = await delete_datacenter(number, fault)
        assert left == [], number
        retired = [event for event in events_sent if event.endswith("Retired")]
        names = [event.split()[1] for event in sorted(retired)]
        assert names == ["fra1.dns", "fra1.shop"], number
        if not struck:
            break
        calls = number
    assert calls > 20


# --- 13: one datacenter after the other -----------------------------------------------------------


class Slow:
    """A hook that never returns for one datacenter."""

    name, priority = "slow", 0

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def services(self, ctx: HookContext, datacenter: DatacenterInfo) -> Iterable[Body]:
        if datacenter.name == "dc0":
            await self._clock.sleep(3600.0)
        return [service("shipper")]


def test_13_a_slow_datacenter_does_not_delay_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(world: World) -> None:
        slow = Slow(world.simulation.clock)
        monkeypatch.setattr(
            entry_points, "register_hooks", lambda registry: registry.register(slow)
        )
        async with world.operator():
            for number in range(8):
                world.put(DATACENTERS, datacenter(name=f"dc{number}", namespace=NAMESPACE))
            await world.rest(DEADLINE - 2.0)
            assert sorted(world.states) == [f"dc{number}.shipper" for number in range(1, 8)]
            assert "status" not in world.live(DATACENTERS, "dc0")
            await world.rest(3.0)
            error = world.live(DATACENTERS, "dc0")["status"]["sources"][1]["error"]
            assert error == "timed out after 5 s"

    play(main)


# --- 15: failures are not reported ----------------------------------------------------------------


async def test_15_a_wrong_provider_is_corrected(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER, provider="nomad"))
    await operator.settle()
    await operator.events_sent()
    server.edit(provider="kubernetes")
    await operator.settle()
    assert server.ready() == ("True", "AllRunning")
    assert await operator.events_sent() == [f"BootstrapWorkload {RECORD} Succeeded"]
    # The provider that created it deletes it.
    server.edit(bootstrapServices=[])
    await operator.settle()
    assert server.names(WORKLOADS, *CHILDREN) == []
    assert await operator.events_sent() == [f"BootstrapWorkload {RECORD} Retired"]


# --- 18: all services share one namespace ---------------------------------------------------------


async def test_18_two_datacenters_never_share_objects(server: Server, operator: Operator) -> None:
    for name, namespace in (("fra1", "dc-fra1"), ("ams1", "dc-ams1"), ("lon1", "dc-fra1")):
        server.put(DATACENTERS, datacenter(SHIPPER, name=name, namespace=namespace))
    for _ in range(4):
        await operator.round()
    made = server.api.objects(DEPLOYMENT)
    namespaces = [f"{key_of(live).namespace} {key_of(live).name}" for live in made]
    in_fra = ["dc-fra1 fra1-shipper", "dc-fra1 lon1-shipper"]
    assert sorted(namespaces) == ["dc-ams1 ams1-shipper", *in_fra]
    selectors = [sorted(live["spec"]["selector"]["matchLabels"].items()) for live in made]
    assert len({tuple(selector) for selector in selectors}) == 3
