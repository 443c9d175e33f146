"""Each known bug of other operators has a test that exists."""

import pytest

from tests.house import known_bugs
from tests.house.checkout import ROOT
from tests.house.known_bugs import has_test
from tests.house.rule import expect_none

DOCUMENT = ROOT / "docs/known-bugs-not-ours.md"


def test_each_bug_has_a_test_or_is_in_an_unbuilt_part() -> None:
    expect_none(known_bugs.problems(DOCUMENT.read_text(encoding="utf-8"), has_test), "known bugs")


def test_each_upgrade_bug_has_a_test() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    expect_none(known_bugs.upgrade_problems(text, has_test), "known bugs of upgrades")
    assert list(known_bugs.upgrade_problems(text, lambda *_: False))
    assert list(known_bugs.upgrade_problems(text.replace("U-02", "U-03"), has_test))


def _table(last: str) -> str:
    rows = [f"| B-{n:02} | it broke | not built yet |" for n in range(1, known_bugs.COUNT)]
    return "\n".join([*rows, last])


@pytest.mark.parametrize(
    "last",
    [
        "| B-46 | twice | not built yet |",
        "| B-47 | it broke | we are careful |",
        "| B-47 | it broke | `tests/house/test_known_bugs.py::test_nowhere` |",
        "| B-47 | it broke | `tests/house/test_known_bugs.py::has_test` |",
    ],
)
def test_a_bug_without_a_test_is_reported(last: str) -> None:
    assert list(known_bugs.problems(_table(last), has_test))


def test_a_complete_table_is_not_reported() -> None:
    here = "tests/house/test_known_bugs.py::test_a_complete_table_is_not_reported"
    assert not list(known_bugs.problems(_table(f"| B-47 | it broke | `{here}` |"), has_test))
