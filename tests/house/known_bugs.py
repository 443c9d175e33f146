"""Rules about docs/known-bugs-not-ours.md: each bug has one row, each row names a test that exists.

Uses the standard library. Every function takes text and returns its violations.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.house.checkout import sources

COUNT = 47
UPGRADES = 11
_ROW = re.compile(r"^\| B-(\d\d) \| (.+?) \| (.+?) \|$", re.MULTILINE)
_UPGRADE = re.compile(r"^\| U-(\d\d) \| (.+?) \| (.+?) \|$", re.MULTILINE)
_TEST = re.compile(r"`([a-z0-9_/]+\.py)::([A-Za-z0-9_:]+)`")
LATER = "not built yet"


@dataclass(frozen=True, slots=True)
class Row:
    """One bug of other operators: its number, its effect, and the tests that prevent it here."""

    number: int
    bug: str
    guard: str

    def tests(self) -> tuple[tuple[str, str], ...]:
        """The file and the name of each test."""
        return tuple((path, name) for path, name in _TEST.findall(self.guard))


def rows(document: str, pattern: re.Pattern[str] = _ROW) -> list[Row]:
    """The rows of a table."""
    return [Row(int(number), bug, guard) for number, bug, guard in pattern.findall(document)]


def upgrade_problems(document: str, has_test: Callable[[str, str], bool]) -> Iterator[str]:
    """Violations in the table about upgrades, where each row names a test."""
    bugs = rows(document, _UPGRADE)
    if [row.number for row in bugs] != list(range(1, UPGRADES + 1)):
        yield f"the rows about upgrades are not 1 to {UPGRADES} in order"
    for row in bugs:
        if not row.tests():
            yield f"U-{row.number:02}: names no test"
        for path, name in row.tests():
            if not has_test(path, name):
                yield f"U-{row.number:02}: there is no {path}::{name}"


def problems(document: str, has_test: Callable[[str, str], bool]) -> Iterator[str]:
    """Bugs without a row or with two, rows without a test, and tests that do not exist."""
    bugs = rows(document)
    numbers = [row.number for row in bugs]
    if numbers != list(range(1, COUNT + 1)):
        yield f"the rows are {numbers}, not 1 to {COUNT} in order"
    for row in bugs:
        if not row.tests() and not row.guard.startswith(LATER):
            yield f"B-{row.number:02}: names no test and is not {LATER!r}"
        for path, name in row.tests():
            if not has_test(path, name):
                yield f"B-{row.number:02}: there is no {path}::{name}"


_FUNCTIONS = {
    (source.path, node.name)
    for source in sources()
    if source.path.endswith(".py")
    for node in source.nodes
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
}


def has_test(path: str, name: str) -> bool:
    """Tell whether a file of the checkout has a test of that name."""
    return name.startswith("test_") and (path, name.rpartition("::")[2]) in _FUNCTIONS
