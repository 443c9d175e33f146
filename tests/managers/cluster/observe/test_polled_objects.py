"""Which number of replicas counts, and how many ordinals are read."""

from typing import Any

import pytest

from contracts.api.cluster.read_replicas import READ_REPLICAS_MAX
from contracts.api.cluster.spec import VOTERS_MAX
from contracts.naming import labels, names
from contracts.pools.owned_names import ORDINALS_MAX
from managers.cluster.observe.polled_objects import replicas_of
from runtime.builtin_kinds import PVC, STATEFUL_SET
from runtime.types import Object
from tests import gen
from tests.managers.cluster.observe.polled_bench import PolledBench

OWNER = gen.cluster().owner()
SILLY = 100_000


def foreign(live: Object, **annotations: str) -> Object:
    """Return the object as any editor of the namespace may create it: with only our label."""
    del live["metadata"]["ownerReferences"]
    live["metadata"]["annotations"] = annotations
    return live


def as_wide(live: Object, replicas: Any) -> Object:
    live["spec"]["replicas"] = replicas
    return live


async def first_poll(live: Object) -> dict[str, int]:
    """Count the reads of one reconcile of a cluster with this StatefulSet."""
    bench = PolledBench(gen.cluster().initialized().with_metadata(finalizers=[names.FINALIZER]))
    bench.api.with_objects((STATEFUL_SET, live))
    await bench.turn()
    return {kind: len(bench.reads_of(kind)) for kind in ("Pod", "PersistentVolumeClaim")}


@pytest.mark.parametrize("build", [gen.read_set, gen.stateful_set])
async def test_a_foreign_stateful_set_is_ignored(build: Any) -> None:
    alone = await first_poll(foreign(build().with_replicas(0).object()))
    assert await first_poll(foreign(build().with_replicas(SILLY).object())) == alone
    assert max(alone.values()) < 10


@pytest.mark.parametrize(
    ("build", "most"), [(gen.read_set, READ_REPLICAS_MAX), (gen.stateful_set, VOTERS_MAX)]
)
async def test_our_stateful_set_counts_up_to_the_maximum_of_a_spec(build: Any, most: int) -> None:
    # A user who may scale a StatefulSet can write any number, before the operator corrects it.
    counts = await first_poll(build().with_replicas(2**31 - 1).object())
    few = await first_poll(build().with_replicas(0).object())
    assert max(counts.values()) <= max(few.values()) + most + 2


async def test_the_number_of_foreign_volumes_is_bounded() -> None:
    bench = PolledBench(gen.cluster(replicas=1))
    bench.api.with_objects(
        *(
            (PVC, gen.claim(f"data-x-{ordinal}", annotations={}))
            for ordinal in range(3 * ORDINALS_MAX)
        )
    )
    await bench.turn()
    assert len(bench.mirrors[PVC].list()) == ORDINALS_MAX


async def test_servers_beyond_the_maximum_of_a_spec_are_found() -> None:
    bench = PolledBench(gen.cluster(replicas=3))
    there = VOTERS_MAX + 5
    bench.api.with_objects(
        *((PVC, gen.claim(f"data-x-{ordinal}", annotations={})) for ordinal in range(there))
    )
    await bench.turn()
    assert len(bench.mirrors[PVC].list()) == there


def test_replicas_count_only_for_a_stateful_set_of_this_cluster() -> None:
    mine, earlier, unsaid, theirs, handed, wide = (
        gen.stateful_set().with_replicas(5).object() for _ in range(6)
    )
    earlier["metadata"]["ownerReferences"][0]["uid"] = "uid-of-an-earlier-cluster"
    del unsaid["spec"]["replicas"]
    for live, replicas in (
        (mine, 5),
        (earlier, 0),
        (foreign(theirs), 0),
        (foreign(handed, **{labels.ADOPT: "x"}), 5),
        (unsaid, 1),
        (as_wide(wide, SILLY), VOTERS_MAX),
        (None, 0),
    ):
        assert replicas_of(live, OWNER, VOTERS_MAX) == replicas
