"""One API server in memory, and processes that reconcile its datacenters step by step.

Uses runtime.testing and managers.datacenter. `Objects.controllers` acts as the controllers and
the garbage collector of Kubernetes. A process sees changes only after `look`, so that a test sees
the steps in between.
"""

import copy
import random
from collections.abc import Mapping
from typing import Any

from contracts.api.group import CLUSTERS
from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from managers.datacenter.lifecycle.service import DatacenterService
from managers.datacenter.provider.kubernetes import RESOURCES, KubernetesProvider
from managers.datacenter.reconcile import (
    BootstrapWorkloadReconciler,
    DatacenterReconciler,
    EventReporter,
)
from managers.datacenter.sources.registry import SourceRegistry
from managers.datacenter.sources.service_sets import SetHandler
from managers.datacenter.store.kubernetes import KubernetesStore
from runtime.client.transport import HttpRequest, HttpResponse
from runtime.clock import Clock
from runtime.errors import ApiError, LeaseLost, Transient
from runtime.events import EventRecorder, Reporter
from runtime.metrics.metrics import Metrics
from runtime.outcome import Outcome
from runtime.testing.api_server.kinds import custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.api_server.writes import WriteTarget
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Request, Resource, is_terminating, key_of
from tests.contracts.datacenter import services
from tests.gen.api import FakeApi, StillInformer, owned_apply
from tests.managers.datacenter.bodies import OPENBAO
from tests.managers.datacenter.provider_bench import COUNTED, MINE

OWN = (DATACENTERS, SERVICE_SETS, WORKLOADS)
NAME, NAMESPACE = "fra1", "dc-fra1"
KEY = ObjectKey("", NAME)
PASSES = 40
# The status of a healthy workload.
WELL: Mapping[str, Object] = {
    "Deployment": {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1},
    "DaemonSet": dict.fromkeys(
        ("desiredNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable"), 1
    ),
    "StatefulSet": {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1},
    "OpenBaoCluster": {
        "readyReplicas": 3,
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Available", "status": "True"},
        ],
    },
}
VAULT: Object = {"name": "vault", "kind": "OpenBaoCluster", "openbao": OPENBAO}


body = services.service
"""A service as a user writes it."""


def datacenter(*bodies: Object, name: str = NAME, **spec: Any) -> Object:
    """A Datacenter as a user writes it; without services it declares an empty list."""
    place = {"namespace": f"dc-{name}", "region": "eu-central", "labels": {"tier": "edge"}}
    return services.datacenter_object(*bodies, name=name, **place | spec)


def service_set(name: str, *bodies: Object, priority: int = 0, **selector: Any) -> Object:
    """A BootstrapServiceSet for every datacenter that it selects."""
    return services.set_object(*bodies, name=name, priority=priority, selector=selector)


class CountingWire(FakeWire):
    """The wire of one process; `requests` are its requests as words."""

    def __init__(self, server: FakeApiServer, rng: random.Random) -> None:
        super().__init__(server, rng, latency=(0.0, 0.0))
        self.requests: list[str] = []
        self.namespaces: set[str] = set()

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        *before, plural, last = parts = call.path.split("/")
        if last == "status":
            plural, last = before[-1] + "/status", plural
        self.requests.append(f"{call.method} {plural} {last}")
        if "namespaces" in parts:
            self.namespaces.add(parts[parts.index("namespaces") + 1])
        return await super().request(call)


class Objects:
    """The objects on the server, which all processes share."""

    def __init__(self, clock: Clock) -> None:
        self.api = FakeApiServer(clock, random.Random(1))
        for resource in OWN:
            self.api.serve(custom(resource))
        for kind in COUNTED.values():
            self.api.serve(kind)

    def put(self, resource: Resource, obj: Object) -> None:
        """Write an object as a user; finalizers and other metadata of an existing one stay."""
        live = self.api.get(resource, key_of(obj))
        metadata = {**(live["metadata"] if live else {}), **obj["metadata"]}
        self.api.put(resource, {**obj, "metadata": metadata}, manager="somebody")

    def edit(self, name: str = NAME, **spec: Any) -> None:
        """Change fields of a Datacenter as a user; None removes a field."""
        live = copy.deepcopy(self.live(DATACENTERS, name))
        changed = {**live["spec"], **spec}
        live["spec"] = {field: value for field, value in changed.items() if value is not None}
        self.api.put(DATACENTERS, live, manager="somebody")

    def delete(self, resource: Resource, name: str, namespace: str = "") -> None:
        """Delete an object as a user."""
        self.api.remove(resource, ObjectKey(namespace, name))

    def live(self, resource: Resource, name: str, namespace: str = "") -> Object:
        """The object on the server."""
        obj = self.api.get(resource, ObjectKey(namespace, name))
        assert obj is not None, f"no {resource.kind} {name}"
        return obj

    def names(self, *resources: Resource) -> list[str]:
        """Kind and name of all objects of these kinds."""
        return sorted(
            f"{resource.kind} {key_of(obj).name}"
            for resource in resources
            for obj in self.api.objects(resource)
        )

    @property
    def states(self) -> dict[str, str]:
        """The state in the status of each record, by its name."""
        records = self.api.objects(WORKLOADS)
        return {key_of(obj).name: (obj.get("status") or {}).get("state", "") for obj in records}

    def says(self, resource: Resource, name: str, **status: Any) -> None:
        """Write the status of a workload as its controller."""
        live = self.live(resource, name, NAMESPACE)
        seen = {"observedGeneration": live["metadata"]["generation"]}
        self.write_status(resource, live, {**seen, **status})

    def write_status(self, resource: Resource, live: Object, status: Object) -> None:
        """Write a status."""
        kind = COUNTED.get(resource) or custom(resource)
        target = WriteTarget(kind, key_of(live), "status", "controller")
        self.api.writes.update(target, {**live, "status": status})

    def controllers(self) -> None:
        """Make every workload healthy, and complete deletions."""
        for resource in COUNTED:
            for live in list(self.api.objects(resource)):
                if is_terminating(live):
                    metadata = {**live["metadata"], "finalizers": []}
                    self.api.put(resource, {**live, "metadata": metadata})
                    continue
                desired = live["spec"].get("replicas", 1)
                well = WELL[resource.kind].items()
                status = {field: desired if value == 1 else value for field, value in well}
                self.says(resource, key_of(live).name, **status)

    def condition(self, kind: str = "Ready", name: str = NAME) -> tuple[str, str, str]:
        """Status, reason and message of a condition of a Datacenter."""
        conditions = self.live(DATACENTERS, name)["status"]["conditions"]
        (condition,) = [each for each in conditions if each["type"] == kind]
        return condition["status"], condition["reason"], condition["message"]

    def ready(self, name: str = NAME) -> tuple[str, str]:
        """Status and reason of Ready."""
        return self.condition("Ready", name)[:2]


