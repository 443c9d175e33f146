"""No reason is removed, and a test expects each of them."""

from baoctl.generate.conditions import catalog_lines
from baoctl.generate.main import SHOWN_FILE
from contracts.conditions.catalog import REASONS
from tests.house.checkout import LAYERS, ROOT, Source, python_sources
from tests.house.expected_reasons import removed, unexpected
from tests.house.rule import expect_none

# These iterate over the whole catalog.
_OF_THE_CATALOG = (
    "tests/house/",
    "tests/contracts/conditions/test_condition.py",
    "tests/baoctl/",
)


def _tests() -> list[Source]:
    sources = python_sources("tests", "e2e")
    return [source for source in sources if not source.path.startswith(_OF_THE_CATALOG)]


def test_no_released_reason_was_removed() -> None:
    before = (ROOT / SHOWN_FILE).read_text(encoding="utf-8")
    expect_none(
        removed(before, catalog_lines()),
        "removed conditions and reasons, which users may wait for",
    )


def test_every_reason_is_on_the_list() -> None:
    before = (ROOT / SHOWN_FILE).read_text(encoding="utf-8")
    new = removed(catalog_lines(), before)
    expect_none(new, f"reasons missing in {SHOWN_FILE}: run python -m baoctl.generate conditions")


def test_every_reason_is_expected_by_a_test() -> None:
    product = python_sources(*LAYERS)
    expect_none(unexpected(REASONS, _tests(), product), "reasons that no test expects")


def test_a_removed_reason_is_reported() -> None:
    line = "Ready/NotReady"
    assert removed(catalog_lines(), catalog_lines().replace(f"{line}\n", "")) == [line]
    assert removed("Ready good\n", catalog_lines().replace("Ready good", "Ready bad")) == [
        "Ready good"
    ]


def test_an_input_of_a_test_is_not_an_expectation() -> None:
    fed = "\n".join(
        (
            "Wait('Slow', 'x')",
            "Blocked(reason='Slow', message='x')",
            "ConditionUpdate('Ready', 'False', 'Slow')",
            "status = {'reason': 'Slow'}",
            "'a sentence about Slow things'",
        )
    )
    assert unexpected(["Slow"], [Source("tests/x.py", fed)]) == ["Slow"]


def test_a_constant_of_the_product_is_an_expectation() -> None:
    product = [Source("managers/x.py", "SLOW = 'Slow'")]
    source = Source("tests/x.py", "assert found.reason == SLOW")
    assert unexpected(["Slow"], [source], product) == []
    assert unexpected(["Slow"], [Source("tests/x.py", "Wait(SLOW, 'x')")], product) == ["Slow"]


def test_an_expected_reason_is_found() -> None:
    assert unexpected(["Slow"], [Source("tests/x.py", "assert f() == Wait('Slow', 'x')")]) == []
    assert unexpected(["Slow"], [Source("tests/x.py", "assert f(Wait('Slow', 'x')) == 1")])
    for line in ("assert said == ('False', 'Slow')", "row = 'False Slow'", "f(reason='Slow')"):
        assert unexpected(["Slow"], [Source("tests/x.py", line)]) == []
