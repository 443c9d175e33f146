"""baoctl.commands.bench.figures: percentiles, rates, bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baoctl.commands.bench.figures import (
    ERROR_MAX,
    ERRORS_MAX,
    KEYS_MAX,
    OTHERS,
    STORED_MAX,
    VERSIONS,
    Samples,
    keys_per_worker,
    operation_figures,
    percentile,
    size_of,
)

HUNDRED = [float(number) for number in range(1, 101)]
PERCENTILES = {
    "the median of an odd number is the one in the middle": ([1.0, 2.0, 9.0], 50.0, 2.0),
    "the median of an even number is the lower one": ([1.0, 2.0, 8.0, 9.0], 50.0, 2.0),
    "99 of 100": (HUNDRED, 99.0, 99.0),
    "99 of 101 rounds up": ([*HUNDRED, 101.0], 99.0, 100.0),
    "99 of few is the highest": ([1.0, 2.0, 9.0], 99.0, 9.0),
    "all": (HUNDRED, 100.0, 100.0),
    "no values": (HUNDRED, 0.0, 1.0),
    "one value": ([7.0], 50.0, 7.0),
    "no value": ([], 50.0, None),
}


@pytest.mark.parametrize(
    ("values", "percent", "expected"), PERCENTILES.values(), ids=PERCENTILES.keys()
)
def test_percentile(values: list[float], percent: float, expected: float | None) -> None:
    assert percentile(values, percent) == expected


@given(st.lists(st.floats(0.0, 60.0), min_size=1, max_size=200), st.floats(0.01, 100.0))
def test_a_percentile_is_the_smallest_value_that_covers_its_share(
    values: list[float], percent: float
) -> None:
    ordered = sorted(values)
    quantile = percentile(ordered, percent)
    assert quantile in ordered
    share = percent / 100.0 * len(ordered)
    assert sum(value <= quantile for value in ordered) >= share
    assert sum(value < quantile for value in ordered) < share


def test_the_rate_counts_successful_requests_and_durations_are_in_milliseconds() -> None:
    samples = Samples([0.004, 0.001, 0.002, 0.003])
    samples.fail("answered 503")
    samples.fail("answered 503")
    figures = operation_figures("writes", samples, 2.0)
    assert (figures.count, figures.per_second) == (4, 2.0)
    assert (figures.p50_ms, figures.p99_ms, figures.max_ms) == (2.0, 4.0, 4.0)
    assert (figures.errors, figures.error_counts) == (2, {"answered 503": 2})


def test_an_operation_without_a_response_has_no_durations() -> None:
    figures = operation_figures("reads", Samples(), 0.0)
    assert (figures.count, figures.per_second, figures.p50_ms, figures.max_ms) == (
        0,
        0.0,
        None,
        None,
    )


def test_all_errors_are_counted_and_few_are_stored() -> None:
    samples = Samples()
    for number in range(1000):
        samples.fail(f"{number} {'x' * 10_000}")
    assert len(samples.errors) == ERRORS_MAX + 1
    assert max(map(len, samples.errors)) == ERROR_MAX
    assert samples.errors[OTHERS] == 1000 - ERRORS_MAX
    assert samples.errors.total() == 1000


@given(st.integers(1, 64), st.integers(1, 64 << 10))
def test_the_size_of_the_stored_data_is_bounded(workers: int, size: int) -> None:
    count = keys_per_worker(workers, size)
    assert 1 <= count <= KEYS_MAX
    assert count == 1 or count * workers * size * VERSIONS <= STORED_MAX


SIZES = {"1": 1, "512B": 512, "1KiB": 1024, "64KiB": 65_536, "2MiB": 2 << 20}


@pytest.mark.parametrize(("text", "expected"), SIZES.items())
def test_size(text: str, expected: int) -> None:
    assert size_of(text) == expected


@pytest.mark.parametrize("text", ["", "KiB", "1kb", "1.5KiB", "-1", "1 KiB", "9" * 10, "\u0661"])
def test_an_invalid_size_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="number of bytes"):
        size_of(text)
