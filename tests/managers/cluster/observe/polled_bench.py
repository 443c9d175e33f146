"""A reconciler whose caches poll instead of watching."""

import random
from collections import Counter

from contracts.api.group import CLUSTERS
from contracts.naming import names
from contracts.owned_kinds import PRUNED
from managers.bao.client import BaoError
from managers.bao.models import ServerHealth
from managers.cluster.apply.actions import ClusterEffects
from managers.cluster.apply.apply import Applier
from managers.cluster.apply.status_writer import StatusWriter
from managers.cluster.delete import Deletion
from managers.cluster.observe.health_poller import HealthPoller
from managers.cluster.observe.polling import PollingCacheRefresher
from managers.cluster.reconcile import ClusterReconciler
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.cache.polling import PolledMirror
from runtime.cache.selection import Selection
from runtime.metrics.metrics import Metrics
from runtime.outcome import Outcome, timer_of
from runtime.types import ObjectKey
from tests import gen
from tests.gen.api import FakeApi, StillInformer, owned_apply
from tests.managers.cluster.bench import KEY, Bench
from tests.managers.cluster.parts import observer_of


class Servers:
    """Health responses of the servers."""

    def __init__(self) -> None:
        self.leader = ""
        self.silent: set[str] = set()
        self.request_count = 0
        self.closed = 0

    def __call__(self, authority: str, server_name: str) -> "Servers":
        return self

    async def health(self, address: str) -> ServerHealth:
        self.request_count += 1
        if address in self.silent:
            raise BaoError("no answer")
        return ServerHealth(initialized=True, sealed=False, standby=address != self.leader)

    async def close(self) -> None:
        self.closed += 1


class PolledBench(Bench):
    """The bench of the reconciler with caches that get no events."""

    def __init__(self, cluster: gen.Cluster, api: FakeApi | None = None) -> None:
        super().__init__(cluster, api)
        self.servers = Servers()
        self.restart()

    def restart(self) -> None:
        """Start a new process, without any state."""
        clock, rng, metrics = self.outside.clock, random.Random(1), Metrics()
        kinds = (*PRUNED, STATEFUL_SET, POD, PVC)
        self.mirrors = {
            kind: PolledMirror(self.api, Selection(kind), clock=clock, rng=rng, metrics=metrics)
            for kind in kinds
        }
        self.clusters = StillInformer(CLUSTERS)
        self.polling = PollingCacheRefresher(
            self.mirrors, dict, HealthPoller(self.servers), clock, rng
        )
        context = self.outside.context
        observer = observer_of(self.outside, self.mirrors, cache_refresher=self.polling)
        self.reconcile = ClusterReconciler(
            self.clusters,
            observer,
            Applier(owned_apply(self.api, self.mirrors, clock, metrics)),
            Deletion(context, self.mirrors),
            StatusWriter(self.api, self.clusters, self.outside.events, clock),
            ClusterEffects(context, self.outside.logins),
        )

    async def turn(self, after: float = 0.0) -> Outcome:
        """Run one reconcile after so many seconds; only the cluster itself is watched."""
        await self.outside.clock.advance(after)
        self.clusters.says(*self.api.of(CLUSTERS))
        self.api.calls.clear()
        return await self.reconcile(KEY)

    async def follow(self, seconds: float) -> Counter[str]:
        """Run the reconciles that the timers trigger, and count all requests."""
        counted: Counter[str] = Counter()
        end = self.outside.clock.monotonic() + seconds
        while True:
            after = timer_of(await self.turn())
            counted.update(f"{call.verb} {call.kind}" for call in self.api.calls)
            if after is None or self.outside.clock.monotonic() + after > end:
                return counted
            await self.outside.clock.advance(after)

    def reads_of(self, kind: str) -> list[str]:
        return sorted(
            call.name for call in self.api.calls if (call.verb, call.kind) == ("get", kind)
        )

    def address(self, ordinal: int) -> str:
        key = ObjectKey(gen.NAMESPACE, names.pod("x", ordinal))
        return str(self.api.objects[(POD, key)]["status"]["podIP"])
