"""A status writer with an API server in a dict."""

import copy
from typing import Any

from contracts.api.cluster.status import ClusterStatus
from contracts.api.group import CLUSTERS
from contracts.records.event import EventRecord
from managers.cluster.apply.status_writer import StatusWriter
from runtime.types import Object
from tests import gen
from tests.gen.api import FakeApi, Outside, StillInformer
from tests.managers.cluster.bench import KEY

OLD = gen.cluster().initialized()


class StatusBench:
    """One cluster; the cache sees what the writer wrote."""

    def __init__(self, cluster: gen.Cluster = OLD, **more: Any) -> None:
        self.api = FakeApi().with_objects((CLUSTERS, cluster.object()))
        self.outside = Outside(self.api)
        self.cache = StillInformer(CLUSTERS)
        self.cache.says(*self.api.of(CLUSTERS))
        events, clock = self.outside.events, self.outside.clock
        self.writer = StatusWriter(self.api, self.cache, events, clock, **more)

    @property
    def live(self) -> Object:
        return gen.present(self.cache.get(KEY))

    async def write(self, status: ClusterStatus, *told: EventRecord) -> float | None:
        return await self.writer.write(copy.deepcopy(self.live), status, told)

    async def event_reasons(self) -> list[str]:
        return [reason for _, reason, _ in await self.outside.flush_events()]