class Server(Objects):
    """The same with a clock of the test."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        super().__init__(self.clock)


class Operator:
    """One process: its caches, its sources, and both reconcilers."""

    def __init__(self, server: Server, seed: int = 1) -> None:
        self.server, self.clock = server, server.clock
        rng = random.Random(seed)
        self.wire = CountingWire(server.api, rng)
        self.lost = False
        client = client_of(self.wire, guard=self._guard)
        self.metrics = Metrics()
        own = {resource: StillInformer(resource) for resource in OWN}
        children = {
            resource: StillInformer(resource, "" if resource == CLUSTERS else MINE)
            for resource in RESOURCES
        }
        self.caches = {**own, **children}
        apply = owned_apply(client, children, self.clock, self.metrics)
        self.registry = SourceRegistry()
        self.store = KubernetesStore(client, own[WORKLOADS], self.clock)
        provider = KubernetesProvider(client, children, apply)
        self._noted = FakeApi()
        self.recorder = self._new_recorder()
        providers = {provider.name: provider}
        self.service = DatacenterService(
            self.store, providers, self.registry, self.clock, rng, self._emit
        )
        self.reconcile = DatacenterReconciler(
            own[DATACENTERS], self.store, self.service, client, self.clock
        )
        self.drive = BootstrapWorkloadReconciler(
            own[DATACENTERS], own[WORKLOADS], self.store, self.service
        )
        own[SERVICE_SETS].add_handler(SetHandler(self.registry, own[SERVICE_SETS].get))
        self.look()

    def _guard(self) -> None:
        if self.lost:
            raise LeaseLost

    def _new_recorder(self) -> EventRecorder:
        return EventRecorder(self._noted, Reporter("t.example.com/op", "1"), clock=self.clock)

    def _emit(self, *event: Any) -> None:
        EventReporter(self.recorder)(*event)

    def look(self) -> None:
        """Update the caches from the server."""
        for resource, cache in self.caches.items():
            selected = filter(cache.selection.matches, self.server.api.objects(resource))
            # A deletion has a version that no object has.
            cache._version = self.server.api.storage.revision
            cache.says(*map(cache.selection.shape, selected))

    async def tick(self, name: str = NAME) -> Outcome:
        """Reconcile a Datacenter with current caches."""
        self.look()
        return await self.reconcile(Request("", name))

    async def record(self, service: str, name: str = NAME) -> Outcome:
        """Reconcile a record with current caches."""
        self.look()
        return await self.drive(Request("", f"{name}.{service}"))

    async def round(self) -> None:
        """Reconcile everything once; failures are retried in the next round."""
        for resource, datacenter in ((DATACENTERS, self.reconcile), (WORKLOADS, self.drive)):
            for live in list(self.server.api.objects(resource)):
                self.look()
                try:
                    await datacenter(Request("", key_of(live).name))
                except (ApiError, Transient):
                    continue
        self.look()

    async def settle(self) -> None:
        """Run rounds until one sends nothing; workloads become ready before each."""
        for _ in range(PASSES):
            self.server.controllers()
            self.wire.requests.clear()
            await self.round()
            if not self.wire.requests:
                return
        raise AssertionError(f"the requests do not end: {self.wire.requests}")

    def take_requests(self) -> list[str]:
        """Return the requests since the last call."""
        sent, self.wire.requests = self.wire.requests, []
        return sent

    async def events_sent(self) -> list[str]:
        """Object and reason of the events since the last call, in order."""
        self.recorder.stop()
        await self.recorder.run()
        lines = [
            f"{call.body['regarding']['kind']} {call.body['regarding']['name']} "
            f"{call.body['reason']}"
            for call in self._noted.calls
        ]
        self._noted.calls.clear()
        # A new recorder does not deduplicate, so repeated events are visible.
        self.recorder = self._new_recorder()
        return lines
