"""managers.cluster.observe.cache_refresh and secret_schedule: intervals between Secret reads."""

import random
from dataclasses import replace

import pytest

from contracts.records.applied_objects import AppliedObjects
from contracts.records.desired import Desired
from managers.cluster.observe.cache_refresh import (
    LEADER_RECHECK,
    WatchCacheRefresher,
    watch_refresher,
)
from managers.cluster.observe.secret_schedule import (
    BUDGET,
    JITTER,
    LONGEST,
    LONGEST_AGE,
    LONGEST_UNWELL,
    PATIENCE,
    SecretSchedule,
)
from managers.cluster.status.cluster_status import ReconcileResult
from runtime.outcome import Wait
from runtime.testing.clock import ManualClock
from runtime.types import ObjectKey
from tests import gen
from tests.gen.worlds import running
from tests.managers.cluster.passes import a_pass

CLUSTER = gen.cluster().initialized()
OWNER = CLUSTER.owner()
WELL = replace(a_pass(CLUSTER), applied=AppliedObjects(Desired((), (), (), (), complete=True)))
WAITING: ReconcileResult = replace(WELL, outcome=Wait("PodsStarting", "one is missing"))
SHORTEST = 15.0
KEY = ObjectKey("n", "c")


def refresher(clock: ManualClock, when_well: float = 0.0) -> WatchCacheRefresher:
    return watch_refresher(clock, SHORTEST, when_well, random.Random(1))


def schedule(clock: ManualClock) -> SecretSchedule:
    return SecretSchedule(clock, random.Random(1), SHORTEST, SHORTEST)


def test_a_healthy_cluster_has_the_minimum_interval_of_the_mode() -> None:
    refresh = refresher(ManualClock(), when_well=60.0)
    assert refresh.secret_age(OWNER) == SHORTEST
    assert refresh.next_refresh(WELL) == refresh.secret_age(OWNER) == 60.0
    assert refresh.next_refresh(WAITING) == refresh.secret_age(OWNER) == SHORTEST
    refresh.next_refresh(WELL)
    refresh.forget(OWNER.key)
    assert refresh.secret_age(OWNER) == SHORTEST


def test_a_change_starts_with_the_shortest_interval() -> None:
    refresh = refresher(ManualClock())
    assert refresh.next_refresh(WELL) == refresh.next_refresh(WAITING) == SHORTEST


def test_an_ambiguous_leader_is_checked_again_soon() -> None:
    facts = running(CLUSTER).with_pods(gen.pod(0), gen.pod(1)).facts()
    doubt = replace(WELL, observed=facts)
    assert facts.leader_in_doubt
    assert refresher(ManualClock()).next_refresh(doubt) == LEADER_RECHECK


async def test_the_interval_grows_while_nothing_changes() -> None:
    clock = ManualClock()
    reads = schedule(clock)
    assert reads.next(KEY, 1, 3, well=True) == SHORTEST
    await clock.advance(400.0)
    assert reads.next(KEY, 1, 3, well=True) == pytest.approx(400.0 * PATIENCE, rel=JITTER)
    await clock.advance(100_000.0)
    assert reads.next(KEY, 1, 3, well=True) == pytest.approx(LONGEST, rel=JITTER)
    # An event triggers the read earlier than the timer.
    assert reads.age(KEY) == LONGEST_AGE


@pytest.mark.parametrize(("facts", "well"), [(2, True), (1, False)])
async def test_a_change_or_a_failure_resets_the_interval(facts: int, *, well: bool) -> None:
    clock = ManualClock()
    reads = schedule(clock)
    reads.next(KEY, 1, 3, well=True)
    await clock.advance(10_000.0)
    reads.next(KEY, 1, 3, well=True)
    assert reads.next(KEY, facts, 3, well=well) == reads.age(KEY) == SHORTEST


def test_all_clusters_together_keep_the_budget() -> None:
    clock = ManualClock()
    reads = schedule(clock)
    keys = [ObjectKey("n", f"c{number}") for number in range(1000)]
    for key in keys:
        reads.next(key, 1, 3, well=True)
    intervals = [reads.next(key, 1, 3, well=True) for key in keys]
    assert sum(3 / interval for interval in intervals) == pytest.approx(BUDGET, rel=0.05)
    # An unhealthy cluster has a shorter interval.
    assert reads.next(keys[0], 1, 3, well=False) <= LONGEST_UNWELL * (1 + JITTER)
    for key in keys:
        reads.forget(key)
    assert reads.next(KEY, 1, 3, well=True) == SHORTEST
