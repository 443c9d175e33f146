"""The other eight of the eighteen defects of the Go package `bootstrap`, none of which is here.

Those of whole datacenters, of several processes, and of what people are told. The first ten are in
test_not_repeated.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from contracts.datacenter.workload_records import DatacenterInfo
from managers.datacenter.reconcile import NotRecordedError
from managers.datacenter.sources import entry_points
from managers.datacenter.sources.hooks import DEADLINE, Body, HookContext
from runtime.builtin_kinds import DAEMON_SET, DEPLOYMENT
from runtime.cache.reflector import LIST_PAGE
from runtime.clock import Clock
from runtime.testing.api_server.faults import NoFaults
from runtime.types import Object, Request
from tests.baoctl.datacenter_world import World, play
from tests.managers.datacenter.bodies import IMAGE, service
from tests.managers.datacenter.kubernetes_bench import (
    NAMESPACE,
    PASSES,
    Operator,
    Server,
    body,
    datacenter,
    service_set,
)
from tests.managers.datacenter.provider_bench import Always, refusing
from tests.managers.datacenter.service_bench import Given

SHIPPER, DNS = body("shipper"), body("dns", kind="DaemonSet")
NAME, RECORD = "fra1-shipper", "fra1.shipper"
CHILDREN = (DAEMON_SET, DEPLOYMENT)
PAGES = "/apis/openbao.org/v1alpha1/datacenters?limit="
LONG = 721.0
"""Seconds that are longer than every wait."""


def replicas(server: Server) -> int:
    """How many pods the shipper of fra1 is to have."""
    replicas: int = server.live(DEPLOYMENT, NAME, NAMESPACE)["spec"]["replicas"]
    return replicas


# --- 11: a datacenter goes and leaves its services ------------------------------------------------


async def test_11_a_datacenter_goes_behind_the_last_of_its_services(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER, DNS))
    await operator.settle()
    server.delete(DATACENTERS, "fra1")
    for _ in range(PASSES):
        await operator.round()
        if not server.names(DATACENTERS):
            break
        server.controllers()
    assert server.names(DATACENTERS, WORKLOADS, *CHILDREN) == []
    events_sent = await operator.events_sent()
    assert sorted(events_sent[-2:]) == [
        "BootstrapWorkload fra1.dns Retired",
        "BootstrapWorkload fra1.shipper Retired",
    ]


# --- 12: two servers do everything twice ----------------------------------------------------------


async def test_12_of_two_processes_that_see_the_same_one_makes_a_service(server: Server) -> None:
    both = (Operator(server, seed=1), Operator(server, seed=2))
    server.put(DATACENTERS, datacenter())
    await both[0].tick()
    server.edit(bootstrapServices=[SHIPPER])
    for operator in both:
        operator.look()
    ends = await asyncio.gather(
        *(operator.reconcile(Request("", "fra1")) for operator in both), return_exceptions=True
    )
    assert [type(error) for error in ends if isinstance(error, BaseException)] in (
        [],
        [NotRecordedError],
    )
    for operator in both:
        operator.look()
    await asyncio.gather(*(operator.drive(Request("", RECORD)) for operator in both))
    assert server.names(WORKLOADS, *CHILDREN) == [
        f"BootstrapWorkload {RECORD}",
        f"Deployment {NAME}",
    ]
    assert server.live(DEPLOYMENT, NAME, NAMESPACE)["metadata"]["generation"] == 1


async def test_12_who_decides_by_an_old_record_is_refused(server: Server) -> None:
    old, new = Operator(server, seed=1), Operator(server, seed=2)
    server.put(DATACENTERS, datacenter(SHIPPER))
    await new.settle()
    server.edit(bootstrapServices=[body("shipper", replicas=2)])
    old.look()
    server.edit(bootstrapServices=[body("shipper", replicas=3)])
    await new.settle()
    with pytest.raises(NotRecordedError, match="StoreConflictError"):
        await old.reconcile(Request("", "fra1"))
    assert server.live(WORKLOADS, RECORD)["spec"]["service"]["replicas"] == 3
    assert replicas(server) == 3


# --- 13: only a thousand datacenters, one after the other -----------------------------------------

MANY = 1001


class Slow:
    """A hook that gives one datacenter no answer for as long as anybody waits."""

    name, priority = "slow", 0

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def services(self, ctx: HookContext, datacenter: DatacenterInfo) -> Iterable[Body]:
        if datacenter.name == "dc0":
            await self._clock.sleep(3600.0)
        return [service("shipper")]


def test_13_datacenters_are_read_in_pages_and_to_the_last() -> None:
    async def main(world: World) -> None:
        # As servers do that cannot begin a watch with a list.
        world.api.watch_list = False
        for number in range(MANY):
            world.put(DATACENTERS, datacenter(name=f"dc{number}", namespace=NAMESPACE))
        async with world.operator():
            await world.rest(30.0)
        ready = [obj.get("status", {}).get("summary") for obj in world.api.objects(DATACENTERS)]
        assert ready == ["0/0"] * MANY
        pages = [request for request in world.api.requests if request.target.startswith(PAGES)]
        assert len(pages) == -(-MANY // LIST_PAGE)

    play(main)


def test_13_a_datacenter_that_is_slow_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
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


# --- 14: the state of the datacenter is ignored ---------------------------------------------------


@pytest.mark.parametrize(
    ("state", "pods", "remaining"),
    [
        ("Active", 2, ["Deployment fra1-shipper"]),
        ("Draining", 2, ["DaemonSet fra1-dns", "Deployment fra1-shipper"]),
        ("Maintenance", 1, ["DaemonSet fra1-dns", "Deployment fra1-shipper"]),
        ("Offline", 1, ["DaemonSet fra1-dns", "Deployment fra1-shipper"]),
    ],
)
async def test_14_the_state_of_a_datacenter_decides_what_happens(
    server: Server, operator: Operator, state: str, pods: int, remaining: list[str]
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER, DNS))
    await operator.settle()
    server.edit(state=state, bootstrapServices=[body("shipper", replicas=2)])
    operator.wire.namespaces.clear()
    await operator.settle()
    assert (replicas(server), server.names(*CHILDREN)) == (pods, remaining)
    # No record is touched, either, where nothing may happen.
    assert server.live(WORKLOADS, RECORD)["spec"]["service"].get("replicas", 1) == pods
    assert len(server.names(WORKLOADS)) == len(remaining)
    assert {obj["metadata"].get("deletionTimestamp") for obj in server.api.objects(WORKLOADS)} == {
        None
    }
    touched = {NAMESPACE} if pods == 2 else set()
    assert operator.wire.namespaces == touched


# --- 15: what goes wrong is told to nobody --------------------------------------------------------


async def test_15_a_provider_that_nobody_has_is_told(server: Server, operator: Operator) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER, provider="nomad"))
    await operator.settle()
    answer, reason, message = server.condition()
    assert (answer, reason) == ("False", "ServicesFailed")
    assert message.startswith("shipper: spec.provider nomad")
    assert await operator.events_sent() == [f"BootstrapWorkload {RECORD} Failed"]


async def test_15_a_provider_that_was_wrong_is_corrected_for_good(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER, provider="nomad"))
    await operator.settle()
    await operator.events_sent()
    server.edit(provider="kubernetes")
    await operator.settle()
    assert server.ready() == ("True", "AllRunning")
    assert await operator.events_sent() == [f"BootstrapWorkload {RECORD} Succeeded"]
    # Who made it takes it away.
    server.edit(bootstrapServices=[])
    await operator.settle()
    assert server.names(WORKLOADS, *CHILDREN) == []
    assert await operator.events_sent() == [f"BootstrapWorkload {RECORD} Retired"]


async def test_15_a_record_that_cannot_be_written_is_told(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    operator.wire.faults = Always("POST", refusing(500, "InternalError", "etcd has no space"))
    with pytest.raises(NotRecordedError, match="etcd has no space"):
        await operator.tick()
    assert "etcd has no space" in server.condition()[2]


# --- 16: an order to redeploy is a page that is read ----------------------------------------------


async def test_16_an_order_is_carried_out_once_whoever_reads_it_again(
    server: Server, operator: Operator
) -> None:
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    server.edit(redeploy=[{"name": "shipper", "token": "again-1"}])
    for seed in (1, 2, 3):
        await Operator(server, seed).settle()
    assert server.live(DEPLOYMENT, NAME, NAMESPACE)["metadata"]["generation"] == 2
    server.edit(redeploy=[{"name": "shipper", "token": "again-2"}])
    await operator.settle()
    assert server.live(DEPLOYMENT, NAME, NAMESPACE)["metadata"]["generation"] == 3


async def test_16_an_order_is_for_services_in_every_state(
    server: Server, operator: Operator
) -> None:
    operator.wire.faults = Always("/deployments", refusing(422, "Invalid", "no such class"))
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    operator.wire.faults = NoFaults()
    await server.clock.advance(LONG)
    await operator.settle()
    # Only a change helps, and none was made.
    assert server.states == {RECORD: "Failed"}
    server.edit(redeploy=[{"name": "shipper", "token": "again-1"}])
    await operator.settle()
    assert server.states == {RECORD: "Running"}


# --- 17: nobody judges what is asked --------------------------------------------------------------

MAIN: Object = {"name": "main", "image": IMAGE}
INVALID: dict[str, tuple[list[Object], str]] = {
    "a name that is none": ([body("Not A Name")], "[0].name"),
    "no name": ([{"services": [MAIN]}], "[0].name"),
    "a name twice": ([SHIPPER, SHIPPER], "[1].name"),
    "two mains": ([body("a", services=[MAIN, {**MAIN, "name": "b"}])], "[0].services"),
    "no main": ([body("a", services=[{**MAIN, "role": "Init"}])], "[0].services"),
    "no container": ([body("a", services=[])], "[0].services"),
    "an unheard role": ([body("a", services=[{**MAIN, "role": "Boss"}])], "[0].services[0].role"),
    "an unheard kind": ([body("a", kind="CronJob")], "[0].kind"),
    "a circle": ([body("a", dependsOn=["b"]), body("b", dependsOn=["a"])], ""),
}


@pytest.mark.parametrize(("bodies", "field"), INVALID.values(), ids=INVALID)
async def test_17_what_is_invalid_is_refused_with_its_field(
    server: Server, operator: Operator, bodies: list[Object], field: str
) -> None:
    hook: Any = Given("net")
    hook.bodies = bodies
    operator.registry.register(hook)
    server.put(SERVICE_SETS, service_set("net", *bodies))
    server.put(DATACENTERS, datacenter())
    await operator.settle()
    errors = {
        source["name"]: source["error"]
        for source in server.live(DATACENTERS, "fra1")["status"]["sources"]
    }
    assert errors["hook/net"].startswith(f"services{field}: ")
    assert errors["set/net"].startswith(f"BootstrapServiceSet net: spec.services{field}: ")
    server.edit(bootstrapServices=bodies)
    await operator.settle()
    assert server.ready() == ("False", "InvalidSpec")
    assert server.condition()[2].startswith(f"spec.bootstrapServices{field}: ")
    assert server.names(WORKLOADS, *CHILDREN) == []


# --- 18: all services share one namespace ---------------------------------------------------------


async def test_18_services_of_two_datacenters_never_meet(
    server: Server, operator: Operator
) -> None:
    for name, namespace in (("fra1", "dc-fra1"), ("ams1", "dc-ams1"), ("lon1", "dc-fra1")):
        server.put(DATACENTERS, datacenter(SHIPPER, name=name, namespace=namespace))
    for _ in range(4):
        await operator.round()
    namespaces = {
        (live["metadata"]["namespace"], live["metadata"]["name"])
        for live in server.api.objects(DEPLOYMENT)
    }
    assert namespaces == {
        ("dc-fra1", "fra1-shipper"),
        ("dc-ams1", "ams1-shipper"),
        ("dc-fra1", "lon1-shipper"),
    }
    selectors = [
        sorted(live["spec"]["selector"]["matchLabels"].items())
        for live in server.api.objects(DEPLOYMENT)
    ]
    assert len({tuple(selector) for selector in selectors}) == 3
    template = server.live(DEPLOYMENT, NAME, NAMESPACE)["spec"]["template"]["spec"]
    assert template["securityContext"]["runAsNonRoot"] is True
    assert template["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert template["automountServiceAccountToken"] is False


async def test_18_a_quota_of_the_namespace_is_told_and_waited_for(
    server: Server, operator: Operator
) -> None:
    message = (
        'deployments.apps "fra1-shipper" is forbidden: exceeded quota: pods, used: 3, limited: 3'
    )
    operator.wire.faults = Always("/deployments", refusing(403, "Forbidden", message))
    server.put(DATACENTERS, datacenter(SHIPPER))
    await operator.settle()
    error = server.live(WORKLOADS, RECORD)["status"]["lastError"]
    assert error["reason"] == "QuotaExceeded"
    assert "exceeded quota" in server.condition()[2]
    operator.wire.faults = NoFaults()
    await server.clock.advance(7.0)
    await operator.settle()
    assert server.states == {RECORD: "Running"}
