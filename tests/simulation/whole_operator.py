"""All controllers of one operator process over the fake API server, in virtual time.

The servers of OpenBao do not answer; pods are played by the test. Every write that the operator
sends is noted with what its cache held of the cluster at that moment.
"""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from baoctl.controllers.components import Parts
from baoctl.process.wiring import build_controllers
from baoctl.settings import from_environment
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from contracts.naming import labels
from contracts.records.observed import PodFacts
from managers.bao.client import Bao, BaoError
from managers.certs.probe import ServedCertificates
from managers.context.pause_guard import is_paused, with_pause_check
from runtime.builtin_kinds import EVENT, INGRESS, JOB, POD, STATEFUL_SET
from runtime.cache.informers import InformerSet
from runtime.cache.optional import DEFINITION
from runtime.cache.selection import Selection
from runtime.client.transport import HttpRequest, HttpResponse
from runtime.controller.loop_slice import LoopSlice
from runtime.events import EventRecorder, Reporter
from runtime.limits.nesting import shallow
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.kinds import Kind, custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.api_server.writes import WriteTarget
from runtime.testing.simulation import Simulation
from runtime.types import Object, ObjectKey, Resource
from tests import gen

KEY = ObjectKey(gen.NAMESPACE, "x")
ENVIRONMENT = {
    "POD_NAMESPACE": "operators",
    "OPERATOR_IMAGE": "registry.example.com/operator:1",
    "RELATED_IMAGE_OPENBAO": "registry.example.com/openbao",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
}


@dataclass(frozen=True, slots=True)
class Write:
    """One write as it was sent. `seen_paused`: the cache of the operator knew of the pause."""

    what: str
    during_pause: bool


class Noting(FakeWire):
    """The way of the operator to the API server, with a note of every write.

    `meanwhile` is what somebody else does at the moment in which a write is sent.
    """

    def __init__(self, server: FakeApiServer, rng: random.Random) -> None:
        super().__init__(server, rng)
        self.writes: list[Write] = []
        self.is_paused: Callable[[], bool] = lambda: False
        self.meanwhile: Callable[[str], None] = lambda _: None

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        if call.writes:
            what = f"{call.method} {call.path.partition('?')[0]}"
            self.writes.append(Write(what, self.is_paused()))
            self.meanwhile(what)
        return await super().request(call)


async def _all_serve(
    _: ServedCertificates, pods: Iterable[PodFacts], expected: str, __: str
) -> dict[str, str]:
    """Every server serves the newest certificate."""
    return {pod.uid: expected for pod in pods}


