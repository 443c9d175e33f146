"""The tables of docs/api.md match the tables of the code."""

import re

from contracts.api.rules.hardened import HARDENED_RULES
from contracts.api.rules.unsupported_fields import NOT_SERVED
from contracts.api.schema.crd import Schema, open_api_schema, walk
from contracts.naming.names import SYSTEM_SECRET_SUFFIXES
from tests.house.checkout import ROOT

TEXT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def _chapter(title: str) -> str:
    return TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]


def _first_column(title: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)`", _chapter(title), re.MULTILINE)


def test_every_field_that_hardened_refuses_is_documented() -> None:
    rows = _first_column("Profile Hardened")
    assert len(rows) == len(set(rows))
    assert set(rows) == {rule.field for rule in HARDENED_RULES}


def test_every_unsupported_field_is_documented() -> None:
    assert _first_column("Fields without effect") == [row.path for row in NOT_SERVED]


def test_essential_unsupported_fields_are_marked() -> None:
    chapter = _chapter("Fields without effect")
    marked = re.findall(r"^\| `([^`]+)`.*nothing is built \|$", chapter, re.MULTILINE)
    assert marked == [row.path for row in NOT_SERVED if row.essential]


def test_every_deprecated_field_is_listed_with_its_successor() -> None:
    deprecated: set[str] = set()

    def visit(path: str, node: Schema) -> None:
        if path.startswith("spec") and "deprecated alias" in node.get("description", "").lower():
            deprecated.add(path)

    walk(open_api_schema(), visit)
    matches = dict(
        re.findall(
            r"^\| `([^`]+)`.* \| `([^`]+)`", _chapter("Deprecated field names"), re.MULTILINE
        )
    )
    short = {path.removeprefix("spec.") for path in matches}
    # The description of the block names its one deprecated field.
    assert {path.removeprefix("spec.") for path in deprecated} - {"maintenance"} <= short
    assert "spec.maintenance.restartAt" in deprecated
    known: set[str] = set()
    walk(open_api_schema(), lambda path, _: known.add(path))
    assert {path for path in matches.values() if path.startswith("spec")} <= known


def test_every_suffix_of_a_system_secret_is_documented() -> None:
    for suffix in SYSTEM_SECRET_SUFFIXES:
        assert f"`{suffix}`" in _chapter("Validation")
