"""managers.context.pause_guard.

A reconcile that began before a pause sends no write after the pause is observed.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from managers.bao.client import Bao
from managers.context.pause_guard import (
    ClusterPausedError,
    PauseGuard,
    check,
    is_paused,
    with_pause_check,
)
from runtime.errors import LeaseLost
from runtime.outcome import Done, Outcome, Wait
from runtime.types import Object, ObjectKey, Request
from tests import gen
from tests.gen.api import StillInformer

KEY = ObjectKey(gen.NAMESPACE, "x")
RUNS, HELD = gen.cluster(), gen.cluster(paused=True)
LEAVES = HELD.with_metadata(deletionTimestamp="2030-01-01T00:00:00Z")
BROKEN: Object = {"metadata": {"name": "x"}, "spec": "no map"}

# sentence: (cluster, whether it is paused)
CLUSTERS_SEEN: dict[str, tuple[Object | None, bool]] = {
    "a deleted cluster": (None, False),
    "it runs": (RUNS.object(), False),
    "it is paused": (HELD.object(), True),
    "a terminating paused cluster": (LEAVES.object(), False),
    "an unreadable cluster": (BROKEN, False),
    "an invalid value": (gen.cluster(paused="true").object(), False),
}


@pytest.mark.parametrize(("live", "paused"), CLUSTERS_SEEN.values(), ids=CLUSTERS_SEEN.keys())
def test_which_clusters_are_paused(live: Object | None, paused: bool) -> None:
    assert is_paused(live) is paused


class World:
    """A reconcile with two writes, and a change between them."""

    def __init__(self, before: gen.Cluster, between: gen.Cluster) -> None:
        self.cache = StillInformer(CLUSTERS)
        self.version = 0
        self.show(before)
        self.between = between
        self.writes: list[str] = []

    def show(self, cluster: gen.Cluster) -> None:
        self.version += 1
        self.cache.says(
            copy.deepcopy(cluster.with_metadata(resourceVersion=str(self.version)).object())
        )

    def write(self, what: str) -> None:
        check()
        self.writes.append(what)

    async def __call__(self, _: Request, /) -> Outcome:
        self.write("first")
        self.show(self.between)
        # Tasks of a reconcile are stopped like the reconcile itself.
        ends = await asyncio.gather(self._later("second"), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        return Wait("NotReady", "there is more to do")

    async def _later(self, what: str) -> None:
        self.write(what)


# sentence: (cluster at the start, cluster between the writes, what is written)
PASSES: dict[str, tuple[gen.Cluster, gen.Cluster, list[str]]] = {
    "no pause": (RUNS, RUNS, ["first", "second"]),
    "paused between the writes": (RUNS, HELD, ["first"]),
    "paused and deleted between the writes": (RUNS, LEAVES, ["first", "second"]),
    "paused before the reconcile": (HELD, HELD, ["first", "second"]),
    "resumed between the writes": (HELD, RUNS, ["first", "second"]),
}


@pytest.mark.parametrize(("before", "between", "writes"), PASSES.values(), ids=PASSES.keys())
async def test_the_writes_of_a_reconcile(
    before: gen.Cluster, between: gen.Cluster, writes: list[str]
) -> None:
    world = World(before, between)
    outcome = await PauseGuard(world, world.cache)(KEY)
    assert world.writes == writes
    # A stopped reconcile restarts immediately, as a reconcile under the pause.
    assert outcome == (Done(0.0) if len(writes) == 1 else Wait("NotReady", "there is more to do"))
    check()


async def test_a_reconcile_without_a_cluster_is_not_stopped() -> None:
    world = World(RUNS, HELD)
    await PauseGuard(world, world.cache, lambda _: ())(KEY)
    assert world.writes == ["first", "second"]


def test_no_write_outside_of_a_reconcile_is_stopped() -> None:
    check()
    with_pause_check(None)()


async def test_the_lease_is_checked_first() -> None:
    def lost() -> None:
        raise LeaseLost("gone")

    guard: Callable[[], None] = with_pause_check(lost)
    with pytest.raises(LeaseLost):
        guard()


async def test_no_write_is_sent_to_a_server_either() -> None:
    """A read is sent as usual; it fails because no server has the address."""
    results: list[str] = []
    cache = StillInformer(CLUSTERS)
    cache.says(RUNS.object())

    async def ask(_: Request, /) -> Outcome:
        cache.says(HELD.with_metadata(resourceVersion="2").object())
        async with Bao("", "x", 1, guard=check, plain=True) as bao:
            calls: tuple[Any, ...] = (bao.step_down("127.0.0.1", "t"), bao.health("127.0.0.1"))
            for call in calls:
                try:
                    await call
                except Exception as error:  # noqa: BLE001  its name is what is asked for
                    results.append(type(error).__name__)
        return Done()

    await PauseGuard(ask, cache)(KEY)
    assert results == [ClusterPausedError.__name__, "BaoError"]
