"""The stores of datacenters over a fake API server."""

import copy
import random

from contracts.datacenter.kinds import WORKLOADS
from contracts.datacenter.workload_records import ServiceRecord
from managers.datacenter.store.kubernetes import KubernetesStore
from runtime.client.transport import HttpRequest
from runtime.errors import LeaseLost
from runtime.testing.api_server.kinds import custom
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey
from tests.gen.api import StillInformer
from tests.managers.datacenter.store_contract import FRA

KEY = ObjectKey("", "fra1.shipper")
WRITES = ("POST", "PUT", "PATCH", "DELETE")


class Cluster:
    """An API server, and a store whose cache sees only its own writes."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.server = FakeApiServer(self.clock, random.Random(1))
        self.server.serve(custom(WORKLOADS))
        self.lost = False
        self.store = self.new_store()

    def new_store(self) -> KubernetesStore:
        """A store of another process; its cache has the present objects and no later ones."""
        wire = FakeWire(self.server, random.Random(2), latency=(0.0, 0.0))
        self.cache = StillInformer(WORKLOADS)
        self.look()
        return KubernetesStore(client_of(wire, guard=self._guard), self.cache, self.clock)

    def look(self) -> None:
        """Update the cache from the server."""
        self.cache.says(*copy.deepcopy(self.server.objects(WORKLOADS)))

    @property
    def live(self) -> Object:
        workload = self.server.get(WORKLOADS, KEY)
        assert workload is not None
        return workload

    @property
    def writes(self) -> list[HttpRequest]:
        """The write requests."""
        return [call for call in self.server.requests if call.method in WRITES]

    async def record(self) -> ServiceRecord:
        (record,) = await self.store.list_by_datacenter(FRA)
        return record

    def _guard(self) -> None:
        if self.lost:
            raise LeaseLost
