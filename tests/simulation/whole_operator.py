"""All controllers of one operator process over the fake API server, in virtual time.

The OpenBao servers do not respond; the test writes the pods. Every write of the operator is
recorded with the state of the cluster in its cache at that time.
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
    """One write. `during_pause`: the cluster was paused in the cache of the operator."""

    what: str
    during_pause: bool


class RecordingWire(FakeWire):
    """The wire to the API server, which records every write.

    `meanwhile` is called when a write is sent.
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
    """A fake API server, and an operator that can be restarted."""

    def __init__(self, simulation: Simulation, patch: pytest.MonkeyPatch) -> None:
        self.simulation = simulation
        self.clock = simulation.clock
        self.server = FakeApiServer(simulation.clock, simulation.rng)
        for kind in (CLUSTERS, BACKUPS, RESTORES):
            self.server.serve(custom(kind))
        self.server.serve(custom(DEFINITION))
        self.server.serve(Kind(INGRESS, status=True))
        self.wire = RecordingWire(self.server, simulation.rng)
        self.requests: list[str] = []
        """Requests to servers other than reads."""
        patch.setattr(Bao, "_call", self._unavailable)
        patch.setattr(ServedCertificates, "of", _all_serve)

    async def _unavailable(self, method: str, address: str, path: str, **_: Any) -> Any:
        if method != "GET":
            self.requests.append(f"{method} {path}")
        raise BaoError(f"{path} of {address}: connection refused")

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[Parts]:
        """Run one process."""
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
        clusters = parts.informers.informer(Selection(CLUSTERS, transform=parts.share))
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

    # --- writes of other clients ----------------------------------------------------------------

    def put(self, resource: Resource, obj: Object) -> None:
        """Write an object as another client."""
        new_obj = copy.deepcopy(obj)
        for field in ("uid", "resourceVersion", "generation"):
            new_obj["metadata"].pop(field, None)
        self.server.put(resource, new_obj, manager="somebody")

    def live(self, resource: Resource, name: str = "x") -> Object:
        """A copy of the stored object."""
        obj = self.server.get(resource, ObjectKey(gen.NAMESPACE, name))
        assert obj is not None, f"no {resource.kind} {name}"
        return copy.deepcopy(obj)

    def edit_spec(self, **fields: Any) -> None:
        """Edit the spec of the cluster as a user."""
        changed = self.live(CLUSTERS)
        changed["spec"].update(fields)
        self.put(CLUSTERS, changed)

    def start_pods(self, count: int) -> None:
        """Act as the StatefulSet controller, the kubelet and the servers."""
        live = self.live(STATEFUL_SET)
        marks = live["spec"]["template"]["metadata"]["annotations"]
        self.write_status(STATEFUL_SET, "x", {"observedGeneration": 99, "replicas": count})
        for n in range(count):
            pod = gen.pod(n).with_template(marks[labels.TEMPLATE_HASH])
            obj = pod.with_files(marks[labels.RELOAD_HASH]).ready(leading=n == 0).object()
            self.put(POD, obj)
            self.write_status(POD, f"x-{n}", obj["status"])

    def write_status(self, resource: Resource, name: str, status: Object) -> None:
        """Write the status of an object as another client."""
        live = self.live(resource, name)
        kind = self.server._kind(resource)
        key = ObjectKey(gen.NAMESPACE, name)
        body = {**live, "status": status}
        self.server.writes.update(WriteTarget(kind, key, "status", manager="somebody"), body)

    async def apply_status(
        self, resource: Resource, name: str, status: Object, manager: str
    ) -> None:
        """Apply a part of a status, as a Job does."""
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
        """Write labels or annotations of the cluster as a user."""
        changed = self.live(CLUSTERS)
        changed["metadata"].update(parts)
        self.put(CLUSTERS, changed)

    # --- reads ----------------------------------------------------------------------------------

    def take_writes(self) -> list[str]:
        """The writes since the last call, without events."""
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
