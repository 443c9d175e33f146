"""docs/security.md: each claim names a test that exists."""

import re

from e2e.attacks.table import rows
from tests.house.checkout import ROOT
from tests.house.known_bugs import has_test
from tests.house.rule import expect_none

PAGE = ROOT / "docs/security.md"
_TEST = re.compile(r"`([a-z0-9_/]+\.py)::([A-Za-z0-9_:]+)`")
_ROW = re.compile(r"^\| \*\*.*$|^\| T\d\d .*$", re.MULTILINE)


def test_every_named_test_exists() -> None:
    named = _TEST.findall(PAGE.read_text(encoding="utf-8"))
    assert named
    missing = [f"{path}::{name}" for path, name in named if not has_test(path, name)]
    expect_none(missing, "docs/security.md names tests that do not exist")


def test_every_threat_and_attack_has_a_test() -> None:
    matches = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert matches
    missing = [row for row in matches if not _TEST.search(row) and "| later" not in row]
    expect_none(missing, "rows without a test")


def test_the_page_has_every_attack_of_the_table() -> None:
    missing = [row for row in rows() if row not in PAGE.read_text(encoding="utf-8").splitlines()]
    expect_none(missing, "rows of `python -m e2e.attacks.table` that are not in docs/security.md")
