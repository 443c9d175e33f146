"""The code that tests/README.md quotes is in the file that it names."""

import re

import pytest

from tests.house.checkout import ROOT

README = (ROOT / "tests/README.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"`([a-z0-9_/]+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)


def misquotations(document: str) -> list[str]:
    """The files that do not contain the code that the document quotes from them."""
    return [
        path
        for path, code in _BLOCK.findall(document)
        if code not in (ROOT / path).read_text(encoding="utf-8")
    ]


def test_quoted_code_is_in_its_file() -> None:
    assert misquotations(README) == []


def test_each_kind_of_test_has_an_example() -> None:
    assert len(_BLOCK.findall(README)) == README.count("```python") == 4


@pytest.mark.parametrize(
    ("code", "wrong"),
    [("README = " + "1\n", True), ("README = (ROOT / ", False)],
    ids=["no", "yes"],
)
def test_a_wrong_quotation_is_reported(code: str, wrong: bool) -> None:
    path = "tests/house/test_quoted_code.py"
    assert bool(misquotations(f"From `{path}`:\n\n```python\n{code}```\n")) is wrong
