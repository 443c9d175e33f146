"""e2e.cluster_fleet.figures: quantiles, goals, and exponents of growth."""

import math
from dataclasses import replace

import pytest

from e2e.cluster_fleet.figures import (
    PHASE_COLUMNS,
    Phase,
    Run,
    goals,
    growth,
    phase_row,
    quantile,
)

NAMES = ("create", "quiet", "change", "roll", "failover", "outage")
PHASE = Phase(
    "create", 10.0, {"get": 20, "patch": 10, "delete": 1}, 11, 2.0, 0.5, 60.0, 0.004, 0.01
)


def run(clusters: int, phase: Phase = PHASE) -> Run:
    return Run(clusters, {name: replace(phase, name=name) for name in NAMES}, 40.0)


def goal(measured: Run, what: str) -> bool:
    (goal,) = [candidate for candidate in goals(measured) if candidate.what == what]
    return goal.is_met


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.5, 0.05), (0.75, 0.1), (0.8125, 0.3), (0.99, 0.5)],
)
def test_a_quantile_is_interpolated_within_its_bucket(share: float, expected: float) -> None:
    buckets = {0.05: 4.0, 0.1: 6.0, 0.5: 7.0, math.inf: 8.0}
    assert quantile(buckets, share) == pytest.approx(expected)


def test_a_quantile_without_samples_is_zero() -> None:
    assert quantile({}, 0.99) == 0.0
    assert quantile({0.1: 0.0, math.inf: 0.0}, 0.99) == 0.0


def test_a_row_counts_every_request() -> None:
    row = dict(zip(PHASE_COLUMNS, phase_row(3, PHASE), strict=True))
    assert (row["requests"], row["get"], row["patch"], row["other"]) == ("31", "20", "10", "1")


def test_growth_is_the_exponent_between_the_smallest_and_the_largest_run() -> None:
    more = replace(PHASE, requests={"get": 31 * 100}, cpu=20.0, seconds=0.0)
    rows = growth([run(100, more), run(1)])
    assert rows[0] == ("create", "1.00", "0.50", "-")
    assert growth([run(1)]) == []


def test_writes_in_the_phase_quiet_miss_the_goal() -> None:
    quiet = replace(PHASE, requests={}, writes=0, cpu=0.1)
    assert goal(run(1, quiet), "quiet: writes")
    assert goal(run(1, quiet), "quiet: share of a core")
    assert not goal(run(1, replace(quiet, writes=1)), "quiet: writes")


def test_a_goal_depends_on_the_number_of_clusters() -> None:
    quiet = replace(PHASE, requests={"get": 10}, seconds=10.0, resident=150.0)
    assert goal(run(300, quiet), "quiet: requests a second")
    assert not goal(run(1, quiet), "quiet: requests a second")
    assert goal(run(300, quiet), "resident: leader")
    assert not goal(run(1, quiet), "resident: leader")
