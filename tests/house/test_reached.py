"""No reason disappears, and each is expected by a test."""

from baoctl.generate.conditions import catalogue_lines
from baoctl.generate.main import SHOWN_FILE
from contracts.conditions.catalogue import REASONS
from tests.house.checkout import LAYERS, ROOT, Source, python_sources
from tests.house.reached import unreached, vanished
from tests.house.rule import expect_none

# These go through the whole catalogue, whatever is in it.
_OF_THE_CATALOGUE = (
    "tests/house/",
    "tests/contracts/conditions/test_condition.py",
    "tests/baoctl/",
)


def _tests() -> list[Source]:
    sources = python_sources("tests", "e2e")
    return [source for source in sources if not source.path.startswith(_OF_THE_CATALOGUE)]


def test_nothing_that_was_ever_shown_has_disappeared() -> None:
    before = (ROOT / SHOWN_FILE).read_text(encoding="utf-8")
    expect_none(
        vanished(before, catalogue_lines()), "conditions and reasons that people may wait for"
    )


def test_what_is_shown_is_on_the_list() -> None:
    before = (ROOT / SHOWN_FILE).read_text(encoding="utf-8")
    new = vanished(catalogue_lines(), before)
    expect_none(new, f"reasons missing in {SHOWN_FILE}: run python -m baoctl.generate conditions")


def test_every_reason_is_expected_by_a_test() -> None:
    product = python_sources(*LAYERS)
    expect_none(unreached(REASONS, _tests(), product), "reasons that no test expects")


def test_a_reason_that_is_taken_away_is_reported() -> None:
    line = "Ready/NotReady"
    assert vanished(catalogue_lines(), catalogue_lines().replace(f"{line}\n", "")) == [line]
    assert vanished("Ready good\n", catalogue_lines().replace("Ready good", "Ready bad")) == [
        "Ready good"
    ]


def test_what_a_test_feeds_in_is_no_expectation() -> None:
    fed = "\n".join(
        (
            "Wait('Slow', 'x')",
            "Blocked(reason='Slow', message='x')",
            "ConditionUpdate('Ready', 'False', 'Slow')",
            "status = {'reason': 'Slow'}",
            "'a sentence about Slow things'",
        )
    )
    assert unreached(["Slow"], [Source("tests/x.py", fed)]) == ["Slow"]


def test_a_constant_of_the_product_is_an_expectation() -> None:
    product = [Source("managers/x.py", "SLOW = 'Slow'")]
    source = Source("tests/x.py", "assert found.reason == SLOW")
    assert unreached(["Slow"], [source], product) == []
    assert unreached(["Slow"], [Source("tests/x.py", "Wait(SLOW, 'x')")], product) == ["Slow"]


def test_an_expectation_counts() -> None:
    assert unreached(["Slow"], [Source("tests/x.py", "assert f() == Wait('Slow', 'x')")]) == []
    assert unreached(["Slow"], [Source("tests/x.py", "assert f(Wait('Slow', 'x')) == 1")])
    for line in ("assert said == ('False', 'Slow')", "row = 'False Slow'", "f(reason='Slow')"):
        assert unreached(["Slow"], [Source("tests/x.py", line)]) == []
