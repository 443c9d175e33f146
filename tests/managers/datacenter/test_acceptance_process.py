"""A complete process that reconciles datacenters: its retries, its events, and its idle state.

The process runs in virtual time, on an API server in memory.
"""

from collections import Counter
from datetime import datetime, timedelta

import pytest

from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from managers.datacenter.sources import entry_points
from runtime.builtin_kinds import EVENT, STATEFUL_SET
from runtime.client.transport import HttpRequest
from runtime.events import REPEAT_SECONDS
from runtime.testing.api_server.faults import Fault, FaultKind, NoFaults
from tests.baoctl.datacenter_world import World, play
from tests.managers.datacenter.bodies import service
from tests.managers.datacenter.kubernetes_bench import NAMESPACE, body, datacenter, service_set
from tests.managers.datacenter.service_bench import StaticHook

ROW = "fra1.shipper"
SHIPPER = body("shipper")
SHOP = body("shop", dependsOn=["dns"])
LONG = 721.0
"""Seconds that are longer than every wait."""


# --- retries --------------------------------------------------------------------------------------


class RefusedWrites:
    """Refuses every write of a Deployment, and records its time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.tried: list[datetime] = []

    def next(self, call: HttpRequest) -> Fault | None:
        if "/deployments/" not in call.path or not call.writes:
            return None
        self.tried.append(self._world.simulation.clock.now())
        return Fault(FaultKind.INTERNAL)


def test_retries_run_at_the_announced_times() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            await world.soon()
            refused = world.wire.faults = RefusedWrites(world)
            world.put(DATACENTERS, datacenter(SHIPPER))
            planned = []
            for attempt in range(1, 10):
                while len(refused.tried) < attempt:
                    await world.rest(1.0)
                await world.rest(0.5)
                status = world.live(WORKLOADS, ROW)["status"]
                assert (status["state"], status["attempts"]) == ("Failed", attempt)
                planned.append(datetime.fromisoformat(status["nextRetryTime"]))
            for attempt, (due, came) in enumerate(zip(planned, refused.tried[1:], strict=False)):
                wait = due - refused.tried[attempt]
                assert timedelta() <= came - due <= 0.1 * wait, attempt
        assert len(planned) == 9

    play(main)


# --- events and writes ----------------------------------------------------------------------------


def events_sent(world: World) -> dict[str, int]:
    """The number of each event, by object and reason."""
    events = world.api.objects(EVENT)
    return Counter(f"{event['regarding']['name']} {event['reason']}" for event in events)


def test_each_transition_causes_one_event(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = StaticHook("net", service("agent"))
    monkeypatch.setattr(entry_points, "register_hooks", lambda registry: registry.register(hook))

    async def main(world: World) -> None:
        async with world.operator():
            await world.soon()
            refused = world.wire.faults = RefusedWrites(world)
            world.put(DATACENTERS, datacenter(SHIPPER))
            # Longer than the recorder deduplicates events.
            await world.rest(2.5 * REPEAT_SECONDS)
            assert len(refused.tried) > 16
            world.wire.faults = NoFaults()
            await world.rest(LONG)
            for _ in range(3):
                await world.well()
            hook.error = ValueError("no route")
            world.put(SERVICE_SETS, service_set("net", body("shipper", replicas=3)))
            await world.rest(100.0)
            world.delete(SERVICE_SETS, "net")
            await world.soon()
            world.edit(bootstrapServices=[])
            for _ in range(4):
                await world.well()
            assert world.states == {"fra1.agent": "Running"}
        assert events_sent(world) == {
            "fra1 Conflict": 1,
            "fra1 SourceDegraded": 1,
            "fra1.agent Started": 1,
            "fra1.agent Failed": 1,
            "fra1.agent Succeeded": 1,
            "fra1.shipper Started": 1,
            "fra1.shipper Failed": 1,
            "fra1.shipper Succeeded": 1,
            "fra1.shipper Retired": 1,
        }

    play(main)


def test_persistent_failures_cause_no_writes() -> None:
    async def main(world: World) -> None:
        async with world.operator():
            world.put(DATACENTERS, datacenter(SHIPPER, SHOP, body("rejected", kind="StatefulSet")))
            # One breaks a rule, the other has a conflicting name.
            world.put(SERVICE_SETS, service_set("wrong", body("a", kind="DaemonSet", replicas=2)))
            world.put(SERVICE_SETS, service_set("rival", body("shipper", replicas=9)))
            metadata = {"name": "fra1-rejected", "namespace": NAMESPACE}
            world.api.put(STATEFUL_SET, {"metadata": metadata, "spec": {}}, manager="somebody")
            for _ in range(3):
                await world.well()
            waiting = {"fra1.rejected": "Failed", "fra1.shop": "Pending"}
            assert world.states == {**waiting, "fra1.shipper": "Running"}
            assert world.ready() == ("False", "ServicesFailed")
            assert world.condition("SourcesReady")[:2] == ("False", "SourceDegraded")
            assert world.condition("NoConflicts")[:2] == ("False", "Conflict")
            world.wire.requests.clear()
            revision = world.api.storage.revision
            await world.rest(300.0)
            assert [request for request in world.requests if not request.startswith("GET")] == []
            assert world.api.storage.revision == revision

    play(main)