class World:
    """A fake API server and an operator that may be ended and begun anew."""

    def __init__(self, simulation: Simulation, patch: pytest.MonkeyPatch) -> None:
        self.simulation = simulation
        self.clock = simulation.clock
        self.server = FakeApiServer(simulation.clock, simulation.rng)
        for kind in (CLUSTERS, BACKUPS, RESTORES):
            self.server.serve(custom(kind))
        self.server.serve(custom(DEFINITION))
        self.server.serve(Kind(INGRESS, status=True))
        self.wire = Noting(self.server, simulation.rng)
        self.requests: list[str] = []
        """What servers were asked to do, beside mere questions."""
        patch.setattr(Bao, "_call", self._nobody)
        patch.setattr(ServedCertificates, "of", _all_serve)

    async def _nobody(self, method: str, address: str, path: str, **_: Any) -> Any:
        if method != "GET":
            self.requests.append(f"{method} {path}")
        raise BaoError(f"{path} of {address}: nobody is there")

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[Parts]:
        """One life of a process."""
        client = client_of(self.wire, guard=with_pause_check(None))
        metrics, rng = Metrics(), random.Random(self.simulation.seed)
        parts = Parts(
            settings=from_environment(ENVIRONMENT),
            clock=self.clock,
            rng=rng,
            metrics=metrics,
            client=client,
            lease_client=client,
            elector=None,
            informers=InformerSet(client, clock=self.clock, rng=rng, metrics=metrics),
            events=EventRecorder(client, Reporter("t.example.com/op", "1"), clock=self.clock),
            loop_slice=LoopSlice(self.clock),
        )
        controllers = build_controllers(parts)
        clusters = parts.informers.informer(Selection(CLUSTERS, transform=shallow))
        self.wire.is_paused = lambda: is_paused(clusters.get(KEY))
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(run())
                for run in (
                    parts.informers.run,
                    parts.events.run,
                    *(controller.run for controller in controllers),
                )
            ]
            try:
                yield parts
            finally:
                for controller in controllers:
                    controller.stop()
                for task in tasks:
                    task.cancel()

    async def rest(self, seconds: float = 30.0) -> None:
        """Let time pass."""
        await self.clock.sleep(seconds)

    # --- what others do -------------------------------------------------------------------------

    def put(self, resource: Resource, obj: Object) -> None:
        """Somebody writes an object."""
        new_obj = copy.deepcopy(obj)
        for field in ("uid", "resourceVersion", "generation"):
            new_obj["metadata"].pop(field, None)
        self.server.put(resource, new_obj, manager="somebody")

    def live(self, resource: Resource, name: str = "x") -> Object:
        """A copy of what is stored."""
        obj = self.server.get(resource, ObjectKey(gen.NAMESPACE, name))
        assert obj is not None, f"no {resource.kind} {name}"
        return copy.deepcopy(obj)

    def ask_for(self, **fields: Any) -> None:
        """Somebody edits the spec of the cluster."""
        changed = self.live(CLUSTERS)
        changed["spec"].update(fields)
        self.put(CLUSTERS, changed)

    def start_pods(self, count: int) -> None:
        """Do what the StatefulSet controller, the kubelet and the servers do."""
        live = self.live(STATEFUL_SET)
        marks = live["spec"]["template"]["metadata"]["annotations"]
        self.write_status(STATEFUL_SET, "x", {"observedGeneration": 99, "replicas": count})
        for n in range(count):
            pod = gen.pod(n).with_template(marks[labels.TEMPLATE_HASH])
            obj = pod.with_files(marks[labels.RELOAD_HASH]).ready(leading=n == 0).object()
            self.put(POD, obj)
            self.write_status(POD, f"x-{n}", obj["status"])

    def write_status(self, resource: Resource, name: str, status: Object) -> None:
        """Somebody writes the status of an object."""
        live = self.live(resource, name)
        kind = self.server._kind(resource)
        key = ObjectKey(gen.NAMESPACE, name)
        body = {**live, "status": status}
        self.server.writes.update(WriteTarget(kind, key, "status", manager="somebody"), body)

    async def apply_status(
        self, resource: Resource, name: str, status: Object, manager: str
    ) -> None:
        """A job says something of itself, in its own part of a status."""
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "namespace": gen.NAMESPACE},
            "status": status,
        }
        await client_of(FakeWire(self.server, self.simulation.rng)).apply(
            resource, body, field_manager=manager, force=True, subresource="status"
        )

    def change_metadata(self, **parts: Any) -> None:
        """Somebody writes labels or annotations of the cluster."""
        changed = self.live(CLUSTERS)
        changed["metadata"].update(parts)
        self.put(CLUSTERS, changed)

    # --- what is there --------------------------------------------------------------------------

    def take_writes(self) -> list[str]:
        """The writes since the last question, without events."""
        words = [write.what for write in self.wire.writes if f"/{EVENT.plural}" not in write.what]
        self.wire.writes.clear()
        return words

    def condition(self, kind: str) -> tuple[str, str]:
        conditions = self.live(CLUSTERS)["status"]["conditions"]
        (condition,) = [each for each in conditions if each["type"] == kind]
        return condition["status"], condition["reason"]

    @property
    def jobs(self) -> list[str]:
        return [obj["metadata"]["name"] for obj in self.server.objects(JOB)]
