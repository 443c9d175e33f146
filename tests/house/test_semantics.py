"""Every guarantee of the runtime has a test with its number."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.checkout import sources
from tests.house.rule import expect_none
from tests.semantics import SEMANTICS, proven_by, table


def names_of_tests() -> Iterator[str]:
    for source in sources():
        if not (source.path.startswith("tests/") and source.path.endswith(".py")):
            continue
        for node in source.nodes:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    yield node.name
                case ast.Assign(targets=[ast.Name(id=name)]):
                    yield name


def test_every_guarantee_has_a_test() -> None:
    proven = set(map(proven_by, names_of_tests()))
    expect_none(
        (f"T{number}: {text}" for number, text in SEMANTICS.items() if number not in proven),
        "guarantees without a test with their number",
    )


@pytest.mark.parametrize(
    ("node_id", "number"),
    [
        ("tests/runtime/test_a.py::test_t08_store_converges[7]", 8),
        ("tests/runtime/test_a.py::TestT01Model::runTest", 1),
        ("tests/runtime/test_t08_a.py::test_something", 8),
        ("tests/runtime/test_a.py::test_two[test_t08_a]", None),
        ("tests/runtime/test_a.py::test_t99_unknown", None),
        ("tests/runtime/test_a.py::test_t085", None),
    ],
)
def test_the_number_of_a_test_is_parsed(node_id: str, number: int | None) -> None:
    assert proven_by(node_id) == number


def test_the_table_counts_results() -> None:
    assert table(["a::test_t02_a", "a::test_t02_b", "a::test_c"], ["a::test_t02_d"]) == [
        f"T2      2 passed    1 failed   {SEMANTICS[2]}"
    ]
