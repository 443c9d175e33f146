"""The cluster that a restore created is deleted with it, even if a crash kept it unrecorded."""

from contextlib import suppress

import pytest

from contracts.api.group import CLUSTERS
from runtime.controller.finalizer import Superseded
from runtime.types import ObjectKey
from tests import gen
from tests.managers.restore.bench import Bench, ProcessKilled
from tests.managers.restore.situations import TEMPLATE

FRESH = ObjectKey(gen.NAMESPACE, "fresh")


async def unrecorded(lifecycle: str) -> Bench:
    """Create the cluster, and kill the operator before it records this."""
    bench = Bench()
    bench.ask(cluster="fresh", clusterTemplate=TEMPLATE, targetLifecycle=lifecycle)
    number = 1
    while (CLUSTERS, FRESH) not in bench.api.objects:
        bench.api.kill_after = number
        with pytest.raises(ProcessKilled):
            await bench.look()
        number += 1
    assert "target" not in bench.status
    return bench


@pytest.mark.parametrize(("lifecycle", "remains"), [("Disposable", False), ("Retain", True)])
async def test_the_cluster_of_a_deleted_restore(lifecycle: str, remains: bool) -> None:
    bench = await unrecorded(lifecycle)
    bench.live["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z"
    while bench.live["metadata"].get("finalizers"):
        # The status is written in the pass that removes the finalizer.
        with suppress(Superseded):
            await bench.look()
    assert ((CLUSTERS, FRESH) in bench.api.objects) is remains
