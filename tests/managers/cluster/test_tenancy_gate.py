"""managers.cluster.tenancy_gate: no reconcile without rights, and what is reported."""

import pytest

from contracts.api.group import CLUSTERS
from managers.cluster.apply.status_writer import StatusWriter
from managers.cluster.tenancy_gate import GRACE_PERIOD, GatedReconciler, GateReporter
from runtime.outcome import Done, Outcome, Wait
from runtime.types import Object, Request
from tests import gen
from tests.gen.api import Outside, StillInformer
from tests.managers.cluster.bench import KEY, STATUS

PENDING = Wait("SecretAccessPending", "not granted yet")
CLOSED = Wait("TenantNotProvisioned", "nobody opened it")


class Bench:
    def __init__(self) -> None:
        self.outside = Outside()
        self.clusters = StillInformer(CLUSTERS)
        self.passes = 0
        self.tenancy_outcome: Wait | None = None
        statuses = StatusWriter(
            self.outside.api, self.clusters, self.outside.events, self.outside.clock
        )
        self.telling = GateReporter(
            self.inner, self.clusters, self.gate, statuses, self.outside.clock
        )
        self.show(gen.cluster())

    def show(self, cluster: gen.Cluster) -> None:
        self.outside.api.with_objects((CLUSTERS, cluster.object()))
        self.clusters.says(*self.outside.api.of(CLUSTERS))

    async def inner(self, request: Request) -> Outcome:
        self.passes += 1
        return Done()

    def gate(self, live: Object) -> Wait | None:
        return self.tenancy_outcome


async def test_a_reconcile_runs_only_with_an_open_gate() -> None:
    bench = Bench()
    gated = GatedReconciler(bench.inner, bench.clusters, bench.gate)
    assert await gated(KEY) == Done()
    bench.tenancy_outcome = CLOSED
    assert await gated(KEY) == CLOSED
    assert bench.passes == 1


async def test_a_deleted_cluster_passes_any_gate() -> None:
    bench = Bench()
    bench.tenancy_outcome = CLOSED
    bench.clusters.says()
    assert await GatedReconciler(bench.inner, bench.clusters, bench.gate)(KEY) == Done()
    assert await bench.telling(KEY) == Done()
    assert bench.passes == 2


async def test_a_short_wait_is_not_reported() -> None:
    bench = Bench()
    bench.tenancy_outcome = PENDING
    outcome = await bench.telling(KEY)
    assert outcome == Wait(PENDING.reason, PENDING.message, GRACE_PERIOD)
    bench.tenancy_outcome = None
    assert await bench.telling(KEY) == Done()
    assert bench.outside.api.take_requests() == []


async def test_a_persistent_wait_is_reported_in_the_status() -> None:
    bench = Bench()
    bench.tenancy_outcome = PENDING
    await bench.telling(KEY)
    await bench.outside.clock.advance(GRACE_PERIOD)
    assert await bench.telling(KEY) == PENDING
    conditions = bench.outside.api.body_of(STATUS)["status"]["conditions"]
    assert {condition["reason"] for condition in conditions} == {"SecretAccessPending"}
    assert bench.passes == 0


# sentence: (cluster, wait of the gate)
SILENT: dict[str, tuple[gen.Cluster, Wait]] = {
    "no rights of a tenant": (gen.cluster(), CLOSED),
    "a terminating cluster": (
        gen.cluster().with_metadata(deletionTimestamp="2030-01-01T00:00:00Z"),
        PENDING,
    ),
    "an unreadable cluster": (gen.cluster(replicas="many"), PENDING),
}


@pytest.mark.parametrize(("cluster", "outcome"), SILENT.values(), ids=SILENT)
async def test_no_status_is_written_without_rights(cluster: gen.Cluster, outcome: Wait) -> None:
    bench = Bench()
    bench.show(cluster)
    bench.tenancy_outcome = outcome
    await bench.telling(KEY)
    await bench.outside.clock.advance(GRACE_PERIOD * 2)
    assert await bench.telling(KEY) == outcome
    assert bench.outside.api.take_requests() == []
