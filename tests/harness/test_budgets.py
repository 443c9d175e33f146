"""Values over their budget are reported, and fail only in strict mode."""

from collections.abc import Iterator
from typing import Literal

import pytest

from e2e.harness.budgets import OVER, STRICT, add_to_report, as_table, budget, rows


def report(when: Literal["setup", "call", "teardown"] = "call") -> pytest.TestReport:
    return pytest.TestReport("a::test", ("a", 1, "test"), {}, "passed", None, when)


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the values of these tests from the report of the run."""
    monkeypatch.delenv(STRICT, raising=False)
    yield
    add_to_report(report())


def test_a_value_is_printed_with_its_budget(capsys: pytest.CaptureFixture[str]) -> None:
    budget("writes", 36, 35, "writes")
    budget("gap", 0.5, 1.5, "s")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"  writes: 36 writes (budget 35), {OVER}", "  gap: 0.5 s (budget 1.5)"]


def test_a_value_over_its_budget_fails_in_strict_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STRICT, "1")
    budget("gap", 1.5, 1.5, "s")
    with pytest.raises(AssertionError, match="gap"):
        budget("gap", 1.6, 1.5, "s")


def test_each_value_is_in_the_report_of_its_phase_only() -> None:
    budget("requests", 151, 150, "requests")
    call, teardown = report(), report("teardown")
    add_to_report(call)
    budget("gap", 1.0, 1.5, "s")
    add_to_report(teardown)
    assert rows([call, teardown]) == [
        ("a::test", "requests", "151 requests", "150", OVER),
        ("a::test", "gap", "1 s", "1.5", ""),
    ]


def test_a_report_can_be_sent_by_a_worker() -> None:
    budget("requests", 151, 150, "requests")
    sent = report()
    add_to_report(sent)
    data = sent._to_json()
    data["user_properties"] = [
        list(map(list_of, user_property_)) for user_property_ in data["user_properties"]
    ]
    assert rows([pytest.TestReport._from_json(data)]) == rows([sent])


def list_of(value: object) -> object:
    """Return a tuple as a list, as JSON does."""
    return list(value) if isinstance(value, tuple) else value


def test_other_properties_and_reports_are_ignored() -> None:
    other = report()
    other.user_properties.append(("seconds", 3.0))
    assert as_table([other, object()]) == ""
