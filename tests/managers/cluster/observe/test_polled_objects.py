"""managers.cluster.observe.polled_objects.

Which number of servers is believed, and how far one looks.
"""

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
from tests.managers.cluster.observe.polled_bench import PolledBench, retained

OWNER = gen.cluster().owner()
SILLY = 100_000


def foreign(live: Object, **annotations: str) -> Object:
    """Return the same object as any editor of the namespace may make it: with our label alone."""
    del live["metadata"]["ownerReferences"]
    live["metadata"]["annotations"] = annotations
    return live


def as_wide(live: Object, replicas: Any) -> Object:
    live["spec"]["replicas"] = replicas
    return live


async def first_look(live: Object) -> dict[str, int]:
    """Count what one pass reads of a cluster beside which a StatefulSet stands."""
    bench = PolledBench(gen.cluster().initialized().marked(finalizers=[names.FINALIZER]))
    bench.api.holding((STATEFUL_SET, live))
    await bench.turn()
    return {kind: len(bench.asked_for(kind)) for kind in ("Pod", "PersistentVolumeClaim")}


@pytest.mark.parametrize("made", [gen.read_set, gen.stateful_set])
async def test_a_set_of_somebody_else_decides_nothing(made: Any) -> None:
    alone = await first_look(foreign(made().sized(0).object()))
    assert await first_look(foreign(made().sized(SILLY).object())) == alone
    assert max(alone.values()) < 10


@pytest.mark.parametrize(
    ("made", "most"), [(gen.read_set, READ_REPLICAS_MAX), (gen.stateful_set, VOTERS_MAX)]
)
async def test_a_set_of_ours_is_believed_as_far_as_a_spec_may_go(made: Any, most: int) -> None:
    # Whoever may scale a StatefulSet writes any number into ours, before it is put right.
    counts = await first_look(made().sized(2**31 - 1).object())
    few = await first_look(made().sized(0).object())
    assert max(counts.values()) <= max(few.values()) + most + 2


async def test_there_is_an_end_to_volumes_that_somebody_makes() -> None:
    bench = PolledBench(gen.cluster(replicas=1))
    bench.api.holding(*((PVC, retained(ordinal)) for ordinal in range(3 * ORDINALS_MAX)))
    await bench.turn()
    assert len(bench.mirrors[PVC].list()) == ORDINALS_MAX


async def test_servers_beyond_what_a_spec_may_ask_for_are_found_while_they_are_there() -> None:
    bench = PolledBench(gen.cluster(replicas=3))
    there = VOTERS_MAX + 5
    bench.api.holding(*((PVC, retained(ordinal)) for ordinal in range(there)))
    await bench.turn()
    assert len(bench.mirrors[PVC].list()) == there


def test_the_number_of_a_stateful_set_counts_if_it_is_of_this_very_cluster() -> None:
    mine = gen.stateful_set().sized(5).object()
    earlier = gen.stateful_set().sized(5).object()
    earlier["metadata"]["ownerReferences"][0]["uid"] = "uid-of-an-earlier-cluster"
    assert replicas_of(mine, OWNER, VOTERS_MAX) == 5
    assert replicas_of(earlier, OWNER, VOTERS_MAX) == 0
    assert replicas_of(foreign(gen.stateful_set().object()), OWNER, VOTERS_MAX) == 0
    assert replicas_of(None, OWNER, VOTERS_MAX) == 0


def test_a_set_that_a_person_hands_over_counts() -> None:
    handed = foreign(gen.stateful_set().sized(5).object(), **{labels.ADOPT: "x"})
    assert replicas_of(handed, OWNER, VOTERS_MAX) == 5


def test_a_set_without_a_number_has_one_server_and_one_of_many_has_the_most() -> None:
    unsaid = gen.stateful_set().object()
    del unsaid["spec"]["replicas"]
    assert replicas_of(unsaid, OWNER, VOTERS_MAX) == 1
    assert replicas_of(as_wide(unsaid, SILLY), OWNER, VOTERS_MAX) == VOTERS_MAX
