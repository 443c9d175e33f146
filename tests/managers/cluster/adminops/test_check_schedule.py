"""managers.cluster.adminops.check_schedule: all healthy clusters share one budget of checks."""

from managers.cluster.adminops.check_schedule import BUDGET, CheckSchedule
from managers.membership.decide import QUIET_RECHECK
from runtime.types import ObjectKey

AFFORDABLE = int(BUDGET * QUIET_RECHECK)
"""The clusters that the budget allows to check once a minute."""


def keys(count: int) -> list[ObjectKey]:
    return [ObjectKey("x", f"c-{number}") for number in range(count)]


def intervals(schedule: CheckSchedule, clusters: list[ObjectKey]) -> list[float]:
    """Check all clusters twice; return the intervals after the second time."""
    for key in clusters:
        schedule.next(key)
    return [schedule.next(key) for key in clusters]


def test_few_clusters_are_checked_once_a_minute() -> None:
    assert set(intervals(CheckSchedule(), keys(AFFORDABLE))) == {QUIET_RECHECK}


def test_the_checks_of_many_clusters_stay_within_the_budget_and_spread() -> None:
    count = 10 * AFFORDABLE
    result = intervals(CheckSchedule(), keys(count))
    rate = sum(1.0 / seconds for seconds in result)
    assert 0.97 * BUDGET < rate < 1.03 * BUDGET
    assert max(result) / min(result) > 1.15


def test_a_cluster_that_is_forgotten_does_not_count() -> None:
    schedule, clusters = CheckSchedule(), keys(2 * AFFORDABLE)
    assert min(intervals(schedule, clusters)) > QUIET_RECHECK
    for key in clusters[AFFORDABLE:]:
        schedule.forget(key)
    schedule.forget(ObjectKey("x", "another"))
    assert schedule.next(clusters[0]) == QUIET_RECHECK
