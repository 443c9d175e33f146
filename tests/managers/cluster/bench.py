"""A cluster reconciler with a fake API server, which runs one reconcile at a time."""

from __future__ import annotations

import copy

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from contracts.owned_kinds import PRUNED
from managers.cluster.apply.actions import ClusterEffects
from managers.cluster.apply.status_writer import DETAIL_INTERVAL, StatusWriter
from managers.cluster.delete import Deletion
from managers.cluster.reconcile import ClusterReconciler
from managers.jobs.client import Jobs
from managers.operation_lock.client import OperationLocks
from managers.upgrade.actions import UpgradeActions
from managers.upgrade.observe import UpgradeObserver
from runtime.builtin_kinds import CONFIG_MAP, POD, PVC, SECRET, STATEFUL_SET
from runtime.outcome import Outcome
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import FakeApi, Outside, StillInformer
from tests.gen.job_templates import FixedJobTemplates
from tests.managers.cluster.parts import applier_of, observer_of

KEY = ObjectKey(gen.NAMESPACE, "x")
STATUS = "apply/status OpenBaoCluster x"


class Bench:
    """One reconciler whose caches are synced with the API server before each reconcile."""

    def __init__(self, cluster: gen.Cluster, api: FakeApi | None = None) -> None:
        self.api = (api or FakeApi()).with_objects((CLUSTERS, cluster.object()))
        self.outside = Outside(self.api)
        kinds = (*PRUNED, STATEFUL_SET, POD, PVC)
        self.clusters = StillInformer(CLUSTERS)
        self.caches = {kind: StillInformer(kind) for kind in kinds}
        observer = observer_of(self.outside, self.caches, upgrades=UpgradeObserver(self.api, bytes))
        locks = OperationLocks(self.api, self.clusters, self.outside.clock)
        self.job_templates = FixedJobTemplates()
        acts = UpgradeActions(locks, Jobs(self.api), self.job_templates)
        context = self.outside.context
        self.reconcile = ClusterReconciler(
            self.clusters,
            observer,
            applier_of(self.api, self.caches, self.outside.clock),
            Deletion(context, self.caches),
            StatusWriter(self.api, self.clusters, self.outside.events, self.outside.clock),
            ClusterEffects(context, self.outside.logins, acts),
        )

    async def turn(self, after: float = 0.0) -> Outcome:
        """Sync the caches, and run one reconcile after so many seconds."""
        await self.outside.clock.advance(after)
        self.clusters.says(*self.api.of(CLUSTERS))
        for kind, cache in self.caches.items():
            cache.says(*self.api.of(kind))
        self.api.calls.clear()
        return await self.reconcile(KEY)

    async def until_quiet(self, turns: int = 10, *, after: float = 0.0) -> Outcome:
        """Reconcile until a reconcile writes nothing, from so many seconds later on."""
        await self.outside.clock.advance(after)
        for _ in range(turns):
            outcome = await self.turn()
            if not self.writes:
                return outcome
            await self.outside.clock.advance(DETAIL_INTERVAL)
        raise AssertionError(f"still writing after {turns} passes: {self.writes}")

    async def resume(self, former: Bench) -> None:
        """Continue as the next operator of a former bench, until a reconcile writes nothing."""
        self.api.objects[(CLUSTERS, KEY)] = copy.deepcopy(former.cluster)
        await self.outside.clock.advance(former.outside.clock.monotonic())
        await self.until_quiet()

    @property
    def writes(self) -> list[str]:
        return [str(call) for call in self.api.calls if call.verb not in ("get", "peek")]

    @property
    def cluster(self) -> Object:
        return self.api.objects[(CLUSTERS, KEY)]

    def ask_for(self, **fields: object) -> None:
        """Change the spec as a user."""
        changed = copy.deepcopy(self.cluster)
        changed["spec"].update(fields)
        changed["metadata"]["generation"] += 1
        self.api.with_objects((CLUSTERS, changed))

    def delete(self) -> None:
        """Delete the cluster as a user."""
        leaving = copy.deepcopy(self.cluster)
        leaving["metadata"]["deletionTimestamp"] = self.outside.clock.now().isoformat()
        self.api.with_objects((CLUSTERS, leaving))

    def observe_stateful_set(self) -> None:
        """Act as the StatefulSet controller, which observes the newest spec."""
        live = self.api.objects[(STATEFUL_SET, KEY)]
        self.api.with_objects((STATEFUL_SET, {**live, "status": {"observedGeneration": 9}}))

    def condition(self, kind: str) -> tuple[str, str]:
        (condition,) = [c for c in self.cluster["status"]["conditions"] if c["type"] == kind]
        return condition["status"], condition["reason"]

    def label_as_leader(self, ordinal: int) -> None:
        """Label a pod as the leader, whatever the other labels are."""
        live = copy.deepcopy(self.api.objects[(POD, ObjectKey(gen.NAMESPACE, f"x-{ordinal}"))])
        live["metadata"]["labels"][labels.SERVER_ACTIVE] = "true"
        self.api.with_objects((POD, live))

    def start_pods(self, count: int) -> None:
        """Act as the StatefulSet controller, the kubelet and the servers."""
        live = self.api.objects[(STATEFUL_SET, KEY)]
        annotations = live["spec"]["template"]["metadata"]["annotations"]
        template, files = annotations[labels.TEMPLATE_HASH], annotations[labels.RELOAD_HASH]
        image = live["spec"]["template"]["spec"]["containers"][0]["image"]
        self.observe_stateful_set()
        for n in range(count):
            pod = gen.pod(n).with_template(template).with_files(files).ready(leading=n == 0)
            self.api.with_objects((POD, pod.running(image).object()))


_BOOTED: dict[str, Bench] = {}


async def running_bench(cluster: gen.Cluster, *secrets: Object) -> Bench:
    """A running cluster of three, with these Secrets.

    Each boots once per process; its copies have a new operator.
    """
    key = repr((gen.INSTALLATION, cluster, secrets))
    if key not in _BOOTED:
        bench = _BOOTED[key] = Bench(cluster)
        bench.api.with_objects(*((SECRET, secret) for secret in secrets))
        await bench.until_quiet()
        bench.start_pods(1)
        await bench.until_quiet()
        bench.start_pods(3)
        await bench.until_quiet()
    copied = Bench(cluster, _BOOTED[key].api.copied())
    await copied.resume(_BOOTED[key])
    return copied


CONFIG = (CONFIG_MAP, ObjectKey(gen.NAMESPACE, "x-config"))
