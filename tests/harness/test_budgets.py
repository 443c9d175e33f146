"""What is over its budget is told, and fails only when that is asked for."""

from collections.abc import Iterator
from typing import Literal

import pytest

from e2e.harness.budgets import OVER, STRICT, as_table, budget, hand_over, rows


def report(when: Literal["setup", "call", "teardown"] = "call") -> pytest.TestReport:
    return pytest.TestReport("a::test", ("a", 1, "test"), {}, "passed", None, when)


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Claims of these tests are no claims of the run."""
    monkeypatch.delenv(STRICT, raising=False)
    yield
    hand_over(report())


def test_a_value_is_printed_beside_its_budget(capsys: pytest.CaptureFixture[str]) -> None:
    budget("writes", 36, 35, "writes")
    budget("gap", 0.5, 1.5, "s")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"  writes: 36 writes (budget 35), {OVER}", "  gap: 0.5 s (budget 1.5)"]


def test_over_budget_fails_when_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STRICT, "1")
    budget("gap", 1.5, 1.5, "s")
    with pytest.raises(AssertionError, match="gap"):
        budget("gap", 1.6, 1.5, "s")


def test_each_claim_is_in_the_report_of_its_phase_and_in_no_other() -> None:
    budget("requests", 151, 150, "requests")
    call, teardown = report(), report("teardown")
    hand_over(call)
    budget("gap", 1.0, 1.5, "s")
    hand_over(teardown)
    assert rows([call, teardown]) == [
        ("a::test", "requests", "151 requests", "150", OVER),
        ("a::test", "gap", "1 s", "1.5", ""),
    ]


def test_a_report_survives_the_way_from_a_worker() -> None:
    budget("requests", 151, 150, "requests")
    sent = report()
    hand_over(sent)
    data = sent._to_json()
    data["user_properties"] = [
        list(map(list_of, user_property_)) for user_property_ in data["user_properties"]
    ]
    assert rows([pytest.TestReport._from_json(data)]) == rows([sent])


def list_of(value: object) -> object:
    """Return a tuple as a list, as a way through JSON does."""
    return list(value) if isinstance(value, tuple) else value


def test_other_properties_and_other_reports_are_no_claims() -> None:
    other = report()
    other.user_properties.append(("seconds", 3.0))
    assert as_table([other, object()]) == ""
