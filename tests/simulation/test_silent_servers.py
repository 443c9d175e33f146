"""Servers that complete the TLS handshake and never respond: the delay of clusters of others.

All controllers run in virtual time; each request to a server of one namespace lasts until its
timeout, and each to the other namespace is refused, as by a server that starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from managers.bao.answers import BaoError
from managers.bao.breakers import UnansweredError
from managers.bao.client import Bao
from managers.bao.exchange import Exchange, ServerRequest
from runtime.builtin_kinds import POD, STATEFUL_SET
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.writes import WriteTarget
from runtime.testing.simulation import Simulation, simulate
from runtime.types import Object, ObjectKey, Resource
from tests import gen
from tests.simulation.whole_operator import World

pytestmark = pytest.mark.usefixtures("quiet")
SILENT = 25
HOSTILE = "hostile"
CALL = Bao._call
SIX = [f"10.9.{ordinal}.{number}" for ordinal in (0, 1) for number in (1, 2, 3)]


@dataclass
class SilentServers:
    """The servers of both namespaces, and the time of each request."""

    world: World
    requests: list[tuple[float, str]] = field(default_factory=list)

    async def send(self, request: ServerRequest, seconds: float) -> Any:
        self.requests.append((self.world.clock.monotonic(), request.address))
        if request.address.startswith("10.9."):
            await self.world.clock.sleep(seconds)
            raise UnansweredError(f"{request.path} of {request.address}: ServerTimeoutError")
        raise BaoError(f"{request.path} of {request.address}: ClientConnectorError")


def silent_world(
    simulation: Simulation, patch: pytest.MonkeyPatch, clusters: int = SILENT
) -> SilentServers:
    """Such servers, and clusters of two pods without a leader."""
    world = World(simulation, patch)
    silent = SilentServers(world)
    patch.setattr(Bao, "_call", CALL)
    patch.setattr(Exchange, "send", lambda _, request, seconds: silent.send(request, seconds))
    for number in range(clusters):
        cluster = gen.cluster(f"c{number}", replicas=3).initialized()
        cluster = cluster.with_metadata(namespace=HOSTILE, finalizers=[names.FINALIZER])
        put(world, CLUSTERS, cluster.object())
        for ordinal in range(2):
            pod = gen.pod(ordinal, f"c{number}").ready().object()
            pod["metadata"]["namespace"] = HOSTILE
            pod["status"]["podIP"] = f"10.9.{ordinal}.{number + 1}"
            put(world, POD, pod)
    return silent


def put(world: World, resource: Resource, obj: Object) -> None:
    """Create an object with its status."""
    world.put(resource, obj)
    key = ObjectKey(obj["metadata"]["namespace"], obj["metadata"]["name"])
    live = world.server.get(resource, key)
    target = WriteTarget(world.server._kind(resource), key, "status", manager="somebody")
    world.server.writes.update(target, {**(live or {}), "status": obj["status"]})


async def seconds_until(world: World, resource: Resource, name: str, most: float) -> float:
    """The seconds until an object of that name exists in the other namespace."""
    begun = world.clock.monotonic()
    while world.server.get(resource, ObjectKey(gen.NAMESPACE, name)) is None:
        await world.rest(0.05)
        waited = world.clock.monotonic() - begun
        if waited > most:
            break
    return world.clock.monotonic() - begun


@pytest.mark.parametrize("after", [0.5, 7.0, 61.5])
def test_silent_servers_delay_another_first_boot_by_at_most_two_seconds(
    monkeypatch: pytest.MonkeyPatch, after: float
) -> None:
    async def main(simulation: Simulation) -> None:
        silent = silent_world(simulation, monkeypatch)
        world = silent.world
        async with world.operator():
            await world.rest(after)
            assert len({address for _, address in silent.requests}) >= 8, "no requests"
            cluster = gen.cluster(replicas=3).with_metadata(finalizers=[names.FINALIZER])
            world.put(CLUSTERS, cluster.object())
            assert await seconds_until(world, STATEFUL_SET, "x", 60.0) < 2.0
            world.start_pods(1)
            begun = world.clock.monotonic()
            while not (world.live(CLUSTERS).get("status") or {}).get("initialized"):
                await world.rest(0.05)
                assert world.clock.monotonic() - begun < 2.0

    simulate(main, seed=1)


def test_a_silent_server_gets_fewer_requests_and_the_gauges_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(simulation: Simulation) -> None:
        silent = silent_world(simulation, monkeypatch, clusters=3)
        world = silent.world
        async with world.operator() as parts:
            await world.rest(200.0)
            silent.requests.clear()
            await world.rest(260.0)
            # An open breaker pauses for 60 s; without one, each server gets 37 requests.
            assert len(silent.requests) <= 5 * 6
            assert {address for _, address in silent.requests} == {*SIX}
            assert sample(parts.metrics, "openbao_operator_breakers_open") == 6
            assert sample(parts.metrics, "openbao_operator_breakers_opened_total") == 6

    simulate(main, seed=2)


def sample(metrics: Metrics, name: str) -> float | None:
    return metrics.registry.get_sample_value(name)
