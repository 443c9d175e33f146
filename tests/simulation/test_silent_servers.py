"""Servers that finish TLS and never answer: what they cost a cluster of somebody else.

All controllers run in virtual time; each question to a server of the one namespace lasts as long as
it may, and each to the other is refused, as by a server that is being started.
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
class Silence:
    """The servers of both namespaces, and when each question was sent."""

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
) -> Silence:
    """Such servers, and clusters of two pods of which nobody says that it leads."""
    world = World(simulation, patch)
    silence = Silence(world)
    patch.setattr(Bao, "_call", CALL)
    patch.setattr(Exchange, "send", lambda _, request, seconds: silence.send(request, seconds))
    for number in range(clusters):
        cluster = gen.cluster(f"c{number}", replicas=3).initialized()
        cluster = cluster.with_metadata(namespace=HOSTILE, finalizers=[names.FINALIZER])
        put(world, CLUSTERS, cluster.object())
        for ordinal in range(2):
            pod = gen.pod(ordinal, f"c{number}").ready().object()
            pod["metadata"]["namespace"] = HOSTILE
            pod["status"]["podIP"] = f"10.9.{ordinal}.{number + 1}"
            put(world, POD, pod)
    return silence


def put(world: World, resource: Resource, obj: Object) -> None:
    """Make an object, and give it its status."""
    world.put(resource, obj)
    key = ObjectKey(obj["metadata"]["namespace"], obj["metadata"]["name"])
    live = world.server.get(resource, key)
    target = WriteTarget(world.server._kind(resource), key, "status", manager="somebody")
    world.server.writes.update(target, {**(live or {}), "status": obj["status"]})


async def seconds_until(world: World, resource: Resource, name: str, most: float) -> float:
    """How long it takes until there is such an object beside those of the silent clusters."""
    begun = world.clock.monotonic()
    while world.server.get(resource, ObjectKey(gen.NAMESPACE, name)) is None:
        await world.rest(0.05)
        waited = world.clock.monotonic() - begun
        if waited > most:
            break
    return world.clock.monotonic() - begun


@pytest.mark.parametrize("after", [0.5, 7.0, 61.5])
def test_the_first_boot_of_another_namespace_begins_within_two_seconds(
    monkeypatch: pytest.MonkeyPatch, after: float
) -> None:
    async def main(simulation: Simulation) -> None:
        silence = silent_world(simulation, monkeypatch)
        world = silence.world
        async with world.operator():
            await world.rest(after)
            assert len({address for _, address in silence.requests}) >= 8, "nobody asks them"
            cluster = gen.cluster(replicas=3).with_metadata(finalizers=[names.FINALIZER])
            world.put(CLUSTERS, cluster.object())
            assert await seconds_until(world, STATEFUL_SET, "x", 60.0) < 2.0
            world.start_pods(1)
            begun = world.clock.monotonic()
            while not (world.live(CLUSTERS).get("status") or {}).get("initialized"):
                await world.rest(0.05)
                assert world.clock.monotonic() - begun < 2.0

    simulate(main, seed=1)


def test_a_silent_server_is_asked_ever_less_and_the_gauges_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(simulation: Simulation) -> None:
        silence = silent_world(simulation, monkeypatch, clusters=3)
        world = silence.world
        async with world.operator() as parts:
            await world.rest(200.0)
            silence.requests.clear()
            await world.rest(260.0)
            # 60 seconds of rest and 5 of asking; without a breaker each is asked 37 times.
            assert len(silence.requests) <= 5 * 6
            assert {address for _, address in silence.requests} == {*SIX}
            assert sample(parts.metrics, "openbao_operator_breakers_open") == 6
            assert sample(parts.metrics, "openbao_operator_breakers_opened_total") == 6

    simulate(main, seed=2)


def sample(metrics: Metrics, name: str) -> float | None:
    return metrics.registry.get_sample_value(name)
