"""baoctl.process.preflight: a process that cannot lead is not ready, and is no candidate."""

import asyncio
import dataclasses
import random

import pytest
from structlog.testing import capture_logs

from baoctl.process.preflight import RETRY_SECONDS, Kind, Preflight, kinds_of_leader
from baoctl.settings import Settings, from_environment
from contracts.api.group import CLUSTERS
from runtime.builtin_kinds import POD
from runtime.leader.shard import Shard
from runtime.testing.api_server.kinds import custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.clock import ManualClock

NONE = (0.0, 0.0)
POD_KINDS: tuple[Kind, ...] = ((POD, None), (CLUSTERS, "ns"))


def settings(**environment: str) -> Settings:
    return from_environment({"KUBERNETES_SERVICE_HOST": "192.0.2.1", **environment})


def plurals(chosen: Settings) -> set[str]:
    return {resource.plural for resource, _ in kinds_of_leader(chosen)}


def test_the_kinds_of_each_mode() -> None:
    own = {"openbaoclusters", "openbaobackups", "openbaorestores"}
    everywhere = plurals(settings())
    assert own < everywhere
    assert {"pods", "statefulsets", "persistentvolumeclaims"} < everywhere
    assert {namespace for _, namespace in kinds_of_leader(settings(WATCH_NAMESPACE="a"))} == {"a"}
    assert plurals(settings(WATCH_NAMESPACE="a")) == everywhere
    assert kinds_of_leader(settings(WATCH_NAMESPACE="a,b")) == ()
    assert plurals(settings(TENANCY_MODE="multi-tenant")) == {*own, "openbaotenants"}
    more = plurals(settings(DATACENTERS="true")) - everywhere
    assert more == {"datacenters", "bootstrapservicesets", "bootstrapworkloads"} | {
        "deployments",
        "daemonsets",
    }
    second = dataclasses.replace(settings(DATACENTERS="true"), shard=Shard(1, 2))
    assert plurals(second) == everywhere


async def test_a_missing_kind_delays_readiness_and_is_reported() -> None:
    clock = ManualClock()
    server, rng = FakeApiServer(clock, random.Random(1)), random.Random(1)
    preflight = Preflight(client_of(FakeWire(server, rng, latency=NONE)), clock, POD_KINDS)
    assert preflight.failing() is not None
    with capture_logs() as lines:
        task = asyncio.create_task(preflight.ready())
        await clock.settle()
        assert str(CLUSTERS) in (preflight.failing() or "")
        assert len(lines) == 1
    server.serve(custom(CLUSTERS))
    await clock.advance(RETRY_SECONDS)
    await task
    assert preflight.failing() is None


async def test_the_preflight_has_a_timeout() -> None:
    clock = ManualClock()
    server, rng = FakeApiServer(clock, random.Random(1)), random.Random(1)
    wire = FakeWire(server, rng, latency=NONE)
    preflight = Preflight(client_of(wire), clock, POD_KINDS, seconds=10.0)
    task = asyncio.create_task(preflight.ready())
    await clock.advance(10.0)
    with pytest.raises(TimeoutError):
        await task
    assert preflight.failing() is not None
