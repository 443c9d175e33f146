"""The table of the benchmark: medians, ratios, budgets."""

import pytest

from e2e.bench.report import Machine, Row, as_json, cells, markdown

MACHINE = Machine("2030-01-01", 2, 24.0, "v1.36.3", "v0.25.2", 3, (0.5, 1.5))


def test_a_row_has_medians_and_their_ratio() -> None:
    row = Row("sync", "s", (3.0, 1.0, 2.0), (4.0, 4.0, 9.0), digits=2, budget=2.5)
    assert cells(row) == ("sync", "2.00 s", "4.00 s", "0.50", "< 2.5 s")
    assert row.is_within_budget


def test_a_row_without_counterpart_has_no_ratio() -> None:
    assert cells(Row("lag", "ms", (3.0,), ())) == ("lag", "3.0 ms", "-", "-", "-")
    assert Row("lag", "ms", (3.0,), (0.0,)).ratio is None


@pytest.mark.parametrize(
    ("value", "budget", "more", "is_within"),
    [(49.0, 50.0, False, True), (51.0, 50.0, False, False), (51.0, 50.0, True, True)],
)
def test_a_budget_applies_to_our_values(
    value: float, budget: float, more: bool, is_within: bool
) -> None:
    row = Row("x", "us", (value,), (1.0,), more=more, budget=budget)
    assert row.is_within_budget is is_within
    assert as_json(MACHINE, [row])["rows"][0]["is_within_budget"] is is_within


def test_a_page_has_date_machine_and_load() -> None:
    page = markdown(MACHINE, [Row("noop", "us", (8.0,), (9.0,))])
    assert "2030-01-01" in page
    assert "load average 0.5 before, 1.5 after" in page
    assert "| noop | 8.0 us | 9.0 us | 0.89 | - |" in page
